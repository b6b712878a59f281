/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of decoding the operations of the extension, and of refusing invalid ones. */
#include "rtr_msg.h"

#define XMTREQ	5u
#define XMTRESP 6u

static void request_end(struct msg *m)
{
	msg_u32(m, 1); /* count */
	msg_u32(m, 1); /* rsbuf */
	msg_u32(m, 40);
	rtr_msg_end(m);
	rtr_msg_payload(m, RDMA1_CALL, 40);
}

static void item_exrw(struct msg *m, uint32_t disp, uint32_t length, uint32_t sum)
{
	msg_u32(m, disp);
	msg_u32(m, length);
	msg_u32(m, RTR_EXRW);
	msg_u32(m, 1);
	msg_segment(m, 7, sum, 0x1000);
}

static void vector_A__is_a_whole_call_without_placement(void **state)
{
	struct rtr_decoded d = rtr_msg_vector("A");

	(void)state;
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.op, RTR_XMTREQ);
	assert_int_equal(d.rtr.base, RTR_BASE_TABLE);
	assert_int_equal(d.rtr.direction, RDMA1_CALL);
	assert_int_equal(d.rtr.xid, 0x11);
	assert_int_equal(d.rtr.nitems | d.rtr.nsets, 0);
	assert_int_equal(d.rtr.count, 1);
	assert_int_equal(d.rtr.rsbuf, 1);
	assert_int_equal(d.rtr.pslen, 40);
	assert_int_equal(d.rtr.header_bytes, 48);
	assert_int_equal(d.rtr.room, 40);
	rtr_msg_free(&d);
}

static void vector_B__places_an_item_by_tbsn(void **state)
{
	struct rtr_decoded d = rtr_msg_vector("B");
	struct rtr_item item;
	struct rtr_iter it;
	uint32_t tbsn;

	(void)state;
	assert_int_equal(d.verdict, RDMA2_V_OK);
	rtr_items_begin(&d.rtr, &it);
	assert_true(rtr_items_next(&it, &item));
	assert_int_equal(item.disp, 96);
	assert_int_equal(item.length, 8192);
	assert_int_equal(item.type, RTR_TBSN);
	assert_int_equal(item.offset, 0);
	assert_int_equal(item.tbsns.left, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(rtr_tbsns_next(&item.tbsns, &tbsn));
		assert_int_equal(tbsn, i);
	}
	assert_false(rtr_tbsns_next(&item.tbsns, &tbsn));
	assert_false(rtr_items_next(&it, &item));
	assert_int_equal(d.rtr.pslen, 96);
	assert_int_equal(d.rtr.header_bytes, 76);
	assert_int_equal(d.rtr.item_bytes, 8192);
	rtr_msg_free(&d);
}

static void vector_C__directs_the_reply(void **state)
{
	struct rtr_decoded d = rtr_msg_vector("C");
	struct rtr_rsditem item;
	struct rdma1_segment seg;
	struct rtr_set set;
	struct rtr_iter it;

	(void)state;
	assert_int_equal(d.verdict, RDMA2_V_OK);
	rtr_sets_begin(&d.rtr, &it);
	assert_true(rtr_sets_next(&it, &set));
	assert_int_equal(set.begin, 40);
	assert_int_equal(set.end, 88);
	assert_true(rtr_rsditems_next(&set.items, &item));
	assert_int_equal(item.minlen, 512);
	assert_int_equal(item.type, RTR_BYSIZE);
	assert_int_equal(item.dsdov, 8192);
	assert_true(rdma1_segments_next(&item.segments, &seg));
	assert_int_equal(seg.handle, 0xabcd);
	assert_int_equal(seg.length, 65536);
	assert_int_equal(seg.offset, 0x1000);
	assert_false(rdma1_segments_next(&item.segments, &seg));
	assert_false(rtr_rsditems_next(&set.items, &item));
	assert_false(rtr_sets_next(&it, &set));
	assert_int_equal(d.rtr.rsbuf, 3);
	assert_int_equal(d.rtr.pslen, 88);
	assert_int_equal(d.rtr.write_bytes, 65536);
	rtr_msg_free(&d);
}

