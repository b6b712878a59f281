/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a requester with message continuation, a part of the extension (rtrext-01 sections 4,
 * 5.4 and 9). The responder is a raw peer, which sends what the test composes.
 */
#include "pair_main.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "raw.h"
#include "requester.h"

#define CALL	0u
#define REPLY	1u
#define XMTREQ	5u
#define XMTRESP 6u
#define XMTCONT 7u
#define REPTERR 8u

static struct pair pair;
static struct raw raw;
static int opened, closed;
static struct weir_conn *conn;
static struct outcome outcome;

static void on_event(struct weir_conn *c, enum weir_conn_event event, int error, void *arg)
{
	(void)c;
	(void)error;
	(void)arg;
	opened += event == WEIR_CONN_OPEN;
	closed += event == WEIR_CONN_CLOSED;
}

static void quick(struct weir_profile *profile)
{
	profile->connect_timeout_ms = 4000;
	profile->transmissions = 4;
}

/*
 * Connects to a raw responder that grants 'grant' credits. The responder accepts calls of up to 3
 * transmissions, and sends replies of up to 4. 'rtrs' has a bit for each part of the extension that
 * it supports.
 */
static void begin(uint32_t grant, uint32_t rtrs)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};
	struct words m = {0}, r = {0};
	char addr[80];

	opened = closed = 0;
	pair_client_protocol = WEIR_PROTOCOL_V2;
	pair_extension = WEIR_EXTENSION_CONTINUATION;
	pair_start(&pair, quick);
	raw_open(&raw, &pair);
	pair_new_addr(addr, sizeof(addr));
	raw_listen(&raw, addr);
	assert_int_equal(weir_connect(pair.client, addr, &options, &conn), 0);
	raw_recv_words(&raw, &m);
	raw_until(&raw, &raw.established, 1);
	assert_int_equal(m.w[3], 6);
	assert_int_equal(m.w[4], 5);
	assert_true(m.n * 4 <= 1024);
	words_put(&r, 5, m.w[0], 2, grant, 6, 3);
	words_put(&r, 9, 3, 4, rtrs, 5, 4, 3, 6, 4, 4);
	words_put(&r, 2, 1, 7);
	raw_send_words(&raw, &r);
	raw_until(&raw, &opened, 1);
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static struct engine_counters stats(void)
{
	return pair_stats(pair.client);
}

static void check_opaque(struct outcome *o, struct weir_call *call,
			 const struct weir_result *result)
{
	const void *data;
	uint32_t len;

	assert_int_equal(result->status, 0);
	assert_int_equal(weir_result_opaque(call, result, 0, &data, 65536, &len), 0);
	assert_int_equal(len, o->bytes);
	for (uint32_t i = 0; i < len / 4; i++)
		assert_int_equal(be32toh(((const uint32_t *)data)[i]), i);
}

/*
 * Submits an ECHO with 'arg_bytes' bytes of arguments and at most 'result_bytes' bytes of results.
 */
static void call(uint32_t arg_bytes, uint32_t result_bytes)
{
	struct weir_call_params params;
	struct weir_call *c;
	uint8_t *at;

	outcome_init(&outcome, &pair);
	params = pair_params(PAIR_ECHO, &outcome);
	params.args_max_bytes = arg_bytes + 8;
	params.results_max_bytes = result_bytes;
	c = weir_call_begin(conn, &params);
	assert_non_null(c);
	weir_xdr_put_u32(weir_call_args(c), arg_bytes);
	at = weir_xdr_reserve(weir_call_args(c), arg_bytes);
	for (uint32_t i = 0; i < arg_bytes; i++)
		at[i] = pair_byte(i);
	assert_int_equal(weir_call_submit(c), 0);
}

/*
 * Receives the 'count' transmissions of a call and checks them. 'rsbuf' is the number of
 * transmissions that the call must reserve for its reply. Returns the XID.
 */
