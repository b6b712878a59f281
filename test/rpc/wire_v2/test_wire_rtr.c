/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a responder with message continuation, a part of the extension (rtrext-01 sections 4 and
 * 9): its answers to the transmissions that a raw requester sends.
 */
#include "pair_main.h"

#include <endian.h>
#include <string.h>

#include "engine.h"
#include "raw.h"

#define CALL	0u
#define REPLY	1u
#define XMTREQ	5u
#define XMTRESP 6u
#define XMTCONT 7u
#define REPTERR 8u

static struct pair pair;
static struct raw raw;

static void of_four(struct weir_profile *profile)
{
	profile->transmissions = 4;
}

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_AUTO;
	pair_extension = WEIR_EXTENSION_CONTINUATION;
	pair_start(&pair, of_four);
	raw_open(&raw, &pair);
	raw_connect(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_end(&raw);
	return 0;
}

static struct engine_counters stats(void)
{
	return pair_stats(pair.server);
}

static void put_rpc(struct words *m, uint32_t xid, uint32_t proc)
{
	words_put(m, 10, xid, 0, 2, PAIR_PROG, PAIR_VERS, proc, 0, 0, 0, 0);
}

static void put_fill(struct words *m, uint32_t nwords)
{
	for (uint32_t i = 0; i < nwords; i++)
		words_put(m, 1, 0x01020304 + i);
}

/*
 * Makes the header of a Transmit Request without items and directions: number 'count' of
 * transmissions of the call, number 'rsbuf' of transmissions reserved for the reply, and length
 * 'pslen' of the payload in this transmission. The caller adds the payload.
 */
static struct words xmtreq(uint32_t xid, uint32_t count, uint32_t rsbuf, uint32_t pslen)
{
	struct words m = {0};

	words_put(&m, 12, xid, 2, 8, 5, CALL, XMTREQ, 20, 0, 0, count, rsbuf, pslen);
	return m;
}

static struct words xmtcont(uint32_t xid, uint32_t direction, uint32_t xnum, uint32_t itype,
			    uint32_t pslen)
{
	struct words m = {0};

	words_put(&m, 10, xid, 2, 8, 5, direction, XMTCONT, 12, xnum, itype, pslen);
	return m;
}

static void expect_silence(void)
{
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	assert_int_equal(raw.disconnected, 0);
}

/* Checks that a call of one transmission is answered by one transmission. */
static void expect_alive(void)
{
	struct words m = xmtreq(0xa11fe, 1, 1, 40), r = {0};

	put_rpc(&m, 0xa11fe, PAIR_NULL);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 10 + 6);
	assert_int_equal(r.w[0], 0xa11fe);
	assert_int_equal(r.w[1], 2);
	assert_int_equal(r.w[2], 8);
	assert_int_equal(r.w[3], 5);
	assert_int_equal(r.w[4], REPLY);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[6], 12);
	assert_int_equal(r.w[7], 0);
	assert_int_equal(r.w[8], 1);
	assert_int_equal(r.w[9], 24);
	assert_int_equal(r.w[10], 0xa11fe);
	expect_silence();
}

/*
 * Receives a Report Error and checks its members. If 'lead' is set, the report names the first
 * transmission of the group. Otherwise it names transmission 'seq'.
 */
static void expect_report(uint32_t xid, uint32_t direction, uint32_t seq, bool lead, uint32_t err,
			  uint32_t n, const uint32_t *values)
{
	struct words r = {0};
	uint32_t at = 7;

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], xid);
	assert_int_equal(r.w[1], 2);
	assert_true(r.w[2] >= 1);
	assert_int_equal(r.w[3], 5);
	assert_int_equal(r.w[4], direction == CALL ? REPLY : CALL);
	assert_int_equal(r.w[5], REPTERR);
	assert_int_equal(r.w[6], (r.n - 7) * 4);
	assert_int_equal(r.w[at++], xid);
	assert_int_equal(r.w[at++], direction);
	assert_int_equal(r.w[at++], seq);
	assert_int_equal(r.w[at++], lead);
	if (lead) {
		assert_int_equal(r.w[at++], 9);
		assert_int_equal(r.w[at++], CALL);
		assert_int_equal(r.w[at++], 0);
	}
	assert_int_equal(r.w[at++], err);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(r.w[at++], values[i]);
	assert_int_equal(at, r.n);
}

