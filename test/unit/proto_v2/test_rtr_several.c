/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of calls and replies with items and directions in several transmissions, which are encoded
 * and decoded again.
 */
#include <errno.h>

#include "rtr_msg.h"
#include "rtr_reduce.h"
#include "wire.h"

#define XID 0x1234u

/*
 * A call of 48 bytes of header and arguments, an item of 10 bytes, 4000 bytes, and an item of 8
 * bytes. Its results have 200 and 60 bytes.
 */
static uint8_t stream[4096];
static const struct piece pieces[] = {
	{.base = stream, .len = 48, .kind = PIECE_XDR},
	{.base = stream, .len = 10, .kind = PIECE_ITEM, .rkey = 0x11, .raddr = 0x1000},
	{.base = stream, .len = 4000, .kind = PIECE_XDR},
	{.base = stream, .len = 8, .kind = PIECE_ITEM, .rkey = 0x12, .raddr = 0x2000},
};
static const struct remote_buf targets[2] = {{0x21, 200, 0x3000}, {0x23, 60, 0x5000}};
static const struct reduce_result results[2] = {
	{.segments = targets, .nsegments = 1, .max_bytes = 200},
	{.segments = targets + 1, .nsegments = 1, .max_bytes = 60},
};
static const struct reduce_call_in in = {
	.pieces = pieces,
	.npieces = 4,
	.call_inline_bytes = 1024,
	.reply_inline_bytes = 1024,
	.reply_max_bytes = 3000,
	.results = results,
	.nresults = 2,
	.may_reduce = true,
};
static const struct reduce_call_plan plan = {
	.form = REDUCE_CHUNKED, .use_write_list = true, .reduced = 2 | 8, .inline_bytes = 4048};

/* A lead of 256 bytes and two targets of 64. */
static const struct rtr_buffer buffer = {
	.length = 384,
	.ngroups = 2,
	.is_consistent = true,
	.sum = 384,
	.groups = {{.count = 1, .length = 256}, {.count = 2, .length = 64, .flags = RTR_SEG_DDP}},
};

/* Encodes the call in as many transmissions as its payload needs. Results get directions of type
 * 'results_by'. The first transmission is in 'm'. */
static struct rtr_split encode(enum rtr_type results_by, uint32_t reply_count, struct msg *m)
{
	struct rtr_reduce_call call = {.in = &in,
				       .plan = &plan,
				       .min_bytes = 16,
				       .base = RTR_BASE_TABLE,
				       .results_by = results_by,
				       .dsdov = 200,
				       .own_targets = 5,
				       .reply_count = reply_count};
	struct rtr_split split = {plan.inline_bytes, rtr_reduce_call_header(&call),
				  in.call_inline_bytes};

	assert_int_equal(rtr_reduce_call_size(&call), 0); /* it does not fit in one */
	call.split = &split;
	call.count = rtr_split_count(&split);
	rtr_reduce_call_encode(&call, XID, 7, m->buf);
	memset(m->buf + split.header_bytes, 0, 1024 - split.header_bytes);
	wire_put_u32(m->buf + split.header_bytes, XID);
	m->len = 1024;
	return split;
}

static void call__counts_and_displacements_are_of_all_transmissions(void **state)
{
	struct rdma1_read_segment read;
	struct rtr_read_iter reads;
	struct rtr_split split;
	uint32_t offset, len;
	struct rtr_decoded d;
	struct rtr_iter it;
	struct rtr_set set;
	struct msg m;

	(void)state;
	split = encode(RTR_EXRW, 3, &m);
	d = rtr_msg_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.header_bytes, split.header_bytes);
	assert_int_equal(d.rtr.count, rtr_split_count(&split));
	assert_int_equal(d.rtr.count, 5);
	assert_int_equal(d.rtr.rsbuf, 3);
	rtr_split_part(&split, 0, &offset, &len);
	assert_int_equal(d.rtr.pslen, len);
	assert_int_equal(len, 1024 - split.header_bytes);
	rtr_reads_begin(&d.rtr, &reads);
	assert_true(rtr_reads_next(&reads, &read));
	assert_int_equal(read.position, 48);
	assert_true(rtr_reads_next(&reads, &read));
	assert_int_equal(read.position, 48 + 12 + 4000);
	rtr_sets_begin(&d.rtr, &it);
	assert_true(rtr_sets_next(&it, &set));
	assert_int_equal(set.end, 48 + 12 + 4000 + 8);
	rtr_msg_free(&d);
}