static uint32_t expect_call(uint32_t base, uint32_t count, uint32_t rsbuf)
{
	struct words m = {0};
	uint32_t xid = 0, bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i == 0 ? 12 : 10;

		m.n = 0;
		raw_recv_words(&raw, &m);
		xid = i == 0 ? m.w[0] : xid;
		assert_int_equal(m.w[0], xid);
		assert_int_equal(m.w[1], 2);
		assert_int_equal(m.w[2], 16);
		assert_int_equal(m.w[3], 5);
		assert_int_equal(m.w[4], CALL);
		if (i == 0) {
			assert_int_equal(m.w[5], base);
			assert_int_equal(m.w[6], 20);
			assert_int_equal(m.w[7], 0);
			assert_int_equal(m.w[8], 0);
			assert_int_equal(m.w[9], count);
			assert_int_equal(m.w[10], rsbuf);
			assert_int_equal(m.w[12], xid);
			assert_int_equal(m.w[13], CALL);
			bytes = 44 + m.w[22];
			bytes += (0u - bytes) & 3;
		} else {
			assert_int_equal(m.w[5], base + 2);
			assert_int_equal(m.w[7], i);
			assert_int_equal(m.w[8], base);
		}
		assert_int_equal(m.w[at - 1], 4 * (m.n - at));
		assert_true(i + 1 == count || m.n * 4 == 4096);
		bytes -= m.w[at - 1];
	}
	assert_int_equal(bytes, 0);
	return xid;
}

/*
 * Receives the call that was sent by the extension again, by the base protocol. 'is_long' says
 * whether it must be a Long Call.
 */
static void expect_base(uint32_t xid, bool is_long)
{
	struct words m = {0};

	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[0], xid);
	assert_int_equal(m.w[3], is_long ? 1 : 0);
}

static struct words xmtresp(uint32_t xid, uint32_t count, uint32_t pslen)
{
	struct words r = {0};

	words_put(&r, 10, xid, 2, 16, 5, REPLY, XMTRESP, 12, 0, count, pslen);
	return r;
}

static struct words xmtcont(uint32_t xid, uint32_t xnum, uint32_t pslen)
{
	struct words r = {0};

	words_put(&r, 10, xid, 2, 16, 5, REPLY, XMTCONT, 12, xnum, XMTRESP, pslen);
	return r;
}

static void put_results(struct words *r, uint32_t xid, uint32_t words)
{
	words_put(r, 7, xid, 1, 0, 0, 0, 0, words * 4);
}

/* Receives a Report Error from the requester, and checks its members. */
static void expect_report(uint32_t xid, uint32_t seq, uint32_t err, uint32_t first, uint32_t second)
{
	struct words m = {0};
	uint32_t at;

	raw_recv_words(&raw, &m);
	assert_int_equal(m.w[0], xid);
	assert_int_equal(m.w[4], CALL);
	assert_int_equal(m.w[5], REPTERR);
	assert_int_equal(m.w[7], xid);
	assert_int_equal(m.w[8], REPLY);
	assert_int_equal(m.w[9], seq);
	at = m.w[10] ? 14 : 11;
	assert_int_equal(m.w[at], err);
	if (m.n == at + 1)
		return;
	assert_int_equal(m.w[at + 1], first);
	assert_int_equal(m.w[at + 2], second);
}

static void expect_idle(void)
{
	const struct requester *req = requester_of(conn);

	raw_settle(&raw);
	assert_int_equal(req->credits.in_flight, 0);
	assert_int_equal(req->reply_reserved, 0);
	assert_int_equal(pair.client->bulk_pool->in_use, 0);
	assert_int_equal(pair.client->long_pool->in_use, 0);
	/* the buffer of zeros that the engine holds */
	assert_int_equal(pair.client->send_pool->in_use, 1);
	assert_int_equal(conn->nrecvs, 16 + 2 + 2 + 16);
}

static void request__9_2_as_many_transmissions_as_it_takes(void **state)
{
	struct words r;
	uint32_t xid;

	(void)state;
	begin(16, 7);
	for (uint32_t count = 2; count <= 3; count++) {
		/* fills the last transmission up to its last byte */
		call(count * 4056 - 8 - 44, 100);
		xid = expect_call(XMTREQ, count, 1);
		assert_int_equal(requester_of(conn)->credits.in_flight, count);
		r = xmtresp(xid, 1, 28);
		put_results(&r, xid, 0);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
		expect_idle();
	}
	assert_int_equal(stats().continued_calls, 2);
	/* The arguments have one word more than the responder accepts. */
	call(3 * 4056 - 4 - 44, 100);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 1);
	assert_int_equal(stats().fallbacks_limits, 1);
}

static void reply__9_3_sections_are_concatenated(void **state)
{
	struct words r;
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(8, 12000);
	xid = expect_call(XMTREQ, 1, 3);
	assert_int_equal(requester_of(conn)->reply_reserved, 3);
	outcome.bytes = 400;
	outcome.check = check_opaque;
	/* the RPC header, the length of the opaque, and the first word of the opaque */
	r = xmtresp(xid, 3, 8 + 24);
	put_results(&r, xid, 100);
	words_put(&r, 1, 0);
	raw_send_words(&raw, &r);
	r = xmtcont(xid, 1, 0);
	raw_send_words(&raw, &r);
	assert_int_equal(outcome.done, 0);
	r = xmtcont(xid, 2, 99 * 4);
	for (uint32_t i = 1; i < 100; i++)
		words_put(&r, 1, i);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(stats().groups_received, 1);
	expect_idle();
}

