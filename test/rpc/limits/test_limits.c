/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of each limit in the section [limits] of the profile: at the limit, one past the limit, and
 * the counter for it. Time is virtual. */
#include "pair_main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "conn.h"
#include "raw.h"
#include "request.h"
#include "sim.h"

#define MS	 1000000ull
#define TIME_MS	 50u
#define ITEM	 4096u
#define BUFS_MAX 16u

static struct pair pair;
static struct raw raw;
static struct outcome outcomes[4];
static struct mem_buf *bufs[BUFS_MAX];
static uint32_t nbufs;

static void low(struct weir_profile *profile)
{
	profile->read_segments = 3;
	profile->read_chunks = 2;
	profile->write_chunks = 2;
	profile->segments_per_chunk = 3;
	profile->read_bytes = 3 * ITEM;
	profile->write_bytes = 2 * ITEM;
	profile->pull_bytes_connection = 2 * ITEM;
	profile->pull_bytes = 6 * ITEM; /* one peer can use half of it (quota.h) */
	profile->first_call_timeout_ms = TIME_MS;
	profile->pull_timeout_ms = TIME_MS;
	profile->close_timeout_ms = TIME_MS;
	profile->connect_timeout_ms = TIME_MS;
	profile->reconnect = WEIR_RECONNECT_OFF;
}

