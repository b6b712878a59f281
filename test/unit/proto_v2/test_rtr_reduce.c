/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that calls and replies with items and directions are decoded as they were encoded. */
#include <errno.h>

#include "rtr_msg.h"
#include "rtr_reduce.h"
#include "wire.h"

#define XID 0x1234u

/* A call: 48 bytes of XDR, items of 10 and 8 bytes, 4 between; results of 100, 0 and 60. */
static uint8_t stream[64];
static const struct piece pieces[] = {
	{.base = stream, .len = 48, .kind = PIECE_XDR},
	{.base = stream, .len = 10, .kind = PIECE_ITEM, .rkey = 0x11, .raddr = 0x1000},
	{.base = stream, .len = 4, .kind = PIECE_XDR},
	{.base = stream, .len = 8, .kind = PIECE_ITEM, .rkey = 0x12, .raddr = 0x2000},
};
static const struct remote_buf targets[3] = {
	{0x21, 64, 0x3000}, {0x22, 36, 0x4000}, {0x23, 60, 0x5000}};
static const struct reduce_result results[3] = {
	{.segments = targets, .nsegments = 2, .max_bytes = 100},
	{.max_bytes = 20},
	{.segments = targets + 2, .nsegments = 1, .max_bytes = 60},
};

static struct reduce_call_in call_in(uint32_t call_inline, uint32_t reply_inline)
{
	return (struct reduce_call_in){
		.pieces = pieces,
		.npieces = 4,
		.call_inline_bytes = call_inline,
		.reply_inline_bytes = reply_inline,
		.reply_max_bytes = 100,
		.results = results,
		.nresults = 3,
		.may_reduce = true,
	};
}

/* A plan that moves both items out of the payload. */
static const struct reduce_call_plan both = {
	.form = REDUCE_CHUNKED, .use_write_list = true, .reduced = 2 | 8, .inline_bytes = 52};

static uint32_t encode(const struct reduce_call_in *in, struct msg *m)
{
	const struct rtr_reduce_call call = {in, &both, 16, RTR_BASE_TABLE};
	uint32_t len = rtr_reduce_call_size(&call);

	assert_true(len > 0);
	rtr_reduce_call_encode(&call, XID, 7, m->buf);
	memset(m->buf + len, 0, 52);
	wire_put_u32(m->buf + len, XID); /* the XID of the payload */
	m->len = len + 52;
	return len;
}

static void call__7_3_items_and_7_4_directions(void **state)
{
	struct reduce_call_in in = call_in(1000, 1000);
	struct rdma1_read_segment read;
	struct rtr_rsditem direction;
	struct rtr_read_iter reads;
	struct rdma1_segment seg;
	struct rtr_decoded d;
	struct rtr_set set;
	struct rtr_iter it;
	struct msg m;
	uint32_t len;

	(void)state;
	len = encode(&in, &m);
	d = rtr_msg_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.op, RTR_XMTREQ);
	assert_int_equal(d.rtr.header_bytes, len);
	assert_int_equal(d.rtr.pslen, 52);
	assert_int_equal(d.rtr.count, 1);
	assert_int_equal(d.rtr.nitems, 2);
	assert_int_equal(d.rtr.item_bytes, 18);
	rtr_reads_begin(&d.rtr, &reads);
	assert_true(rtr_reads_next(&reads, &read));
	assert_int_equal(read.position, 48);
	assert_int_equal(read.target.handle, 0x11);
	assert_int_equal(read.target.length, 10);
	assert_true(rtr_reads_next(&reads, &read));
	assert_int_equal(read.position, 48 + 12 + 4);
	assert_int_equal(read.target.offset, 0x2000);
	assert_false(rtr_reads_next(&reads, &read));
	rtr_sets_begin(&d.rtr, &it);
	assert_true(rtr_sets_next(&it, &set));
	assert_int_equal(set.begin, 0);
	assert_int_equal(set.end, 48 + 12 + 4 + 8);
	assert_int_equal(set.items.left, 3);
	assert_true(rtr_rsditems_next(&set.items, &direction));
	assert_int_equal(direction.type, RTR_EXRW);
	assert_int_equal(direction.minlen, 16);
	assert_int_equal(direction.segments.left, 2);
	assert_true(rtr_rsditems_next(&set.items, &direction));
	assert_int_equal(direction.minlen, UINT32_MAX); /* inline, whatever its length */
	assert_int_equal(direction.segments.left, 0);
	assert_true(rtr_rsditems_next(&set.items, &direction));
	assert_true(rdma1_segments_next(&direction.segments, &seg));
	assert_int_equal(seg.handle, 0x23);
	assert_int_equal(seg.length, 60);
	assert_int_equal(seg.offset, 0x5000);
	assert_false(rtr_sets_next(&it, &set));
	rtr_msg_free(&d);
}