static void reply__by_the_base_protocol_is_taken(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(5000, 12000);
	xid = expect_call(XMTREQ, 2, 3);
	words_put(&r, 9, xid, 2, 16, 0, REPLY, 0, 0, 0, 0);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

static void reply__entries_without_directions_are_no_answer(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(5000, 100);
	xid = expect_call(XMTREQ, 2, 1);
	words_put(&r, 13, xid, 2, 16, 5, REPLY, XMTRESP, 24, 1, 0, 0, 6, 1, 28);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, -EBADMSG);
	expect_idle();
}

static void credits__4_3_too_few_of_them_lead_to_the_base_protocol(void **state)
{
	(void)state;
	begin(2, 7);
	call(9000, 100); /* so many arguments that the call needs three transmissions */
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 1);
	expect_base(be32toh(*(uint32_t *)(void *)raw.msgs[0]), true);
	assert_int_equal(stats().fallbacks_credits, 1);
	assert_int_equal(stats().long_calls, 1);
}

static void request__5_1_not_without_the_peers_support(void **state)
{
	(void)state;
	for (uint32_t rtrs = 0; rtrs < 7; rtrs++) {
		begin(16, rtrs);
		call(9000, 100);
		raw_settle(&raw);
		if ((rtrs & 5) == 5) {
			expect_call(XMTREQ, 3, 1);
		} else {
			expect_base(be32toh(*(uint32_t *)(void *)raw.msgs[0]), true);
			assert_int_equal(stats().fallbacks_limits, rtrs & 1);
		}
		if (rtrs < 6)
			teardown(state);
	}
}

static void report__5_4_of_a_call_has_it_sent_by_the_base_protocol(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(9000, 12000);
	xid = expect_call(XMTREQ, 3, 3);
	words_put(&r, 14, xid, 2, 16, 5, REPLY, REPTERR, 28, xid, CALL, 2, 0, 4, 1, 2);
	r.n = 14;
	raw_send_words(&raw, &r);
	expect_base(xid, true);
	assert_int_equal(requester_of(conn)->credits.in_flight, 1);
	assert_int_equal(requester_of(conn)->reply_reserved, 0);
	assert_int_equal(stats().fallbacks_refused, 1);
	/*
	 * The requester reports the error once. A later transmission is dropped, because the call
	 * has stopped using the extension.
	 */
	raw_send_words(&raw, &r);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	r.n = 0;
	words_put(&r, 9, xid, 2, 16, 0, REPLY, 0, 0, 0, 0);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

static void refusal__of_the_operation_tries_the_other_numbers_once(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	for (uint32_t i = 0; i < 3; i++) {
		call(5000, 100);
		if (i < 2) {
			xid = expect_call(i == 0 ? XMTREQ : 1, 2, 1);
			r.n = 0;
			words_put(&r, 5, xid, 2, 16, 4, 5); /* RDMA2_ERR_INVAL_OPTION */
			raw_send_words(&raw, &r);
			expect_base(xid, true);
		} else {
			raw_settle(&raw);
			xid = be32toh(*(uint32_t *)(void *)raw.msgs[0]);
			expect_base(xid, true);
		}
		r.n = 0;
		words_put(&r, 9, xid, 2, 16, 0, REPLY, 0, 0, 0, 0);
		put_results(&r, xid, 0);
		raw_send_words(&raw, &r);
		raw_until(&raw, &outcome.done, 1);
		assert_int_equal(outcome.status, 0);
	}
	assert_int_equal(stats().fallbacks_refused, 2);
	expect_idle();
}

static void reply__9_5_what_is_wrong_is_reported_and_the_call_goes_on(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(8, 12000);
	xid = expect_call(XMTREQ, 1, 3);
	r = xmtcont(xid, 1, 0);
	raw_send_words(&raw, &r);
	expect_report(xid, 1, 3, 0, 0);
	/* These are more messages than there would be receives for if the requester kept them. */
	for (uint32_t i = 0; i < 20; i++) {
		r = xmtresp(xid, 3, 28);
		put_results(&r, xid, 0);
		raw_send_words(&raw, &r);
		r = xmtcont(xid, 2, 0);
		raw_send_words(&raw, &r);
		expect_report(xid, 2, 4, 1, 2);
	}
	/*
	 * The requester also processes another message that arrives between the transmissions of a
	 * reply.
	 */
	r = xmtresp(xid, 2, 28);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	r.n = 0;
	words_put(&r, 5, xid + 1, 2, 16, 7, 0); /* RDMA2_REQPROP */
	raw_send_words(&raw, &r);
	expect_report(xid + 1, 0, 1, 5, 7);
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[3], 8);
	assert_int_equal(outcome.done, 0);
	r = xmtresp(xid, 1, 28);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(stats().groups_broken, 21);
	expect_idle();
}

