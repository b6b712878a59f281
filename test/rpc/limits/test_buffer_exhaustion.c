/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a requester whose send buffers are all held by calls, each of which needs one more
 * buffer to be sent. No call waits until its timeout, and connections are served in turn.
 * test_wire_limits.c tests the same for a responder.
 */
#include "pair_main.h"

#include <errno.h>

#include "engine.h"

/* The minimum of the profile. The engine's buffer of zeros is one of them. */
#define BUFFERS 16u
#define CALLS	(BUFFERS - 1u) /* this many calls hold all other buffers */
/*
 * Number of items of a call. With the padding of each item, the call has more elements than the
 * driver gathers.
 */
#define ITEMS  6u
#define FLOWS  3u
#define ROUNDS 40

static struct pair pair;
static struct outcome outcomes[CALLS];

static void few_buffers(struct weir_profile *profile)
{
	profile->send_buffers = BUFFERS;
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, few_buffers);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/*
 * Begins a NULL call whose arguments have more elements than the device gathers. Returns NULL if no
 * buffer is free.
 */
static struct weir_call *begin(struct weir_conn *conn, weir_call_done_fn done, void *arg)
{
	struct outcome unused;
	struct weir_call_params params = pair_params(PAIR_NULL, &unused);
	struct weir_call *call;

	params.ulb = NULL;
	params.done = done;
	params.arg = arg;
	call = weir_call_begin(conn, &params);
	for (uint32_t i = 0; call && i < ITEMS; i++)
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, pair.client_mem + 100 * i, 5),
			0);
	return call;
}

static void expect_no_timeout(void)
{
	struct engine_counters stats = {0};

	test_counters(pair.client, &stats);
	assert_int_equal(stats.calls_timed_out, 0);
	assert_int_equal(stats.calls_failed, 0);
	assert_int_equal(pair.client->reserve_pool->in_use, 0);
	assert_int_equal(pair.client->reserve_pool->in_use_peak, 1);
	assert_int_equal(pair.client->send_pool->in_use_peak, BUFFERS);
	assert_true(TAILQ_EMPTY(&pair.client->reserve_queues));
}

/*
 * Begins calls until they hold all buffers, and then submits all of them. No call is in flight
 * whose end could free a buffer.
 */
static void submit_all(void)
{
	struct weir_call *calls[CALLS];

	pair_connect(&pair);
	for (uint32_t i = 0; i < CALLS; i++) {
		outcome_init(&outcomes[i], &pair);
		calls[i] = begin(pair.conn, pair_done, &outcomes[i]);
		assert_non_null(calls[i]);
	}
	for (uint32_t i = 0; i < CALLS; i++)
		assert_int_equal(weir_call_submit(calls[i]), 0);
}

static void calls__that_each_want_one_more_do_not_wait_for_each_other(void **state)
{
	(void)state;
	submit_all();
	for (uint32_t i = 0; i < CALLS; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
	}
	pair_settle(&pair);
	expect_no_timeout();
}

/* One of several connections that make a new call as soon as a call ends. */
struct flow {
	struct weir_conn *conn;
	uint32_t under_way;
	int done;
};

static struct flow flows[FLOWS];
static int nopen;

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)error;
	(void)arg;
	nopen += event == WEIR_CONN_OPEN;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct flow *flow = arg;

	(void)call;
	flow->under_way--;
	flow->done += result->status == 0;
}

/*
 * Begins and submits calls until each connection has 'most' of them in flight, or until no buffer
 * is free.
 */
static void fill_flows(uint32_t most)
{
	for (uint32_t i = 0; i < FLOWS; i++) {
		while (flows[i].under_way < most) {
			struct weir_call *call = begin(flows[i].conn, on_done, &flows[i]);

			if (!call)
				break;
			flows[i].under_way++;
			assert_int_equal(weir_call_submit(call), 0);
		}
	}
}

static void calls__of_several_connections_take_turns(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};
	int least = 0;

	(void)state;
	nopen = 0;
	for (uint32_t i = 0; i < FLOWS; i++) {
		flows[i] = (struct flow){0};
		assert_int_equal(weir_connect(pair.client, pair.addr, &options, &flows[i].conn), 0);
	}
	pair_until(&pair, &nopen, (int)FLOWS);
	/*
	 * Until the responder's control thread has accepted a connection, the calls of that
	 * connection are not served.
	 */
	pair_until(&pair, &pair.server_opened, (int)FLOWS);
	for (uint32_t polls = 0; least < ROUNDS && pair_wait(&pair, polls); polls++) {
		fill_flows(CALLS / FLOWS);
		pair_poll(&pair);
		least = flows[0].done;
		for (uint32_t i = 1; i < FLOWS; i++)
			least = flows[i].done < least ? flows[i].done : least;
	}
	for (uint32_t i = 0; i < FLOWS; i++)
		assert_in_range(flows[i].done, ROUNDS, 2 * ROUNDS);
	for (uint32_t i = 0; i < FLOWS; i++)
		for (uint32_t polls = 0; flows[i].under_way > 0 && pair_wait(&pair, polls); polls++)
			pair_poll(&pair);
	pair_settle(&pair);
	expect_no_timeout();
}

/* Checks that a call is refused at once if all buffers are in use. */
static void begin__with_no_buffer_left_is_refused(void **state)
{
	struct engine_counters stats = {0};
	struct weir_call *calls[CALLS];

	(void)state;
	pair_connect(&pair);
	for (uint32_t i = 0; i < CALLS; i++) {
		calls[i] = begin(pair.conn, pair_done, &outcomes[i]);
		assert_non_null(calls[i]);
	}
	test_counters(pair.client, &stats);
	assert_int_equal(stats.send_pool_empty, 0);
	assert_null(begin(pair.conn, pair_done, NULL));
	assert_int_equal(errno, ENOBUFS);
	test_counters(pair.client, &stats);
	assert_int_equal(stats.send_pool_empty, 1);
	for (uint32_t i = 0; i < CALLS; i++)
		weir_call_abandon(calls[i]);
}

/*
 * Checks that the end of a connection also ends the calls that wait in it. Calls of other
 * connections continue.
 */
static void close__of_a_connection_whose_calls_wait(void **state)
{
	struct outcome outcome;

	(void)state;
	submit_all();
	assert_false(TAILQ_EMPTY(&pair.client->reserve_queues));
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	assert_true(TAILQ_EMPTY(&pair.client->reserve_queues));
	for (uint32_t i = 0; i < CALLS; i++)
		assert_int_equal(outcomes[i].done, 1);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(calls__that_each_want_one_more_do_not_wait_for_each_other),
		T(calls__of_several_connections_take_turns),
		T(begin__with_no_buffer_left_is_refused),
		T(close__of_a_connection_whose_calls_wait),
	};

	return cmocka_run_group_tests_name("dry", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