static void call__handles_are_where_keys_stand(void **state)
{
	static const uint32_t keys[] = {0x11, 0x12, 0x21, 0x22, 0x23};
	struct reduce_call_in in = call_in(1000, 1000);
	uint8_t *handles[8];
	struct msg m;

	(void)state;
	encode(&in, &m);
	assert_int_equal(rtr_handles(m.buf, handles, 8), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(wire_get_u32(handles[i]), keys[i]);
	assert_int_equal(rtr_handles(m.buf, handles, 2), 2);
}

static void call__what_does_not_fit_is_another_ways(void **state)
{
	/* Header, 2 items of 32, a range, directions of 44, 12 and 28; entries of 48, 16 and 32,
	 * and 16, 20 and 16 bytes inline. */
	const uint32_t call_bytes = RTR_XMTREQ_SIZE + 64 + 12 + 84 + 52;
	const uint32_t reply_bytes = RTR_XMTRESP_SIZE + 100 + 96 + 52;

	(void)state;
	for (uint32_t lack = 0; lack < 4; lack++) {
		struct reduce_call_in in =
			call_in(call_bytes - (lack & 1), reply_bytes - (lack >> 1));
		const struct rtr_reduce_call call = {&in, &both, 16, RTR_BASE_TABLE};

		assert_int_equal(rtr_reduce_call_size(&call), lack ? 0 : call_bytes - 52);
	}
}

static void call__without_directions_results_are_in_the_reply(void **state)
{
	static const struct reduce_call_plan items = {
		.form = REDUCE_CHUNKED, .reduced = 2, .inline_bytes = 60};
	struct reduce_call_in in = call_in(1000, RTR_XMTRESP_SIZE + 100 + 100 + 20 + 60);
	const struct rtr_reduce_call call = {&in, &items, 16, RTR_BASE_XDR};
	struct rtr_decoded d;
	struct msg m;
	uint32_t len;

	(void)state;
	len = rtr_reduce_call_size(&call);
	assert_int_equal(len, RTR_XMTREQ_SIZE + 32);
	rtr_reduce_call_encode(&call, XID, 7, m.buf);
	memset(m.buf + len, 0, 60);
	wire_put_u32(m.buf + len, XID);
	m.len = len + 60;
	d = rtr_msg_decode(&m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.base, RTR_BASE_XDR);
	assert_int_equal(d.rtr.nsets, 0);
	rtr_msg_free(&d);
	in.reply_inline_bytes--;
	assert_int_equal(rtr_reduce_call_size(&call), 0);
}

/* ---- replies ---- */

/* A reply with three results to the call above: its parts, and what the requester decodes. */
struct reply {
	struct rtr_decoded call;
	struct piece pieces[6];
	struct reduce_xfer xfers[4];
	struct reduce_reply_plan plan;
	struct msg m;
	int rc;
	struct rtr_reduce_form form;
	uint32_t item_bytes[3];
};

static int reduce(struct reply *r, const struct rtr_reduce_reply *in)
{
	return rtr_reduce_reply(in, r->m.buf, sizeof(r->m.buf), r->xfers, 4, &r->plan, &r->form);
}

static void put_pieces(struct reply *r, const uint32_t lens[3])
{
	for (uint32_t i = 0; i < 3; i++) {
		r->pieces[2 * i] = (struct piece){
			.base = stream, .len = i == 0 ? 28 : 4, .kind = PIECE_XDR, .lkey = 1};
		r->pieces[2 * i + 1] = (struct piece){
			.base = stream, .len = lens[i], .kind = PIECE_ITEM, .lkey = 2};
	}
}

static void make_reply(struct reply *r, uint32_t first, uint32_t second, uint32_t third,
		       uint32_t inline_bytes)
{
	const uint32_t lens[] = {first, second, third};
	struct reduce_call_in in = call_in(1000, 1000);
	struct rtr_reduce_reply reply;

	encode(&in, &r->m);
	r->call = rtr_msg_decode(&r->m);
	put_pieces(r, lens);
	reply = (struct rtr_reduce_reply){&r->call.rtr, r->pieces, 6, 40, inline_bytes, 9, true, 0};
	r->rc = reduce(r, &reply);
}

static void end_reply(struct reply *r)
{
	rtr_msg_free(&r->call);
}

static bool read_reply(struct reply *r)
{
	struct rtr_decoded d;
	bool is_sound;

	memset(r->m.buf + r->plan.header_bytes, 0, r->plan.inline_bytes);
	wire_put_u32(r->m.buf + r->plan.header_bytes, XID);
	wire_put_u32(r->m.buf + r->plan.header_bytes + 4, RDMA1_REPLY);
	r->m.len = r->plan.header_bytes + r->plan.inline_bytes;
	d = rtr_msg_decode(&r->m);
	assert_int_equal(d.verdict, RDMA2_V_OK);
	assert_int_equal(d.rtr.op, RTR_XMTRESP);
	assert_int_equal(d.rtr.pslen, r->plan.inline_bytes);
	assert_int_equal(d.rtr.nitems, 3);
	is_sound = rtr_reduce_results(&d.rtr, results, 3, RTR_EXRW, r->item_bytes);
	rtr_msg_free(&d);
	return is_sound;
}

static void reply__7_4_an_entry_for_each_direction(void **state)
{
	struct reply r;

	(void)state;
	make_reply(&r, 70, 9, 3, 1000);
	assert_int_equal(r.rc, 0);
	/* 64 and 6 bytes are written. The second has no memory, the third is too short. */
	assert_int_equal(r.plan.reduced, 2);
	assert_int_equal(r.plan.inline_bytes, 28 + 4 + 12 + 4 + 4);
	assert_int_equal(r.plan.nxfers, 2);
	assert_int_equal(r.xfers[0].handle, 0x21);
	assert_int_equal(r.xfers[0].len, 64);
	assert_int_equal(r.xfers[1].handle, 0x22);
	assert_int_equal(r.xfers[1].len, 6);
	assert_int_equal(r.xfers[1].offset, 0x4000);
	assert_ptr_equal(r.xfers[1].local, stream + 64);
	assert_true(read_reply(&r));
	assert_int_equal(r.item_bytes[0], 70);
	assert_int_equal(r.item_bytes[1], RTR_REDUCE_INLINE);
	assert_int_equal(r.item_bytes[2], RTR_REDUCE_INLINE);
	end_reply(&r);
}

static void reply__what_is_not_there_is_noitem(void **state)
{
	struct rtr_reduce_reply in;
	struct reply r;

	(void)state;
	make_reply(&r, 70, 9, 60, 1000);
	assert_int_equal(r.rc, 0);
	r.pieces[1].lkey = 0;
	r.pieces[1].len = 0;
	/* The third result is missing in the reply. */
	in = (struct rtr_reduce_reply){&r.call.rtr, r.pieces, 4, 40, 1000, 9, true, 0};
	assert_int_equal(reduce(&r, &in), 0);
	assert_int_equal(r.plan.nxfers, 0);
	assert_true(read_reply(&r));
	assert_int_equal(r.item_bytes[0], 0);
	assert_int_equal(r.item_bytes[1], RTR_REDUCE_INLINE);
	assert_int_equal(r.item_bytes[2], 0);
	/* If nothing may be moved out of the payload, all results are inline. */
	in.may_reduce = false;
	in.npieces = 6;
	r.pieces[1].lkey = 2;
	assert_int_equal(reduce(&r, &in), 0);
	assert_int_equal(r.plan.reduced, 0);
	end_reply(&r);
}

static void reply__a_range_is_for_its_operations(void **state)
{
	struct rtr_reduce_reply in;
	struct reply r;

	(void)state;
	make_reply(&r, 70, 9, 60, 1000);
	in = (struct rtr_reduce_reply){&r.call.rtr, r.pieces, 6, 40, 1000, 9, true, 0};
	/* The call's range ends at 72. A result that begins after it has no direction. */
	r.pieces[1].op = 72 - 40;
	r.pieces[3].op = 71 - 40;
	assert_int_equal(reduce(&r, &in), 0);
	/* The second, of 9 bytes, is too short for the first direction. The third has none. */
	assert_int_equal(r.plan.nxfers, 0);
	assert_true(read_reply(&r));
	assert_int_equal(r.item_bytes[0], RTR_REDUCE_INLINE);
	assert_int_equal(r.item_bytes[1], RTR_REDUCE_INLINE);
	assert_int_equal(r.item_bytes[2], 0);
	end_reply(&r);
}

static void reply__what_does_not_fit_is_refused(void **state)
{
	struct rtr_reduce_reply in;
	struct reduce_xfer xfer;
	struct reply r;
	uint32_t bytes;

	(void)state;
	make_reply(&r, 101, 9, 60, 1000); /* more than the direction's memory */
	assert_int_equal(r.rc, -EMSGSIZE);
	end_reply(&r);
	make_reply(&r, 70, 9, 60, 1000);
	bytes = r.plan.header_bytes + r.plan.inline_bytes;
	in = (struct rtr_reduce_reply){&r.call.rtr, r.pieces, 6, 40, bytes, 9, true, 0};
	assert_int_equal(reduce(&r, &in), 0);
	bytes = r.plan.header_bytes - 4;
	r.rc = rtr_reduce_reply(&in, r.m.buf, bytes, r.xfers, 4, &r.plan, &r.form);
	assert_int_equal(r.rc, -ENOSPC);
	in.inline_bytes--;
	assert_int_equal(reduce(&r, &in), -EMSGSIZE);
	/* Only the last of three Writes is returned. */
	in.inline_bytes++;
	in.first_xfer = 2;
	r.rc = rtr_reduce_reply(&in, r.m.buf, sizeof(r.m.buf), &xfer, 1, &r.plan, &r.form);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.plan.nxfers, 3);
	assert_int_equal(xfer.handle, 0x23);
	r.pieces[0].len = 27;
	assert_int_equal(reduce(&r, &in), -EINVAL);
	r.pieces[0].len = UINT32_MAX - 3;
	assert_int_equal(reduce(&r, &in), -EINVAL);
	/* With its padding, the item is longer than 32 bits can state. */
	r.pieces[0].len = 28;
	r.pieces[1].len = UINT32_MAX - 1;
	assert_int_equal(reduce(&r, &in), -EINVAL);
	in.npieces = REDUCE_PIECES_MAX + 1;
	assert_int_equal(reduce(&r, &in), -EINVAL);
	end_reply(&r);
}

