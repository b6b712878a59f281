/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a responder without free buffers. Connections are served in turn, and a request that is
 * not allowed to wait gets an error.
 */
#include "pair_main.h"

#include <errno.h>

#include "engine.h"

#define MODEST 4u  /* number of connections that have one call in flight at a time */
#define GREEDY 12u /* number of calls in flight on the greedy connection */
#define ROUNDS 20
#define ITEM   8192u
#define BIG    20000u

static struct pair pair;
static int nopen;

/* One of several connections that make a new call as soon as a call ends. */
struct flow {
	struct weir_conn *conn;
	int done;
};

static struct flow flows[MODEST + 1]; /* the last flow is the greedy one */

static void one_bulk_buffer(struct weir_profile *profile)
{
	profile->bulk_buffers = 1;
	profile->recv_buffers = 256;
	profile->waiting_requests = 8 * GREEDY;
}

static int setup(void **state)
{
	(void)state;
	nopen = 0;
	pair_start(&pair, one_bulk_buffer);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	nopen += event == WEIR_CONN_OPEN;
}

static void write_call(struct flow *flow);

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct flow *flow = arg;

	(void)call;
	if (result->status != 0)
		return; /* the engine is being destroyed */
	flow->done++;
	write_call(flow);
}

/* Makes a WRITE call. Its data are read into a bulk buffer of the responder. */
static void write_call(struct flow *flow)
{
	struct outcome unused;
	struct weir_call_params params = pair_params(PAIR_WRITE, &unused);
	struct weir_call *call;

	params.done = on_done;
	params.arg = flow;
	call = weir_call_begin(flow->conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM), 0);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
}

static void pull__a_greedy_connection_starves_no_other(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};
	int least = 0;

	(void)state;
	for (uint32_t i = 0; i <= MODEST; i++) {
		flows[i] = (struct flow){0};
		assert_int_equal(weir_connect(pair.client, pair.addr, &options, &flows[i].conn), 0);
	}
	pair_until(&pair, &nopen, MODEST + 1);
	for (uint32_t i = 0; i < GREEDY; i++)
		write_call(&flows[MODEST]);
	/*
	 * The greedy connection has been granted all of its credits, and more of its calls are
	 * queued.
	 */
	pair_until(&pair, &flows[MODEST].done, GREEDY);
	flows[MODEST].done = 0;
	for (uint32_t i = 0; i < MODEST; i++)
		write_call(&flows[i]);
	for (uint32_t polls = 0; least < ROUNDS && pair_wait(&pair, polls); polls++) {
		pair_poll(&pair);
		least = flows[0].done;
		for (uint32_t i = 1; i < MODEST; i++)
			least = flows[i].done < least ? flows[i].done : least;
	}
	assert_int_equal(least, ROUNDS);
	/*
	 * Connections are served in turn. For each call of another connection, one call of the
	 * greedy connection is served, except at the start and the end.
	 */
	for (uint32_t i = 0; i < MODEST; i++)
		assert_in_range(flows[i].done, ROUNDS, ROUNDS + ROUNDS / 2);
	assert_in_range(flows[MODEST].done, ROUNDS / 2, 2 * ROUNDS + (int)GREEDY);
}

static struct outcome outcomes[2 * GREEDY + 1];

static void submit_big(uint32_t i)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(PAIR_BIG, &outcomes[i]);
	params.results_max_bytes = BIG + 8;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), BIG);
	assert_int_equal(weir_call_submit(call), 0);
}

static void big_first(void)
{
	struct outcome outcome;

	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome); /* its reply grants more than one credit */
}

static void results__wait_for_a_buffer(void **state)
{
	struct mem_buf *all;

	(void)state;
	big_first();
	all = mem_pool_get(pair.server->bulk_pool);
	for (uint32_t i = 0; i < 4; i++)
		submit_big(i);
	pair_settle(&pair);
	assert_int_equal(pair.server->nwaiting, 4);
	assert_int_equal(outcomes[0].done, 0);
	mem_pool_put(all);
	for (uint32_t i = 0; i < 4; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
		assert_int_equal(outcomes[i].reply.accept_stat, WEIR_RPC_SUCCESS);
	}
	assert_int_equal(pair.server->nwaiting, 0);
}

