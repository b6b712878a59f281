/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connections that end while they reconnect: by close, shutdown or reset, by the end of
 * their engine, or before they were open.
 */
#include "reconnect.h"

static void close__while_it_is_remade(void **state)
{
	(void)state;
	start_later(0, 0);
	until_later(1);
	lose();
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.close_error, -ECONNABORTED);
	assert_int_equal(outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, -ECONNABORTED);
	pair_settle(&pair);
	assert_int_equal(pair.opened, 1);
}

static void shutdown__while_it_is_remade_lets_calls_end(void **state)
{
	struct weir_call_params params;

	(void)state;
	start_later(0, 0);
	until_later(1);
	lose();
	weir_conn_shutdown(pair.conn);
	params = pair_params(PAIR_NULL, &outcomes[1]);
	assert_null(weir_call_begin(pair.conn, &params));
	assert_int_equal(errno, ENOTCONN);
	until_later(2);
	pair_release_later(&pair);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.close_error, 0);
	expect_done(0, 0);
}

static void shutdown__without_calls_does_not_wait(void **state)
{
	(void)state;
	stop_server();
	pair_until(&pair, &pair.lost, 1);
	weir_conn_shutdown(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.close_error, 0);
}

static void reset__sends_again(void **state)
{
	(void)state;
	start_later(0, 0);
	until_later(1);
	weir_conn_reset(pair.conn);
	pair_until(&pair, &pair.lost, 1);
	/* has no effect, because the connection is already reconnecting */
	weir_conn_reset(pair.conn);
	until_later(2);
	pair_release_later(&pair);
	expect_done(0, 0);
	assert_int_equal(pair.lost, 1);
	assert_int_equal(pair.opened, 2);
}

static void off__ends_as_it_did(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .reconnect = WEIR_RECONNECT_OFF};
	struct weir_conn *conn;

	(void)state;
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conn), 0);
	pair_until(&pair, &pair.server_opened, 2);
	pair_settle(&pair);
	weir_conn_reset(conn);
	pair_settle(&pair);
	assert_int_equal(pair.client->nconnections, 1);
	assert_int_equal(stats().reconnect_attempts, 0);
}

/*
 * Checks that a connection which was never open makes only one attempt. If nobody listens at the
 * address, the address can be wrong, and then more attempts would not help.
 */
static void connect__first_attempt_is_the_only_one(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .reconnect = WEIR_RECONNECT_ON};
	struct weir_conn *conn;

	(void)state;
	if (weir_connect(pair.client, "nobody-listens-here", &options, &conn) == 0)
		pair_settle(&pair);
	assert_int_equal(pair.client->nconnections, 1);
	assert_int_equal(stats().reconnect_attempts, 0);
}

static void destroy__while_it_is_remade(void **state)
{
	(void)state;
	start_later(0, 0);
	until_later(1);
	stop_server();
	pair_until(&pair, &pair.lost, 1);
	start_later(1, 0);
	weir_engine_destroy(pair.client);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, -ECONNABORTED);
	}
	assert_int_equal(pair.close_error, -ECONNABORTED);
	/* teardown() destroys this engine */
	assert_int_equal(weir_engine_create(&pair.profile, &pair.client), 0);
}

static void again_when_cancelled(struct outcome *outcome, struct weir_call *call,
				 const struct weir_result *result)
{
	struct weir_call *next;

	outcome->status = result->status;
	if (result->status != -ECANCELED)
		return;
	assert_false(weir_conn_is_open(pair.conn));
	next = weir_call_reuse(call, pair.conn);
	assert_non_null(next);
	weir_xdr_put_u32(weir_call_args(next), 1);
	assert_int_equal(weir_call_submit(next), 0);
}

/*
 * Checks that a call which is reused during reconnection waits for the connection, like a call that
 * is begun during that time.
 */
static void again__while_it_is_remade(void **state)
{
	struct weir_call *call;

	(void)state;
	warm_up();
	call = begin(0, PAIR_LATER, 0);
	outcomes[0].check = again_when_cancelled;
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
	until_later(1);
	stop_server();
	pair_until(&pair, &pair.lost, 1);
	assert_int_equal(weir_call_cancel(call), 0);
	expect_done(0, -ECANCELED);
	pair_server_start(&pair);
	until_later(1);
	pair_release_later(&pair);
	pair_until(&pair, &outcomes[0].done, 2);
	assert_int_equal(outcomes[0].status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run(void)
{
	const struct CMUnitTest tests[] = {
		TEST(close__while_it_is_remade),
		TEST(shutdown__while_it_is_remade_lets_calls_end),
		TEST(shutdown__without_calls_does_not_wait),
		TEST(reset__sends_again),
		TEST(off__ends_as_it_did),
		TEST(connect__first_attempt_is_the_only_one),
		TEST(destroy__while_it_is_remade),
		TEST(again__while_it_is_remade),
	};

	return cmocka_run_group_tests_name("reconnect_ends", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