/* The first entry: displacement, length, type, count; handle, length, offset of two segments. */
static void result__wrong_answers_are_told(void **state)
{
	static const struct {
		uint32_t word, value;
		bool is_sound;
	} cases[] = {
		{8, 28, true},	 {11, 2, true},	    {12, 0x22, false},	   {15, 0x3004, false},
		{13, 65, false}, {16, 0x21, false}, {10, RTR_TBSN, false},
	};
	struct rtr_header rtr;
	uint32_t item_bytes[3];
	struct reply r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_reply(&r, 70, 9, 60, 1000);
		wire_put_u32(r.m.buf + 4 * cases[i].word, cases[i].value);
		rtr = (struct rtr_header){.op = RTR_XMTRESP, .nitems = 1, .items = r.m.buf + 32};
		assert_int_equal(rtr_reduce_results(&rtr, results, 1, RTR_EXRW, item_bytes),
				 cases[i].is_sound);
		end_reply(&r);
	}
	/* The reply has more entries than there are directions, or fewer. */
	make_reply(&r, 70, 9, 60, 1000);
	rtr = (struct rtr_header){.op = RTR_XMTRESP, .nitems = 2, .items = r.m.buf + 32};
	assert_false(rtr_reduce_results(&rtr, results, 1, RTR_EXRW, item_bytes));
	assert_false(rtr_reduce_results(&rtr, results, 3, RTR_EXRW, item_bytes));
	/* The reply has a hole: data are in the second segment, although the first is not full. */
	wire_put_u32(r.m.buf + 4 * 13, 60);
	wire_put_u32(r.m.buf + 4 * 17, 10);
	rtr.nitems = 1;
	assert_false(rtr_reduce_results(&rtr, results, 1, RTR_EXRW, item_bytes));
	/* The reply has one segment more than was offered. */
	assert_false(rtr_reduce_results(&rtr, results + 2, 1, RTR_EXRW, item_bytes));
	end_reply(&r);
}

