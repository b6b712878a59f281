/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the on-sent callback, which returns the memory of a reply to the program. In this
 * callback, the program can reply to other requests, whatever happened to the connection.
 */
#include "pair_main.h"

#include "engine.h"

static struct pair pair;
static int sent;

static int setup(void **state)
{
	(void)state;
	sent = 0;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void reply_other(void *arg)
{
	sent++;
	weir_request_reply_error(arg, WEIR_RPC_SYSTEM_ERR);
}

/*
 * Makes two calls that the server's program holds. The program replies to the second call in the
 * on-sent callback of its reply to the first.
 */
static void hold_two(struct outcome outcomes[2])
{
	struct outcome first;

	pair_call(&pair, PAIR_NULL, NULL, 0, &first); /* its reply grants more than one credit */
	for (uint32_t i = 0; i < 2; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_submit(call), 0);
	}
	pair_settle(&pair);
	assert_int_equal(pair.nlater, 2);
	pair.nlater = 0; /* the test itself replies to these requests */
	weir_request_on_sent(pair.later[0], reply_other, pair.later[1]);
}

static void no_buffer_is_lost(void)
{
	pair_settle(&pair);
	assert_int_equal(sent, 1);
	assert_int_equal(pair.server->nconnections, 0);
	assert_int_equal(pair.server->recv_pool->in_use, pair_recvs_at_rest(&pair));
	assert_int_equal(pair.server->send_pool->in_use,
			 1); /* the buffer of zeros that the engine holds */
}

static void on_sent__replies_to_another(void **state)
{
	struct outcome outcomes[2];

	(void)state;
	hold_two(outcomes);
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	pair_until(&pair, &outcomes[1].done, 1);
	assert_int_equal(sent, 1);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(outcomes[i].status, 0);
		assert_int_equal(outcomes[i].reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	}
}

static void on_sent__replies_to_the_last_one_of_a_lost_connection(void **state)
{
	struct outcome outcomes[2];

	(void)state;
	hold_two(outcomes);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.server_closed, 1);
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	no_buffer_is_lost();
}

static void on_sent__replies_while_the_connection_ends(void **state)
{
	struct outcome outcomes[2];

	(void)state;
	hold_two(outcomes);
	weir_request_reply_error(pair.later[0], WEIR_RPC_SYSTEM_ERR);
	weir_conn_close(pair.server_conn);
	pair_until(&pair, &pair.server_closed, 1);
	pair_until(&pair, &pair.closed, 1);
	no_buffer_is_lost();
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(on_sent__replies_to_another, setup, teardown),
		cmocka_unit_test_setup_teardown(
			on_sent__replies_to_the_last_one_of_a_lost_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(on_sent__replies_while_the_connection_ends, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("on_sent", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