/* Sends the first of the three transmissions of call 9, an ECHO. */
static void open_group(void)
{
	struct words m = xmtreq(9, 3, 1, 48);

	put_rpc(&m, 9, PAIR_ECHO);
	words_put(&m, 2, 40, 0x11111111);
	raw_send_words(&raw, &m);
}

static void expect_error(uint32_t xid, uint32_t err)
{
	struct words r = {0};

	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], xid);
	assert_int_equal(r.w[1], 2);
	assert_int_equal(r.w[3], 4);
	assert_int_equal(r.w[4], err);
}

/* ---- valid messages ---- */

static void receive__9_2_one_transmission_in_either_set_of_numbers(void **state)
{
	struct words m = xmtreq(5, 1, 0, 40), r = {0};

	(void)state;
	expect_alive();
	m.w[5] = htobe32(1);
	put_rpc(&m, 5, PAIR_NULL);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[5], 2);
	assert_int_equal(stats().continued_replies, 0);
}

static void receive__4_2_a_call_in_several_and_its_reply(void **state)
{
	struct words m = xmtreq(9, 4, 2, 48), r = {0}, c = {0};
	uint32_t words[1500];

	(void)state;
	/*
	 * The call is an ECHO of 6000 bytes. Some words are divided between two transmissions, and
	 * one transmission has no payload.
	 */
	for (uint32_t i = 0; i < 1500; i++)
		words[i] = i * 0x01010101u;
	put_rpc(&m, 9, PAIR_ECHO);
	words_put(&m, 2, 6000, words[0]);
	raw_send_words(&raw, &m);
	m = xmtcont(9, CALL, 1, XMTREQ, 3000);
	for (uint32_t i = 1; i <= 750; i++)
		words_put(&m, 1, words[i]);
	raw_send_words(&raw, &m);
	m = xmtcont(9, CALL, 2, XMTREQ, 0);
	raw_send_words(&raw, &m);
	assert_int_equal(pair.handled, 0);
	m = xmtcont(9, CALL, 3, XMTREQ, 4 * 749);
	for (uint32_t i = 751; i < 1500; i++)
		words_put(&m, 1, words[i]);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(pair.handled, 1);
	assert_int_equal(r.n * 4, 4096);
	assert_int_equal(r.w[5], XMTRESP);
	assert_int_equal(r.w[7], 0);
	assert_int_equal(r.w[8], 2);
	assert_int_equal(r.w[9], 4096 - 40);
	raw_recv_words(&raw, &c);
	assert_int_equal(c.w[0], 9);
	assert_int_equal(c.w[2], r.w[2]);
	assert_int_equal(c.w[3], 5);
	assert_int_equal(c.w[4], REPLY);
	assert_int_equal(c.w[5], XMTCONT);
	assert_int_equal(c.w[6], 12);
	assert_int_equal(c.w[7], 1);
	assert_int_equal(c.w[8], XMTRESP);
	assert_int_equal(c.w[9], 24 + 4 + 6000 - (4096 - 40));
	for (uint32_t i = 0; i < 1500; i++)
		assert_int_equal(i < 1007 ? r.w[17 + i] : c.w[10 + i - 1007], words[i]);
	assert_int_equal(stats().groups_received, 1);
	assert_int_equal(stats().continued_replies, 1);
	assert_int_equal(stats().bulk_copies, 0);
	expect_alive();
}

static void receive__as_many_groups_as_there_are_credits_at_a_time(void **state)
{
	(void)state;
	/*
	 * The program holds the requests. It has not decoded their arguments, so that their
	 * receives are held as well.
	 */
	for (uint32_t xid = 1; xid <= 4; xid++) {
		struct words m = xmtreq(xid, 4, 1, 44);

		put_rpc(&m, xid, PAIR_LATER);
		words_put(&m, 1, xid);
		raw_send_words(&raw, &m);
		for (uint32_t i = 1; i < 4; i++) {
			m = xmtcont(xid, CALL, i, XMTREQ, 4);
			put_fill(&m, 1);
			raw_send_words(&raw, &m);
		}
	}
	raw_settle(&raw);
	assert_int_equal(pair.nlater, 4);
	pair_release_later(&pair);
	raw_until(&raw, &raw.nmsgs, 4);
	for (uint32_t xid = 1; xid <= 4; xid++) {
		struct words r = {0};

		raw_recv_words(&raw, &r);
		assert_int_equal(r.w[16], r.w[0] + 1);
	}
	expect_alive();
}