/* Checks that no segment has data after a segment that is not full, whatever precedes both. */
static void result__a_hole_in_a_later_segment_is_told(void **state)
{
	static const struct reduce_result three = {targets, 3, .max_bytes = 160};
	struct rtr_header rtr;
	uint32_t item_bytes;

	(void)state;
	for (uint32_t second = 35; second <= 36; second++) {
		const uint32_t words[] = {
			28,   64 + second + 1, RTR_EXRW, 3,	 0x21, 64, 0, 0x3000,
			0x22, second,	       0,	 0x4000, 0x23, 1,  0, 0x5000};
		uint8_t wire[sizeof(words)];

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			wire_put_u32(wire + 4 * i, words[i]);
		rtr = (struct rtr_header){.op = RTR_XMTRESP, .nitems = 1, .items = wire};
		assert_int_equal(rtr_reduce_results(&rtr, &three, 1, RTR_EXRW, &item_bytes),
				 second == 36);
	}
}

/* ---- placed by Sends ---- */

/* A lead of 256 bytes and two targets of 64. */
static const struct rtr_buffer buffer = {
	.length = 384,
	.ngroups = 2,
	.is_consistent = true,
	.sum = 384,
	.groups = {{.count = 1, .length = 256}, {.count = 2, .length = 64, .flags = RTR_SEG_DDP}},
};

