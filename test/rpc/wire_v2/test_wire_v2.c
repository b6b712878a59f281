/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a responder that speaks both versions: its answers to messages of version 2. */
#include "pair_main.h"

#include <string.h>

#include "raw.h"

static struct pair pair;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	pair_server_protocol = WEIR_PROTOCOL_AUTO;
	pair_start(&pair, NULL);
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

static void put_rpc(struct words *m, uint32_t xid, uint32_t proc)
{
	words_put(m, 10, xid, 0, 2, PAIR_PROG, PAIR_VERS, proc, 0, 0, 0, 0);
}

/*
 * Adds the fixed words of a transport header of version 2: XID, version, credits, procedure,
 * direction, and the handle to invalidate.
 */
static void put_fixed(struct words *m, uint32_t xid, uint32_t proc, uint32_t direction)
{
	words_put(m, 6, xid, 2, 8, proc, direction, 0);
}

static struct words exchange(const struct words *m)
{
	struct words r = {0};

	raw_send_words(&raw, m);
	raw_recv_words(&raw, &r);
	return r;
}

static void expect_alive(void)
{
	struct words m = {0}, r;

	put_fixed(&m, 0xa11fe, 0, 0);
	words_put(&m, 3, 0, 0, 0);
	put_rpc(&m, 0xa11fe, PAIR_NULL);
	r = exchange(&m);
	assert_int_equal(r.n, 9 + 6);
	assert_int_equal(r.w[0], 0xa11fe);
	assert_int_equal(r.w[1], 2);
	assert_int_equal(r.w[2], 8);
	assert_int_equal(r.w[3], 0);
	assert_int_equal(r.w[4], 1); /* REPLY */
	assert_int_equal(r.w[5], 0);
	assert_int_equal(r.w[9], 0xa11fe);
	assert_int_equal(r.w[10], 1);
	assert_int_equal(raw.nmsgs, 0);
	assert_int_equal(raw.disconnected, 0);
}

static void expect_error(const struct words *r, uint32_t xid, uint32_t vers, uint32_t err,
			 uint32_t n)
{
	assert_int_equal(r->n, n);
	assert_int_equal(r->w[0], xid);
	assert_int_equal(r->w[1], vers);
	assert_true(r->w[2] >= 1);
	assert_int_equal(r->w[3], 4);
	assert_int_equal(r->w[4], err);
	expect_alive();
}

static void receive__7_3_each_call_is_answered_in_its_version(void **state)
{
	struct words m = {0}, r;

	(void)state;
	expect_alive();
	words_put(&m, 7, 5, 1, 8, 0, 0, 0, 0);
	put_rpc(&m, 5, PAIR_NULL);
	r = exchange(&m);
	assert_int_equal(r.w[1], 1);
	assert_int_equal(r.n, 7 + 6);
	expect_alive();
}

static void receive__another_version_is_err_vers_with_the_range(void **state)
{
	struct words m = {0}, r;

	(void)state;
	words_put(&m, 7, 5, 3, 8, 0, 0, 0, 0);
	put_rpc(&m, 5, PAIR_NULL);
	r = exchange(&m);
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[6], 2);
	expect_error(&r, 5, 3, 1, 7);
}

static void receive__6_2_4_what_is_not_sound_has_its_error(void **state)
{
	struct words m = {0}, r;

	(void)state;
	put_fixed(&m, 6, 3, 0); /* no such procedure */
	r = exchange(&m);
	expect_error(&r, 6, 2, 4, 5);
	m.n = 0;
	put_fixed(&m, 7, 0, 0);
	words_put(&m, 3, 2, 0, 0); /* a boolean that is neither true nor false */
	r = exchange(&m);
	expect_error(&r, 7, 2, 2, 5);
	m.n = 0;
	words_put(&m, 7, 8, 2, 8, 5, 0, 77, 0); /* an unknown operation */
	r = exchange(&m);
	expect_error(&r, 8, 2, 5, 5);
	m.n = 0;
	put_fixed(&m, 9, 0, 0);
	words_put(&m, 3, 0, 0, 0);
	words_put(&m, 3, 9, 0, 2); /* the payload is not an RPC call */
	r = exchange(&m);
	expect_error(&r, 9, 2, 2, 5);
}

static void receive__what_flows_to_requesters_is_dropped(void **state)
{
	struct engine_counters stats = {0};
	struct words m = {0};

	(void)state;
	words_put(&m, 5, 1, 2, 8, 4, 2); /* RDMA2_ERROR, which is no call */
	raw_send_words(&raw, &m);
	m.n = 0;
	put_fixed(&m, 2, 0, 1); /* a reply */
	words_put(&m, 3, 0, 0, 0);
	words_put(&m, 6, 2, 1, 0, 0, 0, 0);
	raw_send_words(&raw, &m);
	m.n = 0;
	words_put(&m, 7, 3, 2, 8, 5, 1, 77, 0); /* a reply of an operation */
	raw_send_words(&raw, &m);
	m.n = 0;
	words_put(&m, 7, 4, 2, 8, 8, 0, 0, 0); /* RDMA2_RESPROP without a request for it */
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	test_counters(pair.server, &stats);
	assert_int_equal(stats.dropped, 4);
	expect_alive();
}