static int setup(void **state)
{
	(void)state;
	nbufs = 0;
	pair_start(&pair, low);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static void pass(uint64_t ns)
{
	for (uint64_t until = pair.now_ns + ns; pair.now_ns < until;)
		pair_poll(&pair);
}

/* The chunk lists of a call: numbers of Read segments, of their positions, of Write chunks, and of
 * segments in each Write chunk; and the length in bytes of each Read segment and of each Write
 * segment. */
struct lists {
	uint32_t nreads, npositions, nwrites, nsegs, read_bytes, write_bytes;
	bool is_over;
};

static void send_lists(const struct lists *lists)
{
	struct words m = {0};

	words_put(&m, 4, 9, 1, 8, 0);
	for (uint32_t i = 0; i < lists->nreads; i++)
		words_put(&m, 6, 1, 48 + 4 * (i % lists->npositions), raw.mr.rkey,
			  lists->read_bytes, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(&m, 1, 0);
	for (uint32_t i = 0; i < lists->nwrites; i++) {
		words_put(&m, 2, 1, lists->nsegs);
		for (uint32_t j = 0; j < lists->nsegs; j++)
			words_put(&m, 4, raw.mr.rkey, lists->write_bytes,
				  (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	}
	words_put(&m, 2, 0, 0);
	words_put(&m, 10, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_NULL, 0, 0, 0, 0);
	raw_send_words(&raw, &m);
}

static void message__chunks_segments_and_bytes(void **state)
{
	static const struct lists cases[] = {
		{2, 1, 0, 0, 4, 0, false},	 {3, 1, 0, 0, 4, 0, false},
		{4, 1, 0, 0, 4, 0, true},	 {2, 2, 0, 0, 4, 0, false},
		{3, 3, 0, 0, 4, 0, true},	 {0, 1, 2, 1, 0, 4, false},
		{0, 1, 3, 1, 0, 4, true},	 {0, 1, 1, 3, 0, 4, false},
		{0, 1, 1, 4, 0, 4, true},	 {3, 1, 0, 0, ITEM, 0, false},
		{3, 1, 0, 0, ITEM + 1, 0, true}, {0, 1, 2, 1, 0, ITEM, false},
		{0, 1, 2, 1, 0, ITEM + 4, true},
	};
	uint64_t over = 0;

	(void)state;
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct words r = {0};

		send_lists(&cases[i]);
		raw_recv_words(&raw, &r);
		over += cases[i].is_over;
		if (cases[i].is_over)
			assert_int_equal(r.w[4], 2); /* ERR_CHUNK */
		assert_int_equal(pair_stats(pair.server).limits_exceeded, over);
	}
	assert_int_equal(raw.disconnected, 0);
	raw_close(&raw);
}

/* Connects, and takes all free bulk buffers of the responder, so that an accepted call cannot be
 * read. */
static void hold_pulls(void)
{
	struct outcome outcome;

	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome); /* its reply grants more than one credit */
	while ((bufs[nbufs] = mem_pool_get(pair.server->bulk_pool)))
		nbufs++;
}

static void let_go(void)
{
	while (nbufs > 0)
		mem_pool_put(bufs[--nbufs]);
}

static void write_call_of(struct weir_conn *conn, uint32_t i, uint32_t prog)
{
	struct weir_call_params params;
	struct weir_call *call;

	outcome_init(&outcomes[i], &pair);
	params = pair_params(PAIR_WRITE, &outcomes[i]);
	params.prog = prog;
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_arg_item(call, pair.client_region, pair.client_mem, ITEM), 0);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
	pass(MS);
}

static void write_call(struct weir_conn *conn, uint32_t i)
{
	write_call_of(conn, i, PAIR_PROG);
}

static void expect_done(uint32_t n)
{
	let_go();
	for (uint32_t i = 0; i < n; i++) {
		pair_until(&pair, &outcomes[i].done, 1);
		assert_int_equal(outcomes[i].status, 0);
		assert_int_equal(outcomes[i].reply.accept_stat, WEIR_RPC_SUCCESS);
	}
	assert_int_equal(pair.server->pulling_bytes, 0);
}

static void pull_bytes__of_a_connection(void **state)
{
	(void)state;
	hold_pulls();
	write_call(pair.conn, 0);
	write_call(pair.conn, 1);
	assert_int_equal(pair.server->pulling_bytes, 2 * ITEM);
	assert_int_equal(pair_stats(pair.server).pull_waits, 0);
	write_call(pair.conn, 2);
	assert_int_equal(pair.server->pulling_bytes, 2 * ITEM);
	assert_int_equal(pair_stats(pair.server).pull_waits, 1);
	expect_done(3);
}

static void pull_bytes__of_an_engine(void **state)
{
	struct weir_conn *first;
	struct outcome outcome;

	(void)state;
	hold_pulls();
	first = pair.conn;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	write_call(first, 0);
	write_call(first, 1);
	write_call(pair.conn, 2);
	assert_int_equal(pair.server->pulling_bytes, 3 * ITEM);
	assert_int_equal(pair_stats(pair.server).pull_waits, 0);
	write_call(pair.conn, 3);
	assert_int_equal(pair.server->pulling_bytes, 3 * ITEM);
	assert_int_equal(pair_stats(pair.server).pull_waits, 1);
	expect_done(4);
}

/* Checks that a call whose arguments were read stops counting towards 'pull_bytes' when it is
 * answered with an error. The call still needs its buffers until the answer is sent. */
static void pull_bytes__not_of_a_call_that_is_answered_with_an_error(void **state)
{
	static const uint8_t data[2 * ITEM];
	struct weir_call_params params;
	struct weir_call *call;
	bool was_pulled = false;

	(void)state;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcomes[0]);
	outcome_init(&outcomes[0], &pair);
	params = pair_params(PAIR_ECHO, &outcomes[0]);
	params.prog = PAIR_PROG + 1;
	params.args_max_bytes = 2 * ITEM;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_xdr_put_opaque(weir_call_args(call), data, 2 * ITEM - 4), 0);
	assert_int_equal(weir_call_submit(call), 0);
	for (uint64_t sent = pair_stats(pair.server).replies_sent;
	     pair_stats(pair.server).replies_sent == sent;) {
		was_pulled |= pair.server->pulling_bytes > 0;
		pair_poll(&pair);
	}
	assert_true(was_pulled);
	assert_int_equal(pair.server->pulling_bytes, 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].reply.accept_stat, WEIR_RPC_PROG_UNAVAIL);
}

/* Sends a call whose chunk must be read while no buffer becomes free. Expects that the connection
 * ends by the timeout. */