static void reply_max__is_what_one_transmission_has_to_hold(void **state)
{
	static const struct reduce_call_plan short_call = {.form = REDUCE_CHUNKED,
							   .use_write_list = true,
							   .reduced = 2 | 8,
							   .inline_bytes = 48};
	static const enum rtr_type types[] = {RTR_EXRW, RTR_TBSN, RTR_BYSIZE};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct reduce_call_in one = in;
		const struct rtr_reduce_call call = {.in = &one,
						     .plan = &short_call,
						     .min_bytes = 16,
						     .base = RTR_BASE_TABLE,
						     .results_by = types[i],
						     .own_targets = i == 0 ? 0 : 5};
		uint64_t payload;
		uint32_t header;

		rtr_reduce_reply_max(&call, &header, &payload);
		assert_int_equal(header, RTR_XMTRESP_SIZE + 2 * 32 + (i == 0 ? 0 : 20));
		assert_int_equal(payload, 3000 + 2 * 16);
		one.reply_inline_bytes = header + (uint32_t)payload;
		assert_int_equal(rtr_reduce_call_size(&call), rtr_reduce_call_header(&call));
		one.reply_inline_bytes--;
		assert_int_equal(rtr_reduce_call_size(&call), 0);
	}
}

/* ---- replies ---- */

struct reply {
	struct rtr_decoded call;
	struct piece pieces[5];
	struct reduce_xfer xfers[4];
	struct reduce_reply_plan plan;
	struct rtr_reduce_form form;
	struct rtr_decoded first; /* valid if rc is 0 */
	uint32_t item_bytes[2];
	int rc;
};

/*
 * Makes a reply with two results of these lengths. 28, 4 and 'rest' bytes of XDR precede, separate
 * and follow them. The reply has at most 'count_max' transmissions of 'inline_bytes'.
 */
static void make_reply(struct reply *r, enum rtr_type results_by, const uint32_t lens[2],
		       uint32_t rest, uint32_t inline_bytes, uint32_t count_max)
{
	static const uint32_t between[] = {28, 4};
	struct rtr_reduce_reply reply;
	struct msg m;

	encode(results_by, count_max, &m);
	r->call = rtr_msg_decode(&m);
	for (uint32_t i = 0; i < 2; i++) {
		r->pieces[2 * i] = (struct piece){
			.base = stream, .len = between[i], .kind = PIECE_XDR, .lkey = 1};
		r->pieces[2 * i + 1] = (struct piece){
			.base = stream, .len = lens[i], .kind = PIECE_ITEM, .lkey = 2};
	}
	r->pieces[4] = (struct piece){.base = stream, .len = rest, .kind = PIECE_XDR, .lkey = 1};
	reply = (struct rtr_reduce_reply){&r->call.rtr, r->pieces, 5, 40, inline_bytes, 9, true, 0,
					  &buffer,	count_max};
	r->rc = rtr_reduce_reply(&reply, m.buf, sizeof(m.buf), r->xfers, 4, &r->plan, &r->form);
	if (r->rc != 0)
		return;
	memset(m.buf + r->plan.header_bytes, 0, inline_bytes);
	wire_put_u32(m.buf + r->plan.header_bytes, XID);
	wire_put_u32(m.buf + r->plan.header_bytes + 4, RDMA1_REPLY);
	m.len = inline_bytes;
	r->first = rtr_msg_decode(&m);
	assert_int_equal(r->first.verdict, RDMA2_V_OK);
	assert_int_equal(r->first.rtr.count, r->form.count);
	assert_int_equal(r->first.rtr.header_bytes, r->plan.header_bytes);
	assert_true(rtr_reduce_results(&r->first.rtr, results, 2, results_by, r->item_bytes));
}

static void end_reply(struct reply *r)
{
	if (r->rc == 0)
		rtr_msg_free(&r->first);
	rtr_msg_free(&r->call);
}

/*
 * Checks that results are written, and that the rest of the reply uses as many transmissions as it
 * needs.
 */
static void reply__with_directions_is_continued(void **state)
{
	const uint32_t lens[2] = {200, 60};
	struct reply r;

	(void)state;
	for (uint32_t rest = 8; rest < 3800; rest += 4) {
		uint32_t room, offset, len, count;

		make_reply(&r, RTR_EXRW, lens, rest, 1024, 4);
		assert_int_equal(r.rc, 0);
		room = 1024 - r.plan.header_bytes;
		count = 32 + rest <= room ? 1 : 1 + (32 + rest - room + 983) / 984;
		assert_int_equal(r.form.count, count);
		assert_int_equal(r.plan.reduced, 2 | 8);
		assert_int_equal(r.plan.nxfers, 2);
		assert_int_equal(r.form.placed, 0);
		assert_int_equal(r.plan.inline_bytes, 32 + rest);
		rtr_split_part(&r.form.split, 0, &offset, &len);
		assert_int_equal(r.first.rtr.pslen, len);
		assert_int_equal(r.item_bytes[0], 200);
		end_reply(&r);
		/* One transmission fewer than the reply needs is not sufficient. */
		make_reply(&r, RTR_EXRW, lens, rest, 1024, count - 1);
		assert_int_equal(r.rc, count > 1 ? -EMSGSIZE : 0);
		end_reply(&r);
	}
}