static void reply__5_2_has_no_more_transmissions_than_are_reserved(void **state)
{
	struct words m = {0}, r = {0};

	(void)state;
	for (uint32_t rsbuf = 0; rsbuf <= 5; rsbuf++) {
		m = xmtreq(7, 1, rsbuf, 44);
		put_rpc(&m, 7, PAIR_BIG);
		words_put(&m, 1, 4 * 4056 - 28);
		raw_send_words(&raw, &m);
		r.n = 0;
		raw_recv_words(&raw, &r);
		if (rsbuf < 4) {
			assert_int_equal(r.w[3], 4);
			assert_int_equal(r.w[4], 3); /* RDMA2_ERR_REPLY_RESOURCE */
			assert_int_equal(r.w[5], 0);
			assert_int_equal(r.w[6], 4 * 4056);
			continue;
		}
		assert_int_equal(r.w[8], 4);
		for (uint32_t i = 1; i < 4; i++) {
			r.n = 0;
			raw_recv_words(&raw, &r);
			assert_int_equal(r.w[7], i);
			assert_int_equal(r.w[9], 4056);
		}
	}
	/*
	 * The peer reserves more transmissions for the reply than the responder's own limit. The
	 * responder uses no more than its limit.
	 */
	m = xmtreq(7, 1, 16, 44);
	put_rpc(&m, 7, PAIR_BIG);
	words_put(&m, 1, 4 * 4056 - 24);
	raw_send_words(&raw, &m);
	expect_error(7, 3);
	expect_alive();
}

static void properties__8_are_told(void **state)
{
	static const uint32_t expect[] = {5, 1, 4, 4096, 2, 4, 0, 3, 4,
					  7, 5, 4, 4,	 6, 4, 4, 1, 0x1f};
	struct words m = {0}, r = {0};

	(void)state;
	words_put(&m, 6, 11, 2, 5, 6, 0, 0);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.n, 4 + 18);
	for (uint32_t i = 0; i < 18; i++)
		assert_int_equal(r.w[4 + i], expect[i]);
	expect_alive();
}

/* ---- invalid messages ---- */

static void group__9_5_a_message_between_is_reported_and_dealt_with(void **state)
{
	const uint32_t badhmt[] = {5, 0}, badomt[] = {XMTCONT, XMTREQ};
	struct words m = {0}, r = {0};

	(void)state;
	open_group();
	words_put(&m, 9, 8, 2, 8, 0, CALL, 0, 0, 0, 0);
	put_rpc(&m, 8, PAIR_NULL);
	raw_send_words(&raw, &m);
	expect_report(8, CALL, 0, true, 1, 2, badhmt);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 8);
	assert_int_equal(r.w[3], 0);
	open_group();
	m = xmtreq(10, 1, 1, 40);
	put_rpc(&m, 10, PAIR_NULL);
	raw_send_words(&raw, &m);
	expect_report(10, CALL, 0, true, 2, 2, badomt);
	r.n = 0;
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 10);
	assert_int_equal(r.w[5], XMTRESP);
	/* After the report, the other transmissions of the group are discarded. */
	open_group();
	m = xmtcont(9, CALL, 2, XMTREQ, 0);
	raw_send_words(&raw, &m);
	expect_report(9, CALL, 2, true, 4, 2, (const uint32_t[]){1, 2});
	m = xmtcont(9, CALL, 1, XMTREQ, 0);
	raw_send_words(&raw, &m);
	expect_silence();
	assert_int_equal(pair.handled, 2);
	assert_int_equal(stats().groups_broken, 3);
	assert_int_equal(stats().reports_sent, 3);
	expect_alive();
}

