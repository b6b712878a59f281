/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls with results that belong to operations, each with a set of its own (rtrext-01
 * section 7.4). The calls are encoded and decoded again.
 */
#include "rtr_msg.h"
#include "rtr_reduce.h"
#include "wire.h"

#define XID 0x1234u

static uint8_t stream[64];
static const struct piece pieces[] = {
	{.base = stream, .len = 60, .kind = PIECE_XDR},
	{.base = stream, .len = 9, .kind = PIECE_ITEM, .rkey = 0x11, .raddr = 0x1000},
	{.base = stream, .len = 4, .kind = PIECE_XDR},
};
static const struct remote_buf target = {0x21, 64, 0x3000};
static const struct reduce_call_plan plan = {
	.form = REDUCE_CHUNKED, .use_write_list = true, .reduced = 2, .inline_bytes = 64};

static struct reduce_result result(uint32_t begin, uint32_t end)
{
	return (struct reduce_result){
		.segments = &target, .nsegments = 1, .max_bytes = 64, .begin = begin, .end = end};
}

static struct rtr_decoded make(const struct reduce_result *results, uint32_t n,
			       const struct reduce_call_plan *how, struct msg *m)
{
	const struct reduce_call_in in = {.pieces = pieces,
					  .npieces = 3,
					  .call_inline_bytes = 1000,
					  .reply_inline_bytes = 1000,
					  .results = results,
					  .nresults = n,
					  .may_reduce = true};
	const struct rtr_reduce_call call = {&in, how, 0, RTR_BASE_TABLE};
	uint32_t len = rtr_reduce_call_size(&call);
	struct rtr_decoded d;

	assert_true(len > 0);
	rtr_reduce_call_encode(&call, XID, 7, m->buf);
	memset(m->buf + len, 0, how->inline_bytes);
	wire_put_u32(m->buf + len, XID); /* the XID of the payload */
	m->len = len + how->inline_bytes;
	d = rtr_msg_decode(m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.header_bytes, len);
	return d;
}

static void sets__7_4_one_for_each_operation_with_results(void **state)
{
	/*
	 * One result precedes all operations, two belong to one operation, none to the next, and
	 * one to the last.
	 */
	const struct reduce_result results[] = {result(0, 44), result(44, 52), result(44, 52),
						result(56, 0)};
	static const struct {
		uint32_t begin, end, items;
	} expected[] = {{0, 44, 1}, {44, 52, 2}, {56, 60 + 12 + 4, 1}};
	struct rtr_set set;
	struct rtr_iter it;
	struct msg m;
	struct rtr_decoded d = make(results, 4, &plan, &m);

	(void)state;
	assert_int_equal(d.rtr.nsets, 3);
	rtr_sets_begin(&d.rtr, &it);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(rtr_sets_next(&it, &set));
		assert_int_equal(set.begin, expected[i].begin);
		assert_int_equal(set.end, expected[i].end);
		assert_int_equal(set.items.left, expected[i].items);
	}
	assert_int_equal(rtr_directions_count(&d.rtr), 4);
	rtr_msg_free(&d);
}

static void sets__one_where_no_result_is_of_an_operation(void **state)
{
	const struct reduce_result results[] = {result(0, 0), result(0, 0)};
	struct rtr_set set;
	struct rtr_iter it;
	struct msg m;
	struct rtr_decoded d = make(results, 2, &plan, &m);

	(void)state;
	assert_int_equal(d.rtr.nsets, 1);
	rtr_sets_begin(&d.rtr, &it);
	assert_true(rtr_sets_next(&it, &set));
	assert_int_equal(set.end, 60 + 12 + 4);
	assert_int_equal(set.items.left, 2);
	rtr_msg_free(&d);
}

static void sets__none_without_a_write_list(void **state)
{
	static const struct reduce_call_plan items = {
		.form = REDUCE_CHUNKED, .reduced = 2, .inline_bytes = 64};
	const struct reduce_result results[] = {result(0, 44), result(44, 0)};
	struct msg m;
	struct rtr_decoded d = make(results, 2, &items, &m);

	(void)state;
	assert_int_equal(d.rtr.nsets, 0);
	rtr_msg_free(&d);
}

/* Checks a result of the second operation, which must not use the memory of the first operation. */
static void reply__7_4_of_an_operation_takes_the_memory_of_that(void **state)
{
	const struct reduce_result results[] = {result(44, 52), result(52, 0)};
	const struct piece reply_pieces[] = {
		{.base = stream, .len = 28, .kind = PIECE_XDR, .lkey = 1},
		{.base = stream, .len = 40, .kind = PIECE_ITEM, .lkey = 2, .op = 12},
	};
	struct reduce_xfer xfers[2];
	struct reduce_reply_plan reply_plan;
	struct rtr_reduce_form form;
	struct msg m, r;
	struct rtr_decoded d = make(results, 2, &plan, &m), got;
	struct rtr_reduce_reply reply = {&d.rtr, reply_pieces, 2, 40, 1000, 9, true, 0};
	uint32_t item_bytes[2];

	(void)state;
	assert_int_equal(
		rtr_reduce_reply(&reply, r.buf, sizeof(r.buf), xfers, 2, &reply_plan, &form), 0);
	assert_int_equal(reply_plan.nxfers, 1);
	memset(r.buf + reply_plan.header_bytes, 0, reply_plan.inline_bytes);
	wire_put_u32(r.buf + reply_plan.header_bytes, XID);
	wire_put_u32(r.buf + reply_plan.header_bytes + 4, 1);
	r.len = reply_plan.header_bytes + reply_plan.inline_bytes;
	got = rtr_msg_decode(&r);
	assert_int_equal(got.verdict, RDMA2_V_OK);
	assert_true(rtr_reduce_results(&got.rtr, results, 2, RTR_EXRW, item_bytes));
	assert_int_equal(item_bytes[0], 0);
	assert_int_equal(item_bytes[1], 40);
	rtr_msg_free(&got);
	rtr_msg_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets__7_4_one_for_each_operation_with_results),
		cmocka_unit_test(sets__one_where_no_result_is_of_an_operation),
		cmocka_unit_test(sets__none_without_a_write_list),
		cmocka_unit_test(reply__7_4_of_an_operation_takes_the_memory_of_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
