/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that each call completes exactly once, however the call or its connection ends. */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "engine.h"

static struct pair pair;
static struct outcome outcomes[16];

#define SHORT_NS                                                                                   \
	50000000u /* a timeout that must happen; no other may, however busy the machine is */

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	return 0;
}

static int setup_connected(void **state)
{
	setup(state);
	pair_connect(&pair);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

/* Makes a call, whose reply grants more than one credit. */
static void warm_up(void)
{
	struct outcome outcome;

	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static void start_later_within(uint32_t n, uint64_t timeout_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		struct weir_call_params params;
		struct weir_call *call;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		params.timeout_ns = timeout_ns;
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), i);
		assert_int_equal(weir_call_submit(call), 0);
	}
}

static void start_later(uint32_t n)
{
	start_later_within(n, 0);
}

static void expect_all(uint32_t n, int status)
{
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, status);
	}
}

static void connect__nobody_listens(void **state)
{
	const struct weir_connect_options none = {.struct_bytes = sizeof(none)};
	struct weir_conn *conn;

	(void)state;
	pair.conn = NULL;
	if (weir_connect(pair.client, "nobody-listens-here", &none, &conn) == 0)
		pair_settle(&pair);
	/* The engine can still connect and make calls. */
	pair_connect(&pair);
	warm_up();
}

static void timeout__a_call_that_exposes_nothing_ends_alone(void **state)
{
	(void)state;
	warm_up();
	start_later_within(1, SHORT_NS);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, -ETIMEDOUT);
	assert_int_equal(pair.closed, 0);
	pair_until_later(&pair, 1);
	/* The late reply is discarded without harm, and the slot of its call is free again. */
	pair_release_later(&pair);
	pair_settle(&pair);
	assert_int_equal(outcomes[0].done, 1);
	warm_up();
}

static void timeout__4_4_1_and_4_5_4_memory_comes_back_only_when_the_peer_is_kept_out(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	warm_up();
	outcome_init(&outcomes[0], &pair);
	params = pair_params(PAIR_LATER, &outcomes[0]);
	params.timeout_ns = SHORT_NS;
	params.results_max_bytes =
		/*
		 * so large that the call offers a Reply chunk, and the responder gets a key to the
		 * requester's memory
		 */
		100000;
	call = weir_call_begin(pair.conn, &params);
	weir_xdr_put_u32(weir_call_args(call), 7);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, -ETIMEDOUT);
	if (pair.client->uses_windows) {
		/*
		 * The keys were invalidated, so that the connection stays open. test_windows.c
		 * tests that case.
		 */
		assert_int_equal(pair.closed, 0);
		return;
	}
	pair_until(&pair, &pair.closed, 1);
	/* replies on a connection that has ended, which frees the request */
	pair_release_later(&pair);
	pair_connect(&pair);
	warm_up();
}

static void timeout__a_call_that_still_waits_for_a_credit(void **state)
{
	(void)state;
	/* Version 2 grants credits before the first call. */
	if (weir_conn_version(pair.conn) == 2)
		skip();
	start_later_within(2, SHORT_NS); /* waits in the queue, because the only credit is in use */
	pair_until(&pair, &outcomes[1].done, 1);
	assert_int_equal(outcomes[1].status, -ETIMEDOUT);
	assert_int_equal(pair.closed, 0);
	pair_until_later(&pair, 1);
	pair_settle(&pair);
	assert_int_equal(pair.nlater, 1); /* the second call was never sent */
	pair_release_later(&pair);
	pair_settle(&pair);
	warm_up();
}

static void close__every_call_completes_once(void **state)
{
	(void)state;
	warm_up();
	start_later(16);
	pair_poll(&pair);
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	expect_all(16, -ECONNABORTED);
	assert_int_equal(pair.close_error, -ECONNABORTED);
	pair_until(&pair, &pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -ESHUTDOWN);
	pair_connect(&pair);
	warm_up();
}

static void close__the_responder_leaves(void **state)
{
	(void)state;
	warm_up();
	start_later(8);
	pair_until_later(&pair, 8);
	weir_conn_close(pair.server_conn);
	pair_until(&pair, &pair.closed, 1);
	expect_all(8, -ESHUTDOWN);
	assert_int_equal(pair.close_error, -ESHUTDOWN);
	assert_int_equal(pair.nlater, 8);
	pair_release_later(&pair); /* replies on connections that have ended */
	pair_connect(&pair);
	warm_up();
}

static void destroy__is_an_orderly_end(void **state)
{
	(void)state;
	warm_up();
	pair_server_stop(&pair);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.close_error, -ESHUTDOWN);
	pair_server_start(&pair);
	pair_connect(&pair);
	warm_up();
}

static void shutdown__waits_for_what_is_in_flight(void **state)
{
	struct weir_call_params params = pair_params(PAIR_NULL, &outcomes[0]);

	(void)state;
	warm_up();
	start_later(4);
	weir_conn_shutdown(pair.conn);
	assert_null(weir_call_begin(pair.conn, &params));
	assert_int_equal(errno, ENOTCONN);
	pair_until_later(&pair, 4);
	assert_int_equal(pair.closed, 0);
	pair_release_later(&pair);
	pair_until(&pair, &pair.closed, 1);
	expect_all(4, 0);
	assert_int_equal(pair.close_error, 0);
}