static void vector_E__says_what_was_not_placed(void **state)
{
	struct rtr_decoded d = rtr_msg_vector("E");
	struct rtr_item item;
	struct rtr_iter it;

	(void)state;
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.op, RTR_XMTRESP);
	assert_int_equal(d.rtr.direction, RDMA1_REPLY);
	rtr_items_begin(&d.rtr, &it);
	assert_true(rtr_items_next(&it, &item));
	assert_int_equal(item.type, RTR_TOOSHORT);
	assert_int_equal(item.disp, 44);
	assert_int_equal(item.length, 100);
	assert_true(rtr_items_next(&it, &item));
	assert_int_equal(item.type, RTR_NOITEM);
	assert_false(rtr_items_next(&it, &item));
	assert_int_equal(d.rtr.count, 1);
	assert_int_equal(d.rtr.pslen, 144);
	assert_int_equal(d.rtr.item_bytes, 0);
	rtr_msg_free(&d);
}

static void opttype__both_sets_of_numbers_are_taken(void **state)
{
	static const uint32_t unknown[] = {0, 9, 0xffffffff};
	struct rtr_decoded d;
	struct msg m;

	(void)state;
	for (uint32_t base = RTR_BASE_XDR; base <= RTR_BASE_TABLE; base += 4) {
		vector_read("A", &m);
		msg_set_u32(&m, 20, base);
		d = rtr_msg_decode(&m);
		assert_int_equal(d.verdict, RDMA2_V_OK);
		assert_int_equal(d.rtr.op, RTR_XMTREQ);
		assert_int_equal(d.rtr.base, base);
		rtr_msg_free(&d);
	}
	for (size_t i = 0; i < 3; i++) {
		msg_set_u32(&m, 20, unknown[i]);
		msg_set_u32(&m, 16, RDMA1_CALL);
		assert_rtr(&m, RDMA2_V_ERR_INVAL_OPTION, RDMA2_R_OPTION);
		msg_set_u32(&m, 16, RDMA1_REPLY);
		assert_rtr(&m, RDMA2_V_DROP, RDMA2_R_OPTION);
	}
}

/*
 * Checks each cell of Table 1 of rtrext-01: items of requests, directions of requests, and items of
 * replies.
 */
static void types__6_2_only_those_of_table_1_are_valid(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t type = 0; type <= 7; type++) {
		bool is_loc = type == RTR_EXRW || type == RTR_TBSN;
		bool is_direction = type >= RTR_EXRW && type <= RTR_BYSIZE;
		bool is_result = is_loc || type == RTR_TOOSHORT || type == RTR_NOITEM;

		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 1);
		msg_u32(&m, 44);
		msg_u32(&m, 0);
		msg_u32(&m, type);
		msg_u32(&m, 0);
		if (type == RTR_TBSN)
			msg_u32(&m, 0);
		msg_u32(&m, 0);
		request_end(&m);
		assert_rtr(&m, is_loc ? RDMA2_V_OK : RDMA2_V_ERR_BAD_XDR,
			   is_loc ? RDMA1_R_NONE : RDMA2_R_PLACEMENT_TYPE);

		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 40);
		msg_u32(&m, 80);
		msg_u32(&m, 1);
		msg_u32(&m, 0);
		msg_u32(&m, type);
		if (type == RTR_BYSIZE)
			msg_u32(&m, 0);
		if (type != RTR_TBSN)
			msg_u32(&m, 0);
		request_end(&m);
		assert_rtr(&m, is_direction ? RDMA2_V_OK : RDMA2_V_ERR_BAD_XDR,
			   is_direction ? RDMA1_R_NONE : RDMA2_R_PLACEMENT_TYPE);

		rtr_msg_begin(&m, RDMA1_REPLY, XMTRESP);
		msg_u32(&m, 1);
		msg_u32(&m, 44);
		msg_u32(&m, 0);
		msg_u32(&m, type);
		if (is_loc)
			msg_u32(&m, 0);
		if (type == RTR_TBSN)
			msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 24);
		rtr_msg_end(&m);
		rtr_msg_payload(&m, RDMA1_REPLY, 24);
		assert_rtr(&m, is_result ? RDMA2_V_OK : RDMA2_V_DROP,
			   is_result ? RDMA1_R_NONE : RDMA2_R_PLACEMENT_TYPE);
	}
}