static void properties__5_3_1_connprop_brings_those_of_this_side_once(void **state)
{
	struct words m = {0}, r;

	(void)state;
	words_put(&m, 4, 11, 2, 5, 6);
	words_put(&m, 4, 1, 1, 4, 8192);
	words_put(&m, 2, 1, 1);
	r = exchange(&m);
	assert_int_equal(r.w[0], 11);
	assert_int_equal(r.w[1], 2);
	assert_int_equal(r.w[2], 5); /* the requested credits are granted */
	assert_int_equal(r.w[3], 6);
	assert_int_equal(r.w[4], 2);
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[7], 4096);
	assert_int_equal(r.w[8], 2);
	assert_int_equal(r.w[10], 0); /* reverse calls are not supported */
	assert_int_equal(r.w[11], 1);
	assert_int_equal(r.w[12], 3); /* bits that say that neither property can change */
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 0);
	expect_alive();
}

static void properties__5_3_3_what_is_asked_for_is_rejected(void **state)
{
	struct words m = {0}, r;

	(void)state;
	words_put(&m, 4, 12, 2, 5, 7);
	words_put(&m, 7, 2, 1, 4, 65536, 99, 0, 0);
	m.n--; /* the second property has no data */
	r = exchange(&m);
	assert_int_equal(r.n, 8);
	assert_int_equal(r.w[0], 12);
	assert_int_equal(r.w[3], 8);
	assert_int_equal(r.w[4], 0); /* neither property was accepted */
	assert_int_equal(r.w[5], 1);
	assert_int_equal(r.w[6], 3);
	assert_int_equal(r.w[7], 0);
	expect_alive();
}

static void properties__updprop_changes_what_replies_may_be(void **state)
{
	struct words m = {0};

	(void)state;
	expect_alive();
	assert_int_equal(weir_conn_send_inline(pair.server_conn), 4096);
	words_put(&m, 4, 13, 2, 5, 9);
	words_put(&m, 4, 1, 1, 4, 2048);
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(weir_conn_send_inline(pair.server_conn), 2048);
	words_put(&m, 1, 0); /* bytes after the set of properties */
	m.w[0] = m.w[1];
	raw_send_words(&raw, &m);
	raw_settle(&raw);
	assert_int_equal(raw.nmsgs, 1); /* RDMA2_ERR_BAD_XDR is the only answer */
}

/*
 * Checks a READ whose Write chunk of two segments, 1500 bytes long, is too short for the result.
 * The error names the segment that is too short, and the length that is needed.
 */
static void reply__6_2_4_too_little_room_names_the_segment(void **state)
{
	struct words m = {0}, r;

	(void)state;
	put_fixed(&m, 21, 0, 0);
	words_put(&m, 1, 0);
	words_put(&m, 2, 1, 2);
	words_put(&m, 4, raw.mr.rkey, 1000, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr);
	words_put(&m, 4, raw.mr.rkey, 500, (uint32_t)(raw.raddr >> 32), (uint32_t)raw.raddr + 1000);
	words_put(&m, 2, 0, 0);
	put_rpc(&m, 21, PAIR_READ);
	words_put(&m, 1, 3000);
	r = exchange(&m);
	assert_int_equal(r.w[5], 2);
	assert_int_equal(r.w[6], 2000);
	expect_error(&r, 21, 2, 3, 7);
	m.n = 0;
	put_fixed(&m, 22, 0, 0);
	words_put(&m, 3, 0, 0, 0);
	put_rpc(&m, 22, PAIR_BIG);
	words_put(&m, 1, 9000);
	r = exchange(&m);
	assert_int_equal(r.w[5], 0); /* the number of a segment that does not exist */
	assert_int_equal(r.w[6], 24 + 4 + 9000);
	expect_error(&r, 22, 2, 3, 7);
}

static int run(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(receive__7_3_each_call_is_answered_in_its_version),
		T(receive__another_version_is_err_vers_with_the_range),
		T(receive__6_2_4_what_is_not_sound_has_its_error),
		T(receive__what_flows_to_requesters_is_dropped),
		T(properties__5_3_1_connprop_brings_those_of_this_side_once),
		T(properties__5_3_3_what_is_asked_for_is_rejected),
		T(properties__updprop_changes_what_replies_may_be),
		T(reply__6_2_4_too_little_room_names_the_segment),
	};

	return cmocka_run_group_tests_name("wire_v2", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