static void few_may_wait(struct weir_profile *profile)
{
	one_bulk_buffer(profile);
	profile->waiting_requests = 9; /* allows three requests of a connection to wait (quota.h) */
}

static int setup_few(void **state)
{
	(void)state;
	nopen = 0;
	pair_start(&pair, few_may_wait);
	return 0;
}

/*
 * Checks that as many requests as the limit allows can wait. One more request gets an error, and
 * the requests that wait keep their buffers.
 */
static void wait__is_bounded_and_past_it_is_an_error(void **state)
{
	struct engine_counters stats = {0};
	struct mem_buf *all;

	(void)state;
	big_first();
	all = mem_pool_get(pair.server->bulk_pool);
	for (uint32_t i = 0; i < 3; i++)
		submit_big(i);
	pair_settle(&pair);
	test_counters(pair.server, &stats);
	assert_int_equal(pair.server->nwaiting, 3);
	assert_int_equal(stats.waits_rejected, 0);
	submit_big(3);
	pair_until(&pair, &outcomes[3].done, 1);
	assert_int_equal(outcomes[3].status, 0);
	assert_int_equal(outcomes[3].reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.waits_rejected, 1);
	mem_pool_put(all);
	for (uint32_t i = 0; i < 3; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].reply.accept_stat, WEIR_RPC_SUCCESS);
	}
}

/*
 * Checks the limit of test wait__is_bounded_and_past_it_is_an_error for requests whose arguments
 * have to be read by RDMA Read.
 */
static void pull__that_may_not_wait_is_told(void **state)
{
	struct mem_buf *all;

	(void)state;
	big_first();
	all = mem_pool_get(pair.server->bulk_pool);
	for (uint32_t i = 0; i < 3; i++)
		submit_big(i);
	pair_settle(&pair);
	outcome_init(&outcomes[3], &pair);
	{
		struct weir_call_params params = pair_params(PAIR_WRITE, &outcomes[3]);
		struct weir_call *call = weir_call_begin(pair.conn, &params);

		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), 1);
		weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM);
		weir_xdr_put_u32(weir_call_args(call), 1);
		assert_int_equal(weir_call_submit(call), 0);
	}
	pair_until(&pair, &outcomes[3].done, 1);
	assert_int_equal(outcomes[3].reply.accept_stat, WEIR_RPC_SYSTEM_ERR);
	mem_pool_put(all);
	for (uint32_t i = 0; i < 3; i++)
		pair_until(&pair, &outcomes[i].done, 1);
}

static struct mem_buf *sends;

/* Takes all free send buffers of the server, and links them into a list by their member 'user'. */
static void take_sends(void)
{
	struct mem_buf *buf;

	for (sends = NULL; (buf = mem_pool_get(pair.server->send_pool)); sends = buf)
		buf->user[0] = (uintptr_t)sends;
}

static void put_sends(void)
{
	while (sends) {
		struct mem_buf *buf = sends;

		sends = (struct mem_buf *)buf->user[0];
		mem_pool_put(buf);
	}
}

/*
 * Returns the length of the data of WRITE number i. The data of the first three WRITEs are read by
 * RDMA Read.
 */
static uint32_t write_bytes(uint32_t i)
{
	return i < 3 ? ITEM + i : 100 + i;
}

static void submit_write(uint32_t i)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(PAIR_WRITE, &outcomes[i]);
	params.args_max_bytes = 256;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), i);
	if (i < 3)
		weir_call_arg_item(call, pair.client_region, pair.client_mem, write_bytes(i));
	else
		weir_xdr_put_opaque(weir_call_args(call), pair.client_mem, write_bytes(i));
	weir_xdr_put_u32(weir_call_args(call), 1000);
	assert_int_equal(weir_call_submit(call), 0);
	pair_settle(&pair);
}