static void items__lie_one_behind_the_other(void **state)
{
	static const struct {
		uint32_t first, length, second;
		uint32_t reason;
	} cases[] = {
		{40, 8, 48, RDMA1_R_NONE},
		{44, 5, 52, RDMA1_R_NONE},
		{44, 5, 48, RDMA2_R_ITEMS_ORDER}, /* in the padding of the first item */
		{44, 8, 44, RDMA2_R_ITEMS_ORDER},
		{44, 8, 40, RDMA2_R_ITEMS_ORDER},
		{46, 8, 60, RDMA2_R_ITEMS_ORDER},
		{36, 8, 60, RDMA2_R_ITEMS_ORDER}, /* in the RPC header */
		{44, 8, 0, RDMA2_R_ITEMS_ORDER},
		{0xfffffff8, 8, 48, RDMA1_R_TOO_LARGE},
		{44, 0, 44, RDMA2_R_ITEMS_ORDER},
		{44, 0, 48, RDMA1_R_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum rdma2_verdict verdict = RDMA2_V_ERR_BAD_XDR;
		struct msg m;

		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 2);
		item_exrw(&m, cases[i].first, cases[i].length, cases[i].length);
		item_exrw(&m, cases[i].second, 4, 4);
		msg_u32(&m, 0);
		request_end(&m);
		if (cases[i].reason == RDMA1_R_NONE)
			verdict = RDMA2_V_OK;
		if (cases[i].reason == RDMA1_R_TOO_LARGE)
			verdict = RDMA2_V_ERR_SYSTEM;
		assert_rtr(&m, verdict, cases[i].reason);
	}
}

/*
 * Checks lengths. A requester can send the roundup padding with an item (RFC 8166 section 3.4.4). A
 * responder states the bytes that it wrote.
 */
static void items__length_and_segments_agree(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t sum = 0; sum <= 12; sum++) {
		bool good = sum >= 5 && sum <= 8;

		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 1);
		item_exrw(&m, 44, 5, sum);
		msg_u32(&m, 0);
		request_end(&m);
		assert_rtr(&m, good ? RDMA2_V_OK : RDMA2_V_ERR_BAD_XDR,
			   good ? RDMA1_R_NONE : RDMA2_R_ITEM_LENGTH);

		rtr_msg_begin(&m, RDMA1_REPLY, XMTRESP);
		msg_u32(&m, 1);
		item_exrw(&m, 28, 5, sum);
		msg_u32(&m, 1);
		msg_u32(&m, 24);
		rtr_msg_end(&m);
		rtr_msg_payload(&m, RDMA1_REPLY, 24);
		assert_rtr(&m, sum == 5 ? RDMA2_V_OK : RDMA2_V_DROP,
			   sum == 5 ? RDMA1_R_NONE : RDMA2_R_ITEM_LENGTH);
	}
}

static void items__one_at_zero_is_the_whole_call(void **state)
{
	struct rtr_decoded d;
	struct msg m;

	(void)state;
	rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
	msg_u32(&m, 2);
	item_exrw(&m, 0, 200, 200);
	item_exrw(&m, 48, 40, 40);
	msg_u32(&m, 0);
	msg_u32(&m, 1);
	msg_u32(&m, 0);
	msg_u32(&m, 0);
	rtr_msg_end(&m);
	d = rtr_msg_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_true(d.rtr.is_whole);
	assert_int_equal(d.rtr.item_bytes, 240);
	assert_int_equal(d.rtr.rsbuf, 1); /* 0 counts as 1 */
	rtr_msg_free(&d);
}

static void ranges__7_4_are_disjoint_and_ascend(void **state)
{
	static const struct {
		uint32_t begin[2], end[2];
		uint32_t reason;
	} cases[] = {
		{{40, 60}, {60, 80}, RDMA1_R_NONE},
		{{40, 60}, {40, 60}, RDMA1_R_NONE}, /* empty ranges */
		{{0, 60}, {56, 0xffffffff}, RDMA1_R_NONE},
		{{40, 56}, {60, 80}, RDMA2_R_RANGES_ORDER},
		{{60, 40}, {80, 50}, RDMA2_R_RANGES_ORDER},
		{{40, 60}, {36, 80}, RDMA2_R_RANGES_ORDER},
		{{40, 60}, {60, 59}, RDMA2_R_RANGES_ORDER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool good = cases[i].reason == RDMA1_R_NONE;
		struct msg m;

		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 0);
		msg_u32(&m, 2);
		for (uint32_t n = 0; n < 2; n++) {
			msg_u32(&m, cases[i].begin[n]);
			msg_u32(&m, cases[i].end[n]);
			msg_u32(&m, 0);
		}
		request_end(&m);
		assert_rtr(&m, good ? RDMA2_V_OK : RDMA2_V_ERR_BAD_XDR, cases[i].reason);
	}
}

