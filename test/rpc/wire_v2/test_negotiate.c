/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of how a requester and its peer agree on version 2, or fall back to version 1 (section 7 of
 * the draft of RPC-over-RDMA version 2).
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>

#include "raw.h"

static struct pair pair;
static struct raw raw;
static char addr[80];
static int opened, lost, closed, close_error;
static struct weir_conn *conn;

static void on_event(struct weir_conn *c, enum weir_conn_event event, int error, void *arg)
{
	(void)c;
	(void)arg;
	opened += event == WEIR_CONN_OPEN;
	lost += event == WEIR_CONN_LOST;
	if (event == WEIR_CONN_CLOSED) {
		closed++;
		close_error = error;
		conn = NULL;
	}
}

static void quick(struct weir_profile *profile)
{
	profile->connect_timeout_ms = 4000;
	profile->reconnect_delay_ms = 1;
	profile->reconnect_delay_max_ms = 2;
}

/*
 * Creates a requester that speaks 'protocol', and connects it to a raw peer. Returns the first
 * message of the requester.
 */
static struct words begin(enum weir_protocol protocol, enum weir_reconnect reconnect)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .reconnect = reconnect};
	struct words m = {0};

	opened = lost = closed = close_error = 0;
	pair_client_protocol = protocol;
	pair_start(&pair, quick);
	raw_open(&raw, &pair);
	pair_new_addr(addr, sizeof(addr));
	raw_listen(&raw, addr);
	assert_int_equal(weir_connect(pair.client, addr, &options, &conn), 0);
	if (protocol == WEIR_PROTOCOL_V1)
		return m;
	raw_recv_words(&raw, &m);
	/* The upper bound is the longest message that a responder of version 1 must accept. */
	assert_true(m.n * 4 <= 1024);
	assert_true(m.n * 4 >= 28); /* the shortest message that such a responder answers */
	assert_int_equal(m.w[1], 2);
	assert_int_equal(m.w[2], 16);
	assert_int_equal(m.w[3], 6);
	/*
	 * The requester sends one message and waits for its answer. Meanwhile calls are not sent.
	 */
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	assert_int_equal(opened, 0);
	return m;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static void answer_err_vers(uint32_t xid, uint32_t vers, uint32_t low, uint32_t high)
{
	struct words r = {0};

	words_put(&r, 7, xid, vers, 16, 4, 1, low, high);
	raw_send_words(&raw, &r);
}

/*
 * Makes a call, and checks that its message has version 'vers'. The raw peer answers in that
 * version.
 */
static void expect_call(uint32_t vers)
{
	uint32_t at = vers == 2 ? 9 : 7;
	struct outcome outcome;
	struct words m = {0}, r = {0};
	struct weir_call_params params;
	struct weir_call *call;

	assert_int_equal(weir_conn_version(conn), vers);
	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_NULL, &outcome);
	call = weir_call_begin(conn, &params);
	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.n, at + 10);
	assert_int_equal(m.w[1], vers);
	assert_int_equal(m.w[at], m.w[0]);
	words_put(&r, 4, m.w[0], vers, 4, 0);
	if (vers == 2)
		words_put(&r, 2, 1, 0);
	words_put(&r, 9, 0, 0, 0, m.w[0], 1, 0, 0, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
}

static void negotiate__7_2_err_vers_leads_to_version_1_on_the_same_connection(void **state)
{
	/*
	 * In RDMA_ERROR, some responders return the version of the message, and others return their
	 * own.
	 */
	for (uint32_t vers = 1; vers <= 2; vers++) {
		struct words m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_OFF);

		answer_err_vers(m.w[0], vers, 1, 1);
		raw_until(&raw, &opened, 1);
		expect_call(1);
		assert_int_equal(raw.established, 1);
		assert_int_equal(closed, 0);
		if (vers == 1)
			teardown(state);
	}
}

static void negotiate__version_2_alone_ends_the_connection(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_V2, WEIR_RECONNECT_OFF);

	(void)state;
	answer_err_vers(m.w[0], 1, 1, 1);
	raw_until(&raw, &closed, 1);
	assert_int_equal(close_error, -EPROTONOSUPPORT);
	assert_int_equal(opened, 0);
}