static void group__9_5_each_error_has_its_values(void **state)
{
	static const struct {
		uint32_t xid, direction, xnum, itype, pslen;
		uint32_t err, nvalues, values[3];
	} wrong[] = {
		{9, CALL, 0, XMTREQ, 0, 4, 2, {1, 0}}, /* a repeated transmission */
		{9, CALL, 2, XMTREQ, 0, 4, 2, {1, 2}}, /* a transmission is missing */
		/* a transmission is missing, and this one is after the last */
		{9, CALL, 3, XMTREQ, 0, 4, 2, {1, 3}},
		{10, CALL, 1, XMTREQ, 0, 5, 2, {9, 10}}, /* the transmission of another call */
		{9, REPLY, 1, XMTREQ, 0, 3, 0, {0}},	 /* the transmission of a reply */
		/* the transmission of another operation */
		{9, CALL, 1, XMTRESP, 0, 2, 2, {5, 6}},
		/* the operation is numbered from another base */
		{9, CALL, 1, 1, 0, 2, 2, {5, 1}},
		{9, CALL, 1, XMTREQ, 4, 8, 3, {4, 0, 0}}, /* more payload than the message has */
		{9, CALL, 1, XMTREQ, 0xfffffffc, 8, 3, {0xfffffffc, 0, 0}},
		{9, CALL, 1, XMTREQ, 2, 8, 3, {2, 0, 0}}, /* a length that is not a multiple of 4 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct words m = xmtcont(wrong[i].xid, wrong[i].direction, wrong[i].xnum,
					 wrong[i].itype, wrong[i].pslen);

		open_group();
		raw_send_words(&raw, &m);
		expect_report(wrong[i].xid, wrong[i].direction, wrong[i].xnum, true, wrong[i].err,
			      wrong[i].nvalues, wrong[i].values);
		expect_alive();
	}
	assert_int_equal(pair.handled, sizeof(wrong) / sizeof(wrong[0]));
}

static void group__9_5_a_continuation_of_nothing(void **state)
{
	struct words m = xmtcont(9, CALL, 1, XMTREQ, 0);

	(void)state;
	raw_send_words(&raw, &m);
	expect_report(9, CALL, 1, false, 3, 0, NULL);
	expect_alive();
}

static void first__9_5_counts_and_payloads_are_bounded(void **state)
{
	static const struct {
		uint32_t count, pslen, err, nvalues, values[3];
	} wrong[] = {
		{0, 40, 4, 2, {1, 0}},
		{5, 40, 4, 2, {4, 5}},
		{0xffffffff, 40, 4, 2, {4, 0xffffffff}},
		{2, 44, 8, 3, {44, 8, 40}},
		{1, 0, 8, 3, {0, 8, 40}},
		{1, 38, 8, 3, {38, 8, 40}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct words m = xmtreq(9, wrong[i].count, 1, wrong[i].pslen);

		put_rpc(&m, 9, PAIR_NULL);
		raw_send_words(&raw, &m);
		expect_report(9, CALL, 0, false, wrong[i].err, wrong[i].nvalues, wrong[i].values);
		/* The next transmission of the group is discarded. */
		m = xmtcont(9, CALL, 1, XMTREQ, 0);
		raw_send_words(&raw, &m);
		expect_silence();
	}
	expect_alive();
}

/*
 * Checks a call whose whole payload must be read by RDMA Read, even if the call states more
 * transmissions. Such a call must use the base protocol, so that the extension refuses it.
 */
static void first__a_whole_call_is_for_the_base_protocol(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 2; count++) {
		struct words m = {0};

		words_put(&m, 20, 9, 2, 8, 5, CALL, XMTREQ, 52, 1, 0, 40, 1, 1, raw.mr.rkey, 40, 0,
			  0, 0, count, 1, 0);
		raw_send_words(&raw, &m);
		expect_error(9, 5);
		if (count == 1)
			continue;
		m = xmtcont(9, CALL, 1, XMTREQ, 0);
		raw_send_words(&raw, &m);
		expect_silence();
	}
	assert_int_equal(pair.handled, 0);
	expect_alive();
}