static void call_again(struct outcome *outcome, struct weir_call *call,
		       const struct weir_result *result)
{
	struct weir_call_params params = pair_params(PAIR_NULL, outcome);

	(void)result;
	if (outcome->bytes++ == 0) /* only once, because the connection is about to end */
		assert_null(weir_call_begin(weir_call_conn(call), &params));
}

static void close__a_callback_cannot_call_on_what_is_closed(void **state)
{
	(void)state;
	warm_up();
	start_later(1);
	outcomes[0].check = call_again;
	weir_conn_close(pair.conn);
	pair_until(&pair, &pair.closed, 1);
	expect_all(1, -ECONNABORTED);
}

static void destroy__with_everything_under_way(void **state)
{
	(void)state;
	warm_up();
	start_later(16);
	pair_poll(&pair);
	/* teardown() destroys both engines. ASan reports memory that was not freed. */
}

static int teardown_busy(void **state)
{
	pair_until_later(&pair, 1);
	teardown(state);
	expect_all(16, -ECONNABORTED);
	return 0;
}

static struct weir_request *held[PAIR_LATER_MAX];
static uint32_t nheld;

static void destroy__requests_that_a_handler_holds_can_still_be_replied_to(void **state)
{
	(void)state;
	warm_up();
	start_later(4);
	pair_until_later(&pair, 4);
	assert_int_equal(pair.nlater, 4);
}

static int teardown_held(void **state)
{
	struct weir_xdr_out *out =
		/* a reply was begun, but its results stay incomplete */
		weir_request_results(pair.later[0], 4);

	assert_non_null(out);
	nheld = pair.nlater;
	memcpy(held, pair.later, sizeof(held));
	pair.nlater = 0;
	teardown(state);
	expect_all(4, -ECONNABORTED);
	assert_int_not_equal(weir_xdr_put_u32(out, 1), 0);
	for (uint32_t i = 0; i < nheld; i++) {
		assert_null(weir_request_conn(held[i]));
		assert_null(weir_request_engine(held[i]));
		assert_int_equal(weir_xdr_remaining(weir_request_args(held[i])), 0);
		assert_int_equal(weir_request_header(held[i])->proc, PAIR_LATER);
		if (i % 2) {
			assert_null(weir_request_results(held[i], 4));
			weir_request_reply(held[i]);
		} else {
			weir_request_reply_error(held[i], WEIR_RPC_SYSTEM_ERR);
		}
	}
	return 0;
}

static int reconnects;

static void on_event_reconnect(struct weir_conn *conn, enum weir_conn_event event, int error,
			       void *arg)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event_reconnect};
	struct weir_conn *next;

	(void)conn;
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_CLOSED && reconnects++ < 100)
		assert_int_equal(weir_connect(pair.client, pair.addr, &options, &next), -ECANCELED);
}

static void destroy__nothing_new_begins_while_it_runs(void **state)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event_reconnect};
	struct weir_conn *conn;

	(void)state;
	reconnects = 0;
	assert_int_equal(weir_connect(pair.client, pair.addr, &options, &conn), 0);
	for (uint32_t i = 0; !weir_conn_is_open(conn) && pair_wait(&pair, i); i++)
		pair_poll(&pair);
}

static int teardown_reconnecting(void **state)
{
	teardown(state);
	assert_int_equal(reconnects, 1);
	return 0;
}

static void close__ends_a_call_that_is_being_made(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	warm_up();
	for (int i = 0; i < 2; i++) {
		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_LATER, &outcomes[i]);
		call = weir_call_begin(pair.conn, &params);
		assert_non_null(call);
		weir_xdr_put_u32(weir_call_args(call), 1);
	}
	weir_conn_close(pair.conn);
	/*
	 * A call that is submitted after the close and before the event CLOSED completes as well.
	 */
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(outcomes[0].done, 0);
	assert_int_equal(outcomes[1].done, 1);
	assert_int_equal(outcomes[1].status, -ECONNABORTED);
	pair_settle(&pair);
	/* The buffers in use are those of an engine without connections. */
	/* the buffer of zeros that the engine holds */
	assert_int_equal(pair.client->send_pool->in_use, 1);
	assert_int_equal(pair.client->recv_pool->in_use, pair_recvs_at_rest(&pair));
}

static void keep_calling(struct outcome *outcome, struct weir_call *call,
			 const struct weir_result *result)
{
	struct weir_call_params params = pair_params(PAIR_NULL, outcome);
	struct weir_call *next;

	outcome->bytes = (uint32_t)-result->status;
	next = result->status == 0 ? weir_call_begin(weir_call_conn(call), &params) : NULL;
	if (next) {
		outcome->nwords++; /* number of calls that were submitted */
		assert_int_equal(weir_call_submit(next), 0);
	}
}