/* Encodes the call above with items in targets, and directions of type 'results_by'. */
static uint32_t encode_placed(struct reduce_call_in *in, enum rtr_type results_by, struct msg *m)
{
	struct rtr_layout layout = {
		.nitems = 2,
		.items = {{.first_tbsn = 0, .ntbsns = 1}, {.first_tbsn = 1, .ntbsns = 1}}};
	const struct rtr_reduce_call call = {.in = in,
					     .plan = &both,
					     .min_bytes = 16,
					     .base = RTR_BASE_TABLE,
					     .layout = &layout,
					     .results_by = results_by,
					     .dsdov = 90,
					     .own_targets = 2};
	uint32_t len = rtr_reduce_call_size(&call);

	if (len == 0)
		return 0;
	rtr_reduce_call_encode(&call, XID, 7, m->buf);
	memset(m->buf + len, 0, 52);
	wire_put_u32(m->buf + len, XID);
	m->len = len + 52;
	return len;
}

static void placed__3_3_items_and_7_4_directions(void **state)
{
	static const enum rtr_type types[] = {RTR_TBSN, RTR_BYSIZE};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct reduce_call_in in = call_in(1000, 1000);
		struct rtr_rsditem direction;
		uint32_t tbsn, len;
		struct rtr_decoded d;
		struct rtr_item item;
		struct rtr_set set;
		struct rtr_iter it;
		struct msg m;

		len = encode_placed(&in, types[i], &m);
		d = rtr_msg_decode(&m);
		assert_int_equal(d.verdict, RDMA2_V_OK);
		assert_int_equal(d.rtr.header_bytes, len);
		assert_int_equal(d.rtr.item_bytes, 18);
		rtr_items_begin(&d.rtr, &it);
		for (uint32_t k = 0; k < 2; k++) {
			assert_true(rtr_items_next(&it, &item));
			assert_int_equal(item.type, RTR_TBSN);
			assert_int_equal(item.disp, k == 0 ? 48 : 64);
			assert_int_equal(item.length, k == 0 ? 10 : 8);
			assert_int_equal(item.offset, 0);
			assert_true(rtr_tbsns_next(&item.tbsns, &tbsn));
			assert_int_equal(tbsn, k);
			assert_false(rtr_tbsns_next(&item.tbsns, &tbsn));
		}
		rtr_sets_begin(&d.rtr, &it);
		assert_true(rtr_sets_next(&it, &set));
		assert_int_equal(set.items.left, 3);
		assert_true(rtr_rsditems_next(&set.items, &direction));
		assert_int_equal(direction.type, types[i]);
		assert_int_equal(direction.minlen, 16);
		assert_int_equal(direction.segments.left, types[i] == RTR_TBSN ? 0 : 2);
		assert_int_equal(direction.dsdov, types[i] == RTR_TBSN ? 0 : 90);
		assert_true(rtr_rsditems_next(&set.items, &direction)); /* without memory */
		assert_int_equal(direction.type, RTR_EXRW);
		assert_int_equal(direction.minlen, UINT32_MAX);
		rtr_msg_free(&d);
		in.call_inline_bytes = len + 51;
		assert_int_equal(encode_placed(&in, types[i], &m), 0);
	}
}