static void expect_pull_timeout(void)
{
	write_call(pair.conn, 0);
	pass((TIME_MS - 5) * MS);
	assert_int_equal(pair.server_closed, 0);
	pass(15 * MS); /* the limit is checked once in each tick */
	assert_int_equal(pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -ETIMEDOUT);
	assert_int_equal(pair_stats(pair.server).pull_timeouts, 1);
	assert_int_equal(pair.server->pulling_bytes, 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_not_equal(outcomes[0].status, 0);
	let_go();
}

static void pull_timeout__ends_the_connection(void **state)
{
	(void)state;
	hold_pulls();
	expect_pull_timeout();
}

/* Checks that a call which was answered before its chunk was read does not count as a call whose
 * chunk has been read. */
static void pull_timeout__after_a_call_of_an_unknown_program(void **state)
{
	(void)state;
	hold_pulls();
	write_call_of(pair.conn, 1, PAIR_PROG + 1);
	pair_until(&pair, &outcomes[1].done, 1);
	assert_int_equal(outcomes[1].reply.accept_stat, WEIR_RPC_PROG_UNAVAIL);
	expect_pull_timeout();
}

static void first_call_timeout__of_one_that_never_calls(void **state)
{
	struct outcome outcome;

	(void)state;
	pair_connect(&pair);
	pass((TIME_MS - 5) * MS);
	assert_int_equal(pair.server_closed, 0);
	pass(10 * MS);
	assert_int_equal(pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -ETIMEDOUT);
	assert_int_equal(pair_stats(pair.server).first_call_timeouts, 1);
	pair_until(&pair, &pair.closed, 1);
	/* A connection that has made a call stays open, however long it is idle. */
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	pass(5 * TIME_MS * MS);
	assert_int_equal(pair.server_closed, 1);
	assert_int_equal(pair_stats(pair.server).first_call_timeouts, 1);
}

static void low_shared(struct weir_profile *profile)
{
	low(profile);
	profile->shared_receives = WEIR_SHARED_RECEIVES_ON;
	profile->connections = 4;
}

/* Checks that a call which waits for a request object does not count as silence of its connection.
 * Other connections hold all request objects. */
static void first_call_timeout__not_of_one_whose_call_waits_for_a_request(void **state)
{
	struct request_pool *pool;
	struct weir_request *free;
	struct weir_call_params params;
	struct weir_call *call;
	struct outcome outcome;
	uint32_t nused;

	(void)state;
	pair_start(&pair, low_shared);
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	pair_connect(&pair);
	pool = pair.server->requests;
	free = pool->free;
	nused = pool->nused;
	pool->free = NULL;
	pool->nused = pool->nrequests;
	assert_true(request_pool_is_empty(pool));
	outcome_init(&outcomes[0], &pair);
	params = pair_params(PAIR_NULL, &outcomes[0]);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pass(5 * TIME_MS * MS);
	assert_int_equal(outcomes[0].done, 0);
	assert_int_equal(pair.server_closed, 0);
	assert_int_equal(pair_stats(pair.server).first_call_timeouts, 0);
	pool->free = free;
	pool->nused = nused;
	request_pool_serve(pool);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, 0);
	pair_stop(&pair);
}

static void close_timeout__ends_what_does_not_end(void **state)
{
	struct weir_call_params params;
	struct weir_call *call;

	(void)state;
	pair_connect(&pair);
	outcome_init(&outcomes[0], &pair);
	params = pair_params(PAIR_LATER, &outcomes[0]);
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_u32(weir_call_args(call), 1);
	assert_int_equal(weir_call_submit(call), 0);
	pass(MS);
	assert_int_equal(pair.nlater, 1);
	weir_conn_shutdown(pair.conn);
	pass((TIME_MS - 5) * MS);
	assert_int_equal(pair.closed, 0);
	pass(10 * MS);
	assert_int_equal(pair.closed, 1);
	assert_int_equal(pair.close_error, -ETIMEDOUT);
	assert_int_equal(outcomes[0].status, -ETIMEDOUT);
	assert_int_equal(pair_stats(pair.client).close_timeouts, 1);
}