/*
 * Checks a reply that arrived before the transmissions of another reply, and whose call must first
 * invalidate its keys. When it is processed later, it does not count as a message between those
 * transmissions.
 */
static void reply__one_that_waits_breaks_no_group(void **state)
{
	struct words r = {0}, m = {0};
	struct weir_call_params params;
	struct outcome read;
	struct weir_call *c;
	uint32_t xid;

	(void)state;
	begin(16, 7);
	outcome_init(&read, &pair);
	params = pair_params(PAIR_READ, &read);
	c = weir_call_begin(conn, &params);
	weir_xdr_put_u32(weir_call_args(c), 64);
	assert_int_equal(weir_call_result_item(c, pair.client_region, pair.client_mem, 64), 0);
	assert_int_equal(weir_call_submit(c), 0);
	call(8, 12000);
	raw_recv_words(&raw, &m);
	xid = expect_call(XMTREQ, 1, 3);
	words_put(&r, 9, m.w[0], 2, 16, 0, REPLY, 0, 0, 1, 1);
	words_put(&r, 6, m.w[9], 0, m.w[11], m.w[12], 0, 0);
	put_results(&r, m.w[0], 0);
	raw_send_words(&raw, &r);
	r = xmtresp(xid, 2, 28);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &read.done, 1);
	assert_int_equal(read.status, 0);
	r = xmtcont(xid, 1, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(stats().reports_sent, 0);
	expect_idle();
}

static void reply__5_2_more_than_is_reserved_ends_the_connection(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(8, 7000);
	xid = expect_call(XMTREQ, 1, 2);
	r = xmtresp(xid, 3, 28);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &closed, 1);
	assert_int_equal(outcome.done, 1);
	assert_int_equal(outcome.status, -EPROTO);
}

static void reply__one_that_does_not_end_gives_its_buffers_back(void **state)
{
	struct words r = {0};
	uint32_t xid;

	(void)state;
	begin(16, 7);
	call(8, 12000);
	xid = expect_call(XMTREQ, 1, 3);
	/*
	 * The timeout is this short only in this test. Over a device, transmissions of a group can
	 * arrive further apart than 20 ms.
	 */
	pair.client->profile.group_timeout_ms = 20;
	for (uint32_t i = 0; i < 30; i++) {
		r = xmtresp(xid, 3, 28);
		put_results(&r, xid, 0);
		raw_send_words(&raw, &r);
		for (uint32_t polls = 0; stats().group_timeouts == i && pair_wait(&pair, polls);
		     polls++)
			raw_poll(&raw);
		assert_int_equal(stats().group_timeouts, i + 1);
	}
	assert_int_equal(outcome.done, 0);
	r = xmtresp(xid, 1, 28);
	put_results(&r, xid, 0);
	raw_send_words(&raw, &r);
	raw_until(&raw, &outcome.done, 1);
	assert_int_equal(outcome.status, 0);
	expect_idle();
}

static int run(void)
{
#define T(name) cmocka_unit_test_teardown(name, teardown)
	const struct CMUnitTest tests[] = {
		T(request__9_2_as_many_transmissions_as_it_takes),
		T(reply__9_3_sections_are_concatenated),
		T(reply__by_the_base_protocol_is_taken),
		T(reply__entries_without_directions_are_no_answer),
		T(credits__4_3_too_few_of_them_lead_to_the_base_protocol),
		T(request__5_1_not_without_the_peers_support),
		T(report__5_4_of_a_call_has_it_sent_by_the_base_protocol),
		T(refusal__of_the_operation_tries_the_other_numbers_once),
		T(reply__9_5_what_is_wrong_is_reported_and_the_call_goes_on),
		T(reply__one_that_waits_breaks_no_group),
		T(reply__5_2_more_than_is_reserved_ends_the_connection),
		T(reply__one_that_does_not_end_gives_its_buffers_back),
	};

	return cmocka_run_group_tests_name("wire_rtr_requester", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