/* Makes the reply to that call, with results of 'lens'. Returns a mask of the placed pieces. */
static uint32_t reply_placed(enum rtr_type results_by, const uint32_t lens[3], struct reply *r,
			     uint32_t item_bytes[3])
{
	struct reduce_call_in in = call_in(1000, 1000);
	struct rtr_reduce_reply reply;
	struct rtr_decoded d;

	encode_placed(&in, results_by, &r->m);
	r->call = rtr_msg_decode(&r->m);
	put_pieces(r, lens);
	reply = (struct rtr_reduce_reply){&r->call.rtr, r->pieces, 6,	   40, 1000, 9,
					  true,		0,	   &buffer};
	r->rc = reduce(r, &reply);
	if (r->rc == 0) {
		memset(r->m.buf + r->plan.header_bytes, 0, r->plan.inline_bytes);
		wire_put_u32(r->m.buf + r->plan.header_bytes, XID);
		wire_put_u32(r->m.buf + r->plan.header_bytes + 4, RDMA1_REPLY);
		r->m.len = r->plan.header_bytes + r->plan.inline_bytes;
		d = rtr_msg_decode(&r->m);
		assert_int_equal(d.verdict, RDMA2_V_OK);
		assert_true(rtr_reduce_results(&d.rtr, results, 3, results_by, item_bytes));
		rtr_msg_free(&d);
	}
	rtr_msg_free(&r->call);
	return r->form.placed;
}