static void patient(struct weir_profile *profile)
{
	low(profile);
	profile->first_call_timeout_ms = 0;
	profile->send_timeout_ms = TIME_MS;
	snprintf(profile->driver_options, sizeof(profile->driver_options), "world=%u,rnr_retry=7",
		 sim_world_id(pair.world));
}

/* Sends a READ call. Its reply is too long for the device to copy when the Send is posted, so that
 * the Send completes only after the peer has received it. */
static void send_read_call(void)
{
	struct words m = {0};

	words_put(&m, 7, 9, 1, 8, 0, 0, 0, 0);
	words_put(&m, 11, 9, 0, 2, PAIR_PROG, PAIR_VERS, PAIR_READ, 0, 0, 0, 0, 600);
	raw_send_words(&raw, &m);
}

static void send_timeout__of_a_peer_that_takes_nothing(void **state)
{
	int nmsgs = (int)RAW_RECVS;

	(void)state;
	pair_start(&pair, patient);
	raw_open(&raw, &pair);
	raw.stops = true;
	raw_connect(&raw);
	for (int i = 0; i < nmsgs; i++) {
		send_read_call();
		raw_until(&raw, &raw.nmsgs, i + 1);
	}
	/* the peer has received all replies, so that no timeout is running */
	pass(5 * TIME_MS * MS);
	for (uint32_t i = 0; i < 3; i++) {
		send_read_call();
		pass((TIME_MS - 5) * MS);
		assert_int_equal(pair.server_closed, 0);
		if (i < 2) {
			/* The peer receives each reply just in time, and the timeout starts anew
			 * for the next reply. */
			raw_take_one(&raw);
			raw_until(&raw, &raw.nmsgs, 1);
		}
	}
	assert_int_equal(pair_stats(pair.server).send_timeouts, 0);
	pass(10 * MS);
	assert_int_equal(pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, -ETIMEDOUT);
	assert_int_equal(pair_stats(pair.server).send_timeouts, 1);
	raw_end(&raw);
}

/* Checks that the send timeout starts with the first Send. The first tick of a connection, long
 * after the start of the clock, finds a Send that has not completed. */
static void send_timeout__begins_with_what_is_sent(void **state)
{
	struct sim_options wires;
	struct weir_call *call;
	struct weir_call_params params = pair_params(PAIR_ECHO, &outcomes[0]);

	(void)state;
	sim_options_init(&wires);
	wires.wire = (struct sim_latency){5 * MS, 5 * MS};
	pair_wires = &wires;
	pair_start(&pair, patient);
	pair_wires = NULL;
	pass(5 * TIME_MS * MS);
	assert_int_equal(pair_connect_begin(&pair), 0);
	pair_until(&pair, &pair.opened, 1);
	outcome_init(&outcomes[0], &pair);
	params.args_max_bytes = params.results_max_bytes = 604;
	call = weir_call_begin(pair.conn, &params);
	assert_non_null(call);
	weir_xdr_put_opaque(weir_call_args(call), pair.client_mem,
			    600); /* more than the device copies when a Send is posted */
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &outcomes[0].done, 1);
	assert_int_equal(outcomes[0].status, 0);
	assert_int_equal(pair_stats(pair.client).send_timeouts, 0);
	assert_int_equal(pair_stats(pair.server).send_timeouts, 0);
	pair_stop(&pair);
}

static void connect_timeout__of_one_that_nobody_accepts(void **state)
{
	(void)state;
	assert_int_equal(pair_connect_begin(&pair), 0);
	/* The server's engine is not polled. */
	while (pair.closed == 0) {
		assert_true(pair.now_ns < 10 * TIME_MS * MS);
		pair.now_ns += MS;
		weir_engine_poll(pair.client, 0, pair.now_ns);
	}
	assert_int_equal(pair.close_error, -ETIMEDOUT);
	assert_int_equal(pair_stats(pair.client).connect_timeouts, 1);
}