static void negotiate__neither_version_ends_the_connection(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_OFF);

	(void)state;
	answer_err_vers(m.w[0], 3, 3, 4);
	raw_until(&raw, &closed, 1);
	assert_int_equal(close_error, -EPROTONOSUPPORT);
}

static void negotiate__7_1_connprop_grants_and_opens(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_OFF), r = {0};
	static struct outcome
		/*
		 * static, because some calls end with the connection, after this function has
		 * returned
		 */
		outcomes[4];

	(void)state;
	words_put(&r, 6, m.w[0], 2, 3, 6, 1, 1);
	words_put(&r, 4, 4, 2048, 1, 1);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	assert_int_equal(weir_conn_version(conn), 2);
	assert_int_equal(weir_conn_send_inline(conn), 2048);
	assert_int_equal(weir_conn_recv_inline(conn), 4096);
	for (uint32_t i = 0; i < 4; i++) {
		struct weir_call_params params;

		outcome_init(&outcomes[i], &pair);
		params = pair_params(PAIR_NULL, &outcomes[i]);
		assert_int_equal(weir_call_submit(weir_call_begin(conn, &params)), 0);
	}
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 3); /* the fourth call waits */
}

static void negotiate__without_properties_it_is_version_2_all_the_same(void **state)
{
	for (uint32_t err = 4; err <= 5; err++) {
		struct words m = begin(WEIR_PROTOCOL_V2, WEIR_RECONNECT_OFF), r = {0};

		words_put(&r, 5, m.w[0], 2, 1, 4, err);
		raw_send_words(&raw, &r);
		raw_until(&raw, &opened, 1);
		assert_int_equal(weir_conn_send_inline(conn), 4096);
		expect_call(2);
		if (err == 4)
			teardown(state);
	}
}

static void negotiate__5_1_1_properties_that_are_none_are_told_so(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_OFF), r = {0}, e = {0};

	(void)state;
	/* one word more than the properties have */
	words_put(&r, 10, m.w[0], 2, 3, 6, 1, 1, 4, 4096, 0, 0);
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &e);
	assert_int_equal(e.n, 5);
	assert_int_equal(e.w[0], m.w[0]);
	assert_int_equal(e.w[3], 4);
	assert_int_equal(e.w[4], 2); /* RDMA2_ERR_BAD_XDR */
	assert_int_equal(opened, 0);
	/*
	 * Messages of other versions are not answered, because a peer of version 1 must not receive
	 * a message of version 2.
	 */
	r.n = 0;
	words_put(&r, 7, m.w[0], 1, 3, 0, 0, 0, 0);
	raw_send_words(&raw, &r);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	r.n = 0;
	words_put(&r, 6, m.w[0], 2, 3, 6, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	expect_call(2);
}

static void negotiate__7_2_silence_is_version_1(void **state)
{
	struct words r = {0}, m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_OFF);

	(void)state;
	/* This RDMA_ERROR has another XID, and therefore no effect. */
	answer_err_vers(m.w[0] + 1, 2, 1, 1);
	raw_settle(&raw);
	assert_int_equal(opened, 0);
	raw_until(&raw, &opened, 1);
	expect_call(1);
	/* The answer of version 2 arrives after the requester fell back to version 1. */
	words_put(&r, 6, m.w[0], 2, 3, 6, 0, 0);
	raw_send_words(&raw, &r);
	expect_call(1);
	assert_int_equal(closed, 0);
}

/*
 * Checks that a requester which speaks only version 2 waits the full time for a slow responder,
 * because it cannot fall back to another version.
 */
static void negotiate__version_2_alone_waits_for_a_slow_responder(void **state)
{
	struct words r = {0}, m = begin(WEIR_PROTOCOL_V2, WEIR_RECONNECT_OFF);
	uint64_t end = pair.now_ns + 2000000000ull; /* half of the 4 s that the requester waits */

	(void)state;
	while (pair.now_ns < end)
		raw_poll(&raw);
	assert_int_equal(closed, 0);
	words_put(&r, 6, m.w[0], 2, 3, 6, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	expect_call(2);
}

static void drop_peer(void)
{
	raw.ops->disconnect(raw.qp);
	raw.ops->qp_destroy(raw.qp);
	raw.qp = NULL;
}

static void negotiate__7_2_one_that_was_refused_is_remade_without_asking(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_ON);

	(void)state;
	answer_err_vers(m.w[0], 2, 1, 1);
	raw_until(&raw, &opened, 1);
	expect_call(1);
	weir_conn_reset(conn);
	raw_until(&raw, &lost, 1);
	drop_peer();
	raw_until(&raw, &opened, 2);
	assert_int_equal(raw.nmsgs, 0);
	expect_call(1);
}