static void group__what_cannot_be_decoded_breaks_it(void **state)
{
	struct words m = {0}, r = {0};

	(void)state;
	open_group();
	/* the message ends before its header does */
	words_put(&m, 8, 9, 2, 8, 5, CALL, XMTCONT, 4, 1);
	raw_send_words(&raw, &m);
	expect_error(9, 2);
	m = xmtcont(9, CALL, 1, XMTREQ, 0);
	raw_send_words(&raw, &m);
	expect_silence();
	open_group();
	m.n = 0;
	words_put(&m, 7, 7, 1, 8, 0, 0, 0, 0); /* a message of version 1 */
	put_rpc(&m, 7, PAIR_NULL);
	raw_send_words(&raw, &m);
	raw_recv_words(&raw, &r);
	assert_int_equal(r.w[0], 7);
	assert_int_equal(r.w[1], 1);
	assert_int_equal(stats().groups_broken, 2);
	expect_alive();
}

static void group__one_that_does_not_end_gives_its_buffers_back(void **state)
{
	struct words m;

	(void)state;
	/*
	 * The timeout is this short only in this test. Over a device, transmissions of a group can
	 * arrive further apart than 20 ms.
	 */
	pair.server->profile.group_timeout_ms = 20;
	for (uint32_t i = 0; i < 30; i++) { /* more groups than there are receives */
		int before = (int)stats().group_timeouts;

		open_group();
		for (uint32_t polls = 0;
		     (int)stats().group_timeouts == before && pair_wait(&pair, polls); polls++)
			raw_poll(&raw);
		assert_int_equal(stats().group_timeouts, before + 1);
		m = xmtcont(9, CALL, 1, XMTREQ, 0);
		raw_send_words(&raw, &m);
		expect_silence();
	}
	assert_int_equal(pair.handled, 0);
	expect_alive();
}

static void group__ends_with_its_connection(void **state)
{
	(void)state;
	open_group();
	raw_settle(&raw);
	weir_conn_shutdown(pair.server_conn);
	raw_until(&raw, &pair.server_closed, 1);
	assert_int_equal(pair.server_close_error, 0);
	assert_int_equal(pair.server->recv_pool->in_use, pair_recvs_at_rest(&pair));
}

static void report__5_4_of_a_reply_ends_the_call(void **state)
{
	struct words m = {0};

	(void)state;
	words_put(&m, 12, 9, 2, 8, 5, CALL, REPTERR, 20, 9, REPLY, 1, 0, 3);
	raw_send_words(&raw, &m);
	expect_error(9, 6);
	m.w[8] = CALL; /* a report of an error in a call, which no requester sends */
	raw_send_words(&raw, &m);
	m.n = 0;
	/* No requester sends a Transmit Response either. */
	words_put(&m, 10, 9, 2, 8, 5, REPLY, XMTRESP, 12, 0, 1, 0);
	raw_send_words(&raw, &m);
	expect_silence();
	assert_int_equal(stats().reports_received, 2);
	expect_alive();
}

PAIR_SETUP_MORE(setup_more, setup)

static int run(void)
{
#define T(name)	   cmocka_unit_test_setup_teardown(name, setup, teardown)
#define MORE(name) cmocka_unit_test_setup_teardown(name, setup_more, teardown)
	const struct CMUnitTest tests[] = {
		T(receive__9_2_one_transmission_in_either_set_of_numbers),
		T(receive__4_2_a_call_in_several_and_its_reply),
		MORE(receive__as_many_groups_as_there_are_credits_at_a_time),
		T(reply__5_2_has_no_more_transmissions_than_are_reserved),
		T(properties__8_are_told),
		T(group__9_5_a_message_between_is_reported_and_dealt_with),
		T(group__9_5_each_error_has_its_values),
		T(group__9_5_a_continuation_of_nothing),
		T(first__9_5_counts_and_payloads_are_bounded),
		T(first__a_whole_call_is_for_the_base_protocol),
		T(group__what_cannot_be_decoded_breaks_it),
		T(group__one_that_does_not_end_gives_its_buffers_back),
		T(group__ends_with_its_connection),
		T(report__5_4_of_a_reply_ends_the_call),
	};

	return cmocka_run_group_tests_name("wire_rtr", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