static void connections__one_past_the_limit_is_refused(void **state)
{
	struct outcome outcome;
	struct weir_conn *first;

	(void)state;
	pair.server->profile.connections = 1;
	pair_connect(&pair);
	first = pair.conn;
	assert_int_equal(pair_stats(pair.server).connections_refused, 0);
	/* more than the number of lines that the log prints in a second */
	for (int i = 0; i < 20; i++) {
		assert_int_equal(pair_connect_begin(&pair), 0);
		pair_until(&pair, &pair.closed, i + 1);
		assert_int_equal(pair.close_error, -ECONNREFUSED);
		assert_int_equal(pair_stats(pair.server).connections_refused, i + 1);
	}
	assert_in_range(pair.server->refusals.left_out, 1, 15);
	pair.conn = first;
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
}

static void short_messages(struct weir_profile *profile)
{
	profile->inline_bytes = 1024;
}

static uint32_t lines_with(const char *text, const char *what)
{
	uint32_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* Checks the log if a peer repeatedly sends more than a receive holds. All of this happens within a
 * second, each time on a new connection. */
static void log__of_a_peer_that_misbehaves_again_and_again(void **state)
{
	static uint8_t message[2000];
	struct engine_counters stats = {0};
	struct log_rate *ends;
	char *text = NULL;
	size_t len = 0;
	FILE *log = open_memstream(&text, &len);

	(void)state;
	assert_non_null(log);
	pair_start(&pair, short_messages);
	ends = &pair.server->ends;
	assert_int_equal(rte_openlog_stream(log), 0);
	for (int i = 0; i < 20; i++) {
		raw_open(&raw, &pair);
		raw_connect(&raw);
		raw_send(&raw, message, sizeof(message));
		while (pair.server->nconnections > 0)
			raw_poll(&raw);
		raw_close(&raw);
	}
	rte_openlog_stream(NULL);
	fclose(log);
	stats = pair_stats(pair.server);
	assert_int_equal(stats.connections_lost, 20);
	assert_int_equal(lines_with(text, " ends: "), LOG_RATE_LINES);
	assert_int_equal(stats.log_lines_left_out, 20 - LOG_RATE_LINES);
	assert_int_equal(ends->left_out, 20 - LOG_RATE_LINES);
	free(text);
	/* The first line in a later second says how many lines were not printed. */
	log = open_memstream(&text, &len);
	assert_non_null(log);
	ends->window_ns -= LOG_RATE_WINDOW_NS;
	assert_int_equal(rte_openlog_stream(log), 0);
	engine_log_peer(pair.server, ends, "connection to %s ends", "it");
	rte_openlog_stream(NULL);
	fclose(log);
	assert_int_equal(lines_with(text, "it ends (and 15 similar events without a line)"), 1);
	free(text);
	pair_stop(&pair);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(message__chunks_segments_and_bytes),
		T(pull_bytes__of_a_connection),
		T(pull_bytes__of_an_engine),
		T(pull_bytes__not_of_a_call_that_is_answered_with_an_error),
		T(pull_timeout__ends_the_connection),
		T(pull_timeout__after_a_call_of_an_unknown_program),
		T(first_call_timeout__of_one_that_never_calls),
		T(close_timeout__ends_what_does_not_end),
		T(connect_timeout__of_one_that_nobody_accepts),
		T(connections__one_past_the_limit_is_refused),
		cmocka_unit_test(first_call_timeout__not_of_one_whose_call_waits_for_a_request),
		cmocka_unit_test(send_timeout__of_a_peer_that_takes_nothing),
		cmocka_unit_test(send_timeout__begins_with_what_is_sent),
		cmocka_unit_test(log__of_a_peer_that_misbehaves_again_and_again),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	pair_buffers = PAIR_BUFFERS_MORE;
	return pair_main(argc, argv, run);
}