/*
 * Checks requests that exceed a limit. They are well formed, so that the answer is
 * RDMA2_ERR_SYSTEM.
 */
static void limits__bound_counts_and_bytes(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t n = 64; n <= 65; n++) {
		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, n);
		for (uint32_t i = 0; i < n; i++)
			item_exrw(&m, 44 + 8 * i, 4, 4);
		msg_u32(&m, 0);
		request_end(&m);
		assert_rtr(&m, n == 64 ? RDMA2_V_OK : RDMA2_V_ERR_SYSTEM,
			   n == 64 ? RDMA1_R_NONE : RDMA2_R_TOO_MANY_ITEMS);
	}
	for (uint32_t n = 32; n <= 33; n++) {
		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 0);
		msg_u32(&m, n);
		for (uint32_t i = 0; i < n; i++) {
			msg_u32(&m, i);
			msg_u32(&m, i + 1);
			msg_u32(&m, 0);
		}
		request_end(&m);
		assert_rtr(&m, n == 32 ? RDMA2_V_OK : RDMA2_V_ERR_SYSTEM,
			   n == 32 ? RDMA1_R_NONE : RDMA2_R_TOO_MANY_ITEMS);
	}
	for (uint32_t n = 32; n <= 33; n++) {
		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 0);
		msg_u32(&m, 80);
		msg_u32(&m, n);
		for (uint32_t i = 0; i < n; i++) {
			msg_u32(&m, 0);
			msg_u32(&m, RTR_TBSN);
		}
		request_end(&m);
		assert_rtr(&m, n == 32 ? RDMA2_V_OK : RDMA2_V_ERR_SYSTEM,
			   n == 32 ? RDMA1_R_NONE : RDMA2_R_TOO_MANY_ITEMS);
	}
	for (uint32_t n = 16; n <= 17; n++) {
		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 0);
		msg_u32(&m, 1);
		msg_u32(&m, 0);
		msg_u32(&m, 80);
		msg_u32(&m, 1);
		msg_u32(&m, 0);
		msg_u32(&m, RTR_CHOICE);
		msg_u32(&m, n);
		for (uint32_t i = 0; i < n; i++)
			msg_segment(&m, i, 8, 0);
		request_end(&m);
		assert_rtr(&m, n == 16 ? RDMA2_V_OK : RDMA2_V_ERR_SYSTEM,
			   n == 16 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_SEGMENTS);
	}
}

static void limits__sums_do_not_wrap(void **state)
{
	struct msg m;

	(void)state;
	rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
	msg_u32(&m, 0);
	msg_u32(&m, 1);
	msg_u32(&m, 0);
	msg_u32(&m, 80);
	msg_u32(&m, 1);
	msg_u32(&m, 0);
	msg_u32(&m, RTR_EXRW);
	msg_u32(&m, 2);
	msg_segment(&m, 1, 0x80000000, 0);
	msg_segment(&m, 1, 0x80000000, 0);
	request_end(&m);
	assert_rtr(&m, RDMA2_V_ERR_SYSTEM, RDMA1_R_TOO_LARGE);

	rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
	msg_u32(&m, 1);
	msg_u32(&m, 44);
	msg_u32(&m, 8);
	msg_u32(&m, RTR_EXRW);
	msg_u32(&m, 1);
	msg_segment(&m, 1, 8, UINT64_MAX - 7);
	msg_u32(&m, 0);
	request_end(&m);
	assert_rtr(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_SEGMENT_WRAP);

	rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
	msg_u32(&m, 1);
	item_exrw(&m, 44, 0xfffffffd, 0xfffffffd);
	msg_u32(&m, 0);
	request_end(&m);
	assert_rtr(&m, RDMA2_V_ERR_SYSTEM, RDMA1_R_TOO_LARGE);
}