static void placed__7_4_results_as_long_as_there_are_targets(void **state)
{
	uint32_t bytes[3];
	struct reply r;

	(void)state;
	assert_int_equal(reply_placed(RTR_TBSN, (uint32_t[]){64, 4, 60}, &r, bytes), 2 | 32);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.plan.reduced, 2 | 32);
	assert_int_equal(r.plan.inline_bytes, 28 + 4 + 4 + 4);
	assert_int_equal(bytes[0], RTR_REDUCE_INLINE);
	assert_int_equal(bytes[2], RTR_REDUCE_INLINE);
	/* The first result takes both targets. The other is in the message, by TBSN. */
	assert_int_equal(reply_placed(RTR_TBSN, (uint32_t[]){65, 4, 60}, &r, bytes), 2);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.plan.inline_bytes, 28 + 4 + 4 + 4 + 60);
	/* With BYSIZE the other result is written. */
	assert_int_equal(reply_placed(RTR_BYSIZE, (uint32_t[]){65, 4, 60}, &r, bytes), 2);
	assert_int_equal(r.plan.reduced, 2 | 32);
	assert_int_equal(r.plan.nxfers, 1);
	assert_int_equal(bytes[2], 60);
	/* A result that is longer than was stated is written as well. */
	assert_int_equal(reply_placed(RTR_BYSIZE, (uint32_t[]){91, 4, 60}, &r, bytes), 32);
	assert_int_equal(bytes[0], 91);
}

/* Checks that the rest of the message must end before the targets. */
static void placed__not_behind_a_long_message(void **state)
{
	uint32_t bytes[3];
	struct reply r;

	(void)state;
	assert_int_equal(reply_placed(RTR_BYSIZE, (uint32_t[]){60, 12, 15}, &r, bytes), 2);
	assert_true(r.plan.header_bytes + r.plan.inline_bytes <= 256);
	assert_int_equal(reply_placed(RTR_BYSIZE, (uint32_t[]){60, 200, 15}, &r, bytes), 0);
	assert_int_equal(r.rc, 0);
	assert_int_equal(bytes[0], 60);
}

static void placed__what_was_not_asked_for_is_no_answer(void **state)
{
	static const enum rtr_type asked[] = {RTR_EXRW, RTR_TBSN, RTR_BYSIZE};
	uint32_t item_bytes;
	uint8_t wire[64];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct weir_xdr_out out;
		const struct rtr_header rtr = {.op = RTR_XMTRESP, .nitems = 1, .items = wire};

		weir_xdr_out_init(&out, wire, sizeof(wire));
		rtr_put_item_tbsn(&out, 28, 100, 0, 0, 2);
		assert_int_equal(rtr_reduce_results(&rtr, results, 1, asked[i], &item_bytes),
				 i != 0);
		/* Without memory it cannot be placed either, in whatever way the others were. */
		assert_false(rtr_reduce_results(&rtr, results + 1, 1, asked[i], &item_bytes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call__7_3_items_and_7_4_directions),
		cmocka_unit_test(call__handles_are_where_keys_stand),
		cmocka_unit_test(call__what_does_not_fit_is_another_ways),
		cmocka_unit_test(call__without_directions_results_are_in_the_reply),
		cmocka_unit_test(reply__7_4_an_entry_for_each_direction),
		cmocka_unit_test(reply__what_is_not_there_is_noitem),
		cmocka_unit_test(reply__a_range_is_for_its_operations),
		cmocka_unit_test(reply__what_does_not_fit_is_refused),
		cmocka_unit_test(result__wrong_answers_are_told),
		cmocka_unit_test(result__a_hole_in_a_later_segment_is_told),
		cmocka_unit_test(placed__3_3_items_and_7_4_directions),
		cmocka_unit_test(placed__7_4_results_as_long_as_there_are_targets),
		cmocka_unit_test(placed__not_behind_a_long_message),
		cmocka_unit_test(placed__what_was_not_asked_for_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