/*
 * Checks replies to more calls than are allowed to wait. Three of these calls were carried out one
 * after the other, with the only bulk buffer for their arguments. No reply is refused or lost. When
 * the replies were sent, the buffers are free for the next calls.
 */
static void reply__waits_without_the_arguments_and_is_not_refused(void **state)
{
	struct engine_counters stats = {0};
	struct outcome outcome;
	struct mem_buf *bulk;

	(void)state;
	big_first();
	take_sends();
	for (uint32_t i = 0; i < 5; i++)
		submit_write(i);
	assert_int_equal(pair.server->nwaiting, 5);
	assert_int_equal(pair.nresults, 5);
	bulk = mem_pool_get(pair.server->bulk_pool);
	assert_non_null(bulk);
	mem_pool_put(bulk);
	assert_int_equal(pair.server->pulling_bytes, 0);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.waits_rejected, 0);
	put_sends();
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t sum = 0;

		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
		for (uint32_t at = 0; at < write_bytes(i); at++)
			sum = sum * 33 + pair.client_mem[at];
		assert_int_equal(outcomes[i].nwords, 3);
		assert_int_equal(outcomes[i].words[0], i + 1000);
		assert_int_equal(outcomes[i].words[1], write_bytes(i));
		assert_int_equal(outcomes[i].words[2], sum);
	}
	assert_int_equal(pair.closed, 0);
	/*
	 * Request objects are reset when they are reused: the next request has its own arguments.
	 */
	pair_call(&pair, PAIR_WRITE, (const uint32_t[]){1, 0, 2}, 3, &outcome);
	assert_int_equal(outcome.words[0], 3);
}

/*
 * Checks that waiting replies are freed when their connection ends, and when the engine is
 * destroyed.
 */
static void reply__that_waits_ends_with_the_connection_or_the_engine(void **state)
{
	(void)state;
	big_first();
	take_sends();
	submit_write(0);
	submit_write(1);
	assert_int_equal(pair.server->nwaiting, 2);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.server_closed, 1);
	put_sends();
	pair_settle(&pair);
	assert_int_equal(pair.server->nwaiting, 0);
	big_first();
	take_sends();
	submit_write(0);
	assert_int_equal(pair.server->nwaiting, 1);
	put_sends();
}

/*
 * Checks that requests whose handlers wait for a buffer are freed when their connection ends, and
 * when the engine is destroyed.
 */
static void wait__ends_with_the_connection_or_the_engine(void **state)
{
	struct mem_buf *all;

	(void)state;
	big_first();
	all = mem_pool_get(pair.server->bulk_pool);
	submit_big(0);
	submit_big(1);
	pair_settle(&pair);
	assert_int_equal(pair.server->nwaiting, 2);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.server_closed, 1);
	assert_int_equal(pair.server->nwaiting, 2); /* the test holds all bulk buffers */
	mem_pool_put(all);
	pair_settle(&pair);
	assert_int_equal(pair.server->nwaiting, 0);
	big_first();
	all = mem_pool_get(pair.server->bulk_pool);
	submit_big(0);
	pair_settle(&pair);
	assert_int_equal(pair.server->nwaiting, 1);
	mem_pool_put(all);
}

static int run(void)
{
#define T(name, before) cmocka_unit_test_setup_teardown(name, before, teardown)
	const struct CMUnitTest tests[] = {
		T(pull__a_greedy_connection_starves_no_other, setup),
		T(results__wait_for_a_buffer, setup),
		T(wait__is_bounded_and_past_it_is_an_error, setup_few),
		T(pull__that_may_not_wait_is_told, setup_few),
		T(wait__ends_with_the_connection_or_the_engine, setup),
		T(reply__waits_without_the_arguments_and_is_not_refused, setup_few),
		T(reply__that_waits_ends_with_the_connection_or_the_engine, setup),
	};

	return cmocka_run_group_tests_name("fair", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