/*
 * Checks counts that exceed the content of the message, including counts that overflow when they
 * are multiplied.
 */
static void counts__beyond_the_message_are_refused(void **state)
{
	static const uint32_t counts[] = {2, 0x10000001, 0x40000001, 0xffffffff};
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 1);
		msg_u32(&m, 44);
		msg_u32(&m, 4);
		msg_u32(&m, RTR_EXRW);
		msg_u32(&m, counts[i]);
		msg_segment(&m, 1, 4, 0);
		rtr_msg_end(&m);
		assert_rtr(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);

		rtr_msg_begin(&m, RDMA1_CALL, XMTREQ);
		msg_u32(&m, 1);
		msg_u32(&m, 44);
		msg_u32(&m, 4);
		msg_u32(&m, RTR_TBSN);
		msg_u32(&m, 0);
		msg_u32(&m, counts[i]);
		msg_u32(&m, 0);
		rtr_msg_end(&m);
		assert_rtr(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_TRUNCATED);
	}
}

static void optinfo__has_to_be_filled(void **state)
{
	static const char *const names[] = {"A", "B", "C", "E", "H"};
	struct msg m;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		uint32_t full;
		bool drops = i >= 3; /* of a reply, and a report */

		vector_read(names[i], &m);
		full = (uint32_t)m.buf[27];
		for (uint32_t bytes = 0; bytes < full; bytes++) {
			struct rtr_decoded d;

			msg_set_u32(&m, 24, bytes);
			d = rtr_msg_decode(&m);
			assert_int_equal(d.verdict, drops ? RDMA2_V_DROP : RDMA2_V_ERR_BAD_XDR);
			assert_int_equal(d.reason, RDMA1_R_TRUNCATED);
			assert_int_equal(d.rtr.header_bytes, 0);
			rtr_msg_free(&d);
		}
		for (uint32_t bytes = full + 1; bytes <= full + 4; bytes++) {
			msg_set_u32(&m, 24, bytes);
			m.len = 28 + full + 4;
			assert_rtr(&m, drops ? RDMA2_V_DROP : RDMA2_V_ERR_BAD_XDR,
				   RDMA2_R_TRAILING);
		}
	}
}

static void payload__is_the_message_that_the_header_says(void **state)
{
	struct msg m;

	(void)state;
	vector_read("A", &m);
	msg_set_u32(&m, 48, 0x12);
	assert_rtr(&m, RDMA2_V_ERR_BAD_XDR, RDMA1_R_XID_MISMATCH);
	vector_read("A", &m);
	msg_set_u32(&m, 52, RDMA1_REPLY);
	assert_rtr(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_DIRECTION_MISMATCH);
	vector_read("A", &m);
	msg_set_u32(&m, 16, RDMA1_REPLY); /* a request with the direction of replies */
	assert_rtr(&m, RDMA2_V_DROP, RDMA2_R_DIRECTION_MISMATCH);
	vector_read("E", &m);
	msg_set_u32(&m, 16, RDMA1_CALL);
	assert_rtr(&m, RDMA2_V_ERR_BAD_XDR, RDMA2_R_DIRECTION_MISMATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_A__is_a_whole_call_without_placement),
		cmocka_unit_test(vector_B__places_an_item_by_tbsn),
		cmocka_unit_test(vector_C__directs_the_reply),
		cmocka_unit_test(vector_E__says_what_was_not_placed),
		cmocka_unit_test(opttype__both_sets_of_numbers_are_taken),
		cmocka_unit_test(types__6_2_only_those_of_table_1_are_valid),
		cmocka_unit_test(items__lie_one_behind_the_other),
		cmocka_unit_test(items__length_and_segments_agree),
		cmocka_unit_test(items__one_at_zero_is_the_whole_call),
		cmocka_unit_test(ranges__7_4_are_disjoint_and_ascend),
		cmocka_unit_test(limits__bound_counts_and_bytes),
		cmocka_unit_test(limits__sums_do_not_wrap),
		cmocka_unit_test(counts__beyond_the_message_are_refused),
		cmocka_unit_test(optinfo__has_to_be_filled),
		cmocka_unit_test(payload__is_the_message_that_the_header_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