static void expect_tbsns(const struct reply *r, uint32_t index, uint32_t first, uint32_t n)
{
	struct rtr_item item;
	struct rtr_iter it;
	uint32_t tbsn;

	rtr_items_begin(&r->first.rtr, &it);
	for (uint32_t i = 0; i <= index; i++)
		assert_true(rtr_items_next(&it, &item));
	assert_int_equal(item.type, RTR_TBSN);
	assert_int_equal(item.tbsns.left, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(rtr_tbsns_next(&item.tbsns, &tbsn));
		assert_int_equal(tbsn, first + i);
	}
}

/*
 * Checks results in the targets of all transmissions. The 200 bytes need four targets of two
 * transmissions, and the other result one target of the third.
 */
static void reply__7_results_take_targets_of_all_transmissions(void **state)
{
	const uint32_t lens[2] = {200, 60};
	struct rtr_received received[3];
	struct rtr_piece found[8];
	struct rtr_report report;
	struct reply r;

	(void)state;
	make_reply(&r, RTR_TBSN, lens, 8, 1024, 3);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.form.placed, 2 | 8);
	assert_int_equal(r.form.count, 3);
	assert_int_equal(r.form.split.send_bytes_max, 256);
	assert_int_equal(r.plan.nxfers, 0);
	expect_tbsns(&r, 0, 0, 4);
	expect_tbsns(&r, 1, 4, 1);
	for (uint32_t i = 0; i < 3; i++)
		received[i] = (struct rtr_received){384, 256};
	assert_int_equal(rtr_place(&r.first.rtr, &buffer, received, 3, found, 8, &report), 5);
	assert_int_equal(found[3].transmission, 1);
	assert_int_equal(found[3].at, 320);
	assert_int_equal(found[3].item_offset, 192);
	assert_int_equal(found[3].len, 8);
	assert_int_equal(found[4].transmission, 2);
	end_reply(&r);
	/* With two transmissions, the second result is in the message. With BYSIZE it is
	 * written. */
	make_reply(&r, RTR_TBSN, lens, 8, 1024, 2);
	assert_int_equal(r.form.placed, 2);
	assert_int_equal(r.form.count, 2);
	assert_int_equal(r.plan.inline_bytes, 32 + 60 + 8);
	end_reply(&r);
	make_reply(&r, RTR_BYSIZE, lens, 8, 1024, 2);
	assert_int_equal(r.form.placed, 2);
	assert_int_equal(r.plan.nxfers, 1);
	assert_int_equal(r.item_bytes[1], 60);
	end_reply(&r);
	/* With one transmission, the first result is in the message, which is then too long for the
	 * lead. */
	make_reply(&r, RTR_TBSN, lens, 8, 1024, 1);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.form.placed, 0);
	assert_int_equal(r.form.count, 1);
	end_reply(&r);
}

/*
 * Checks that the payload of each transmission ends before its targets. A longer payload uses more
 * transmissions, until nothing is placed.
 */
static void reply__payload_is_in_front_of_the_targets_of_each(void **state)
{
	const uint32_t lens[2] = {64, 60};
	struct reply r;

	(void)state;
	make_reply(&r, RTR_BYSIZE, lens, 400, 1024, 4);
	assert_int_equal(r.form.placed, 2 | 8);
	assert_int_equal(r.form.split.send_bytes_max, 256);
	assert_true(r.form.count >= 3);
	end_reply(&r);
	make_reply(&r, RTR_BYSIZE, lens, 400, 1024, 2);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.form.placed, 0);
	assert_int_equal(r.form.count, 1);
	assert_int_equal(r.plan.nxfers, 2);
	end_reply(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call__counts_and_displacements_are_of_all_transmissions),
		cmocka_unit_test(reply_max__is_what_one_transmission_has_to_hold),
		cmocka_unit_test(reply__with_directions_is_continued),
		cmocka_unit_test(reply__7_results_take_targets_of_all_transmissions),
		cmocka_unit_test(reply__payload_is_in_front_of_the_targets_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