static void shutdown__of_a_responder_ends_under_load(void **state)
{
	int done = 0, submitted = 0;

	(void)state;
	warm_up();
	for (int i = 0; i < 8; i++) {
		struct weir_call_params params;

		outcome_init(&outcomes[i], &pair);
		outcomes[i].check = keep_calling;
		params = pair_params(PAIR_NULL, &outcomes[i]);
		outcomes[i].nwords = 1;
		assert_int_equal(weir_call_submit(weir_call_begin(pair.conn, &params)), 0);
	}
	pair_until(&pair, &outcomes[0].done, 20);
	weir_conn_shutdown(pair.server_conn);
	pair_until(&pair, &pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, 0);
	pair_until(&pair, &pair.closed, 1);
	for (int i = 0; i < 8; i++) {
		done += outcomes[i].done;
		submitted += (int)outcomes[i].nwords;
		assert_int_equal(outcomes[i].bytes, ESHUTDOWN);
	}
	assert_int_equal(done, submitted);
	pair_connect(&pair);
	warm_up();
}

static void shutdown__of_a_responder_waits_for_its_requests(void **state)
{
	(void)state;
	warm_up();
	start_later(4);
	pair_until_later(&pair, 4);
	weir_conn_shutdown(pair.server_conn);
	for (int i = 0; i < 100; i++)
		pair_poll(&pair);
	assert_int_equal(pair.server_closed, 0);
	pair_release_later(&pair);
	pair_until(&pair, &pair.server_closed, 1);
	pair_until(&pair, &pair.closed, 1);
	expect_all(4, 0);
}

static void post_fn(struct weir_engine *engine, void *arg)
{
	int *count = arg;

	assert_ptr_equal(engine, pair.client);
	++*count;
}

static void post__runs_on_the_owners_poll_in_order(void **state)
{
	int count = 0, rc;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(weir_engine_post(pair.client, post_fn, &count), 0);
	assert_int_equal(count, 0);
	pair_until(&pair, &count, 100);
	while ((rc = weir_engine_post(pair.client, post_fn, &count)) == 0)
		;
	assert_int_equal(rc, -EAGAIN);
	pair_settle(&pair);
	assert_int_equal(weir_engine_post(pair.client, post_fn, &count), 0);
	pair_settle(&pair);
}

static void count_fn(struct weir_engine *engine, void *arg)
{
	(void)engine;
	++*(int *)arg;
}

static void post__is_run_by_destroy_at_the_latest(void **state)
{
	struct weir_engine *other;
	int count = 0, taken = 0;

	(void)state;
	assert_int_equal(weir_engine_create(&pair.profile, &other), 0);
	while (weir_engine_post(other, count_fn, &count) == 0)
		taken++;
	assert_true(taken > 0);
	weir_engine_destroy(other);
	assert_int_equal(count, taken);
}

static void on_one_of_many(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	int *ended = arg;

	(void)error;
	if (event == WEIR_CONN_OPEN)
		weir_conn_close(conn);
	else
		++*ended;
}

static void connect__limit_of_connections(void **state)
{
	int started = 0, ended = 0;
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_one_of_many, .arg = &ended};
	struct weir_conn *conn;

	(void)state;
	while (started < 64 && weir_connect(pair.client, pair.addr, &options, &conn) == 0)
		started++;
	assert_true(started >= 1 && started < 64);
	pair_until(&pair, &ended, started);
	/* the buffers of that connection are free as well */
	pair_until(&pair, &pair.server_closed, started);
	pair_connect(&pair);
	warm_up();
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(connect__nobody_listens, setup, teardown),
		cmocka_unit_test_setup_teardown(timeout__a_call_that_exposes_nothing_ends_alone,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(
			timeout__4_4_1_and_4_5_4_memory_comes_back_only_when_the_peer_is_kept_out,
			setup_connected, teardown),
		cmocka_unit_test_setup_teardown(timeout__a_call_that_still_waits_for_a_credit,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(close__every_call_completes_once, setup_connected,
						teardown),
		cmocka_unit_test_setup_teardown(close__the_responder_leaves, setup_connected,
						teardown),
		cmocka_unit_test_setup_teardown(destroy__is_an_orderly_end, setup_connected,
						teardown),
		cmocka_unit_test_setup_teardown(shutdown__waits_for_what_is_in_flight,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(close__a_callback_cannot_call_on_what_is_closed,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(destroy__with_everything_under_way, setup_connected,
						teardown_busy),
		cmocka_unit_test_setup_teardown(
			destroy__requests_that_a_handler_holds_can_still_be_replied_to,
			setup_connected, teardown_held),
		cmocka_unit_test_setup_teardown(destroy__nothing_new_begins_while_it_runs, setup,
						teardown_reconnecting),
		cmocka_unit_test_setup_teardown(close__ends_a_call_that_is_being_made,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(shutdown__of_a_responder_ends_under_load,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(shutdown__of_a_responder_waits_for_its_requests,
						setup_connected, teardown),
		cmocka_unit_test_setup_teardown(post__runs_on_the_owners_poll_in_order, setup,
						teardown),
		cmocka_unit_test_setup_teardown(post__is_run_by_destroy_at_the_latest, setup,
						teardown),
		cmocka_unit_test_setup_teardown(connect__limit_of_connections, setup, teardown),
	};

	return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