static void negotiate__7_2_one_that_is_lost_while_it_asks_is_remade_without(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_AUTO, WEIR_RECONNECT_ON), r = {0};

	(void)state;
	words_put(&r, 6, m.w[0], 2, 3, 6, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	expect_call(2);
	weir_conn_reset(conn);
	raw_until(&raw, &lost, 1);
	drop_peer();
	m.n = 0;
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[3], 6); /* the requester sends its properties a second time */
	drop_peer();
	raw_until(&raw, &opened, 2);
	assert_int_equal(raw.nmsgs, 0);
	expect_call(1);
}

static void negotiate__version_1_says_nothing_of_it(void **state)
{
	(void)state;
	begin(WEIR_PROTOCOL_V1, WEIR_RECONNECT_OFF);
	raw_until(&raw, &opened, 1);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	expect_call(1);
}

static void requester__answers_what_asks_for_an_answer(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_V2, WEIR_RECONNECT_OFF), r = {0};

	(void)state;
	words_put(&r, 6, m.w[0], 2, 3, 6, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	r.n = m.n = 0;
	words_put(&r, 5, 9, 2, 3, 7, 0); /* RDMA2_REQPROP without properties */
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.n, 7);
	assert_int_equal(m.w[3], 8);
	r.n = m.n = 0;
	words_put(&r, 5, 10, 2, 3, 3, 0); /* no such procedure */
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[4], 4);
	r.n = m.n = 0;
	words_put(&r, 7, 11, 2, 3, 5, 0, 77, 0); /* an unknown operation */
	raw_send_words(&raw, &r);
	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[4], 5);
	expect_call(2);
}

static void requester__6_2_4_an_error_ends_the_call(void **state)
{
	struct words m = begin(WEIR_PROTOCOL_V2, WEIR_RECONNECT_OFF), r = {0};
	struct engine_counters stats = {0};

	(void)state;
	words_put(&r, 6, m.w[0], 2, 3, 6, 0, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
	for (uint32_t err = 2; err <= 6; err++) {
		struct weir_call_params params;
		struct outcome outcome;

		outcome_init(&outcome, &pair);
		params = pair_params(PAIR_NULL, &outcome);
		assert_int_equal(weir_call_submit(weir_call_begin(conn, &params)), 0);
		r.n = m.n = 0;
		raw_recv_words(&raw, &m);
		words_put(&r, 7, m.w[0], 2, 3, 4, err, 1, 2);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.status, -EREMOTEIO);
		assert_int_equal(outcome.rdma_err, err);
	}
	test_counters(pair.client, &stats);
	assert_int_equal(stats.errors_received, 5);
	expect_call(2);
}

static int run(void)
{
#define T(name) cmocka_unit_test_teardown(name, teardown)
	const struct CMUnitTest tests[] = {
		T(negotiate__7_2_err_vers_leads_to_version_1_on_the_same_connection),
		T(negotiate__version_2_alone_ends_the_connection),
		T(negotiate__neither_version_ends_the_connection),
		T(negotiate__7_1_connprop_grants_and_opens),
		T(negotiate__without_properties_it_is_version_2_all_the_same),
		T(negotiate__5_1_1_properties_that_are_none_are_told_so),
		T(negotiate__7_2_silence_is_version_1),
		T(negotiate__version_2_alone_waits_for_a_slow_responder),
		T(negotiate__7_2_one_that_was_refused_is_remade_without_asking),
		T(negotiate__7_2_one_that_is_lost_while_it_asks_is_remade_without),
		T(negotiate__version_1_says_nothing_of_it),
		T(requester__answers_what_asks_for_an_answer),
		T(requester__6_2_4_an_error_ends_the_call),
	};

	return cmocka_run_group_tests_name("negotiate", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
