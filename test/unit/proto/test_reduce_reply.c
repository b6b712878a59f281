/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of where each piece of a reply is sent. test_reduce_roundtrip.c checks the bytes. */
#include <errno.h>

#include "reduce.h"
#include "wire.h"

#include "rdma1_msg.h"

#define INLINE_BYTES 1024u
#define XFERS_MAX    16u

static uint8_t memory[8192];
static uint8_t zeros[4];
static struct rdma1_limits limits;
static struct msg call;
static struct rdma1_header hdr;
static struct reduce_reply_in in;
static struct reduce_reply_plan plan;
static struct piece pieces[REDUCE_PIECES_MAX];
static struct reduce_xfer xfers[XFERS_MAX];
static uint8_t header[INLINE_BYTES];

/* An RPC header with a count word, and an item of 100 bytes. */
static int setup(void **state)
{
	(void)state;
	memset(&in, 0, sizeof(in));
	pieces[0] = (struct piece){.base = memory, .len = 28, .kind = PIECE_XDR, .lkey = 1};
	pieces[1] =
		(struct piece){.base = memory + 1000, .len = 100, .kind = PIECE_ITEM, .lkey = 2};
	limits = rdma1_limits_default;
	in.call = &hdr;
	in.pieces = pieces;
	in.npieces = 2;
	in.reply_inline_bytes = INLINE_BYTES;
	in.zeros = (struct piece){.base = zeros, .len = sizeof(zeros), .lkey = 9};
	in.credit = 17;
	in.may_reduce = true;
	return 0;
}

/* call_begin() begins a call with its Write list. call_end() completes it with a Reply chunk. */
static void call_begin(void)
{
	msg_begin(&call, RDMA1_MSG);
	msg_end(&call);
}

static void call_chunk(uint32_t nsegs, uint32_t len)
{
	msg_chunk(&call, nsegs);
	for (uint32_t i = 0; i < nsegs; i++)
		msg_segment(&call, 0x100 + i, len, 0x10000 * (i + 1));
}

static void call_end(uint32_t reply_nsegs, uint32_t reply_len)
{
	enum rdma1_reason reason;

	msg_end(&call);
	if (reply_nsegs == 0)
		msg_end(&call);
	else
		call_chunk(reply_nsegs, reply_len);
	msg_payload(&call, 40);
	assert_int_equal(rdma1_decode(call.buf, call.len, RDMA1_CALL, &limits, &hdr, &reason),
			 RDMA1_V_OK);
}

static int reply(void)
{
	return reduce_reply(&in, header, sizeof(header), xfers, XFERS_MAX, &plan);
}

static void expect_reply(enum reduce_form form)
{
	assert_int_equal(reply(), 0);
	assert_int_equal(plan.form, form);
	assert_true(plan.header_bytes + plan.inline_bytes <= INLINE_BYTES);
}

static uint32_t word(uint32_t i)
{
	return wire_get_u32(header + 4 * i);
}

static void reduce_reply__is_short_without_chunks(void **state)
{
	(void)state;
	call_begin();
	call_end(0, 0);
	pieces[1].len = 101;
	expect_reply(REDUCE_SHORT);
	assert_int_equal(plan.header_bytes, RDMA1_HEADER_MIN);
	assert_int_equal(plan.inline_bytes, 28 + 104);
	assert_int_equal(plan.nxfers, 0);
	assert_int_equal(word(0), MSG_XID);
	assert_int_equal(word(2), 17);
	assert_int_equal(word(3), RDMA1_MSG);
}

static void reduce_reply__4_3_2_eligible_item_goes_to_the_write_chunk(void **state)
{
	(void)state;
	call_begin();
	call_chunk(1, 200);
	call_end(0, 0);
	expect_reply(REDUCE_CHUNKED); /* although it would fit inline */
	assert_int_equal(plan.reduced, 1u << 1);
	assert_int_equal(plan.inline_bytes, 28);
	assert_int_equal(plan.nxfers, 1);
	assert_ptr_equal(xfers[0].local, memory + 1000);
	assert_int_equal(xfers[0].lkey, 2);
	assert_int_equal(xfers[0].len, 100);
	assert_int_equal(xfers[0].handle, 0x100);
	assert_int_equal(xfers[0].offset, 0x10000);
}

static void reduce_reply__4_3_1_read_list_is_empty(void **state)
{
	(void)state;
	call_begin();
	call_chunk(1, 200);
	call_end(1, 2000);
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(word(4), 0);
	pieces[0].len = 1500;
	expect_reply(REDUCE_LONG);
	assert_int_equal(word(4), 0);
}

static void reduce_reply__3_4_6_segments_are_returned_with_the_items_length(void **state)
{
	(void)state;
	call_begin();
	call_chunk(4, 41);
	call_end(0, 0);
	pieces[1].len = 99; /* 41, 41, 17: the padding is not written */
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(word(6), 4);
	assert_int_equal(word(8), 41);
	assert_int_equal(word(12), 41);
	assert_int_equal(word(16), 17);
	assert_int_equal(word(20), 0);
	assert_int_equal(plan.nxfers, 3);
	assert_int_equal(xfers[2].len, 17);
	assert_int_equal(xfers[2].offset, 0x30000);
}

/*
 * Checks the RDMA Writes of an item of 'len' bytes. Each must begin where the previous one ended,
 * in local memory and in the segments.
 */
static void expect_split(const uint32_t *room, uint32_t nsegs, uint32_t len)
{
	uint32_t seg = 0, used = 0, done = 0;

	for (uint32_t i = 0; i < plan.nxfers; i++) {
		for (; used == room[seg]; used = 0)
			seg++;
		assert_true(seg < nsegs);
		assert_int_equal(xfers[i].handle, 0x100 + seg);
		assert_int_equal(xfers[i].offset, 0x10000 * (seg + 1) + used);
		assert_ptr_equal(xfers[i].local, pieces[1].base + done);
		assert_true(xfers[i].len > 0 && xfers[i].len <= room[seg] - used);
		used += xfers[i].len;
		done += xfers[i].len;
	}
	assert_int_equal(done, len);
}

static void reduce_reply__3_4_6_segments_of_any_length_are_filled_in_order(void **state)
{
	(void)state;
	for (uint32_t cut = 0; cut < 9 * 9 * 9; cut++) {
		const uint32_t room[] = {cut % 9, cut / 9 % 9, cut / 81};
		const uint32_t sum = room[0] + room[1] + room[2];

		call_begin();
		msg_chunk(&call, 3);
		for (uint32_t i = 0; i < 3; i++)
			msg_segment(&call, 0x100 + i, room[i], 0x10000 * (i + 1));
		call_end(0, 0);
		for (uint32_t len = 0; len <= sum; len++) {
			pieces[1].len = len;
			expect_reply(REDUCE_CHUNKED);
			expect_split(room, 3, len);
			assert_int_equal(word(8) + word(12) + word(16), len);
		}
		pieces[1].len = sum + 1; /* the chunk is full in the middle of the item */
		assert_int_equal(reply(), -EMSGSIZE);
	}
}

static void reduce_reply__lengths_that_wrap_32_bits_are_added_up(void **state)
{
	(void)state;
	limits.write_bytes_max = UINT64_C(1) << 40;
	call_begin();
	call_chunk(2, UINT32_C(1) << 31);
	call_end(2, UINT32_C(1) << 31);
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(word(8), 100);
	assert_int_equal(word(12), 0);
	pieces[0].len = 2000;
	expect_reply(REDUCE_LONG);
	assert_int_equal(word(19), 2000);
	assert_int_equal(word(23), 0);
	pieces[0].len = 28;
	/* The lengths of these pieces add up to more than 32 bits, and to more than the Reply chunk
	 * holds. */
	pieces[1].kind = PIECE_OPAQUE;
	pieces[1].len = UINT32_MAX;
	pieces[2] = (struct piece){.base = memory, .len = 128, .kind = PIECE_XDR};
	in.npieces = 3;
	assert_int_equal(reply(), -EMSGSIZE);
	call_begin();
	call_end(3, UINT32_C(1) << 31);
	expect_reply(REDUCE_LONG);
	assert_int_equal(word(9), UINT32_C(1) << 31);
	assert_int_equal(word(13), UINT32_C(1) << 31);
	assert_int_equal(word(17), 28 + 128);
}

static void reduce_reply__4_3_2_unused_chunk_is_returned_with_empty_segments(void **state)
{
	(void)state;
	call_begin();
	call_chunk(1, 200);
	call_chunk(2, 300);
	call_end(0, 0);
	expect_reply(REDUCE_CHUNKED);
	/* The first chunk: 5..10. The second chunk follows. */
	assert_int_equal(word(11), 1);
	assert_int_equal(word(12), 2);
	assert_int_equal(word(13), 0x100);
	assert_int_equal(word(14), 0);
	assert_int_equal(word(16), 0x10000);
	assert_int_equal(word(17), 0x101);
	assert_int_equal(word(18), 0);
	assert_int_equal(word(21), 0);
	in.npieces = 1; /* an error reply uses no chunk */
	expect_reply(REDUCE_SHORT);
	assert_int_equal(word(8), 0);
	assert_int_equal(word(14), 0);
}

static void reduce_reply__4_3_2_item_without_data_has_its_chunk(void **state)
{
	(void)state;
	call_begin();
	call_chunk(1, 200);
	call_chunk(1, 200);
	call_end(0, 0);
	pieces[2] = pieces[1];
	pieces[1].len = 0;
	in.npieces = 3;
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1 | 1u << 2);
	assert_int_equal(plan.nxfers, 1);
	assert_int_equal(word(8), 0);
	assert_int_equal(word(14), 100);
}

static void reduce_reply__4_3_2_later_item_takes_the_chunk_that_an_absent_one_left(void **state)
{
	(void)state;
	call_begin();
	call_chunk(1, 100);
	call_chunk(1, 200);
	call_end(0, 0);
	/* A piece that is not DDP-eligible precedes the first item. */
	pieces[2] = pieces[1];
	pieces[1].kind = PIECE_OPAQUE;
	in.npieces = 3;
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 2);
	assert_int_equal(word(8), 100); /* the first chunk */
	assert_int_equal(word(14), 0);
}

static void reduce_reply__4_3_2_empty_chunk_keeps_its_item_inline(void **state)
{
	(void)state;
	call_begin();
	call_chunk(0, 0);
	call_chunk(1, 200);
	call_end(0, 0);
	pieces[2] = pieces[1];
	pieces[2].len = 77;
	in.npieces = 3;
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 2);
	assert_int_equal(plan.inline_bytes, 28 + 100);
	assert_int_equal(word(5), 1);
	assert_int_equal(word(6), 0);
	assert_int_equal(word(7), 1);
	assert_int_equal(word(8), 1);
	assert_int_equal(word(10), 77);
}

static void reduce_reply__4_3_3_reply_chunk_is_copied_and_empty_when_unused(void **state)
{
	(void)state;
	call_begin();
	call_end(2, 500);
	expect_reply(REDUCE_SHORT);
	assert_int_equal(word(6), 1);
	assert_int_equal(word(7), 2);
	assert_int_equal(word(8), 0x100);
	assert_int_equal(word(9), 0);
	assert_int_equal(word(13), 0);
	assert_int_equal(plan.header_bytes, RDMA1_HEADER_MIN + 4 + 2 * 16);
}

static void reduce_reply__3_5_3_reply_above_the_threshold_goes_to_the_reply_chunk(void **state)
{
	(void)state;
	call_begin();
	call_end(2, 600);
	pieces[1].len = INLINE_BYTES - 64 - 28;
	expect_reply(REDUCE_SHORT);
	assert_int_equal(plan.inline_bytes, INLINE_BYTES - 64);
	pieces[1].len++;
	expect_reply(REDUCE_LONG);
	assert_int_equal(plan.inline_bytes, 0);
	assert_int_equal(word(3), RDMA1_NOMSG);
	/*
	 * The Reply chunk holds 28 and 933 bytes, and 3 of padding, because it holds a Long
	 * Message.
	 */
	assert_int_equal(word(9), 600);
	assert_int_equal(word(13), 28 + 936 - 600);
	assert_int_equal(plan.nxfers, 4);
	assert_ptr_equal(xfers[3].local, zeros);
	assert_int_equal(xfers[3].lkey, 9);
	assert_int_equal(xfers[3].len, 3);
}

static void reduce_reply__3_5_3_long_reply_is_reduced_too(void **state)
{
	(void)state;
	call_begin();
	call_chunk(1, 200);
	call_end(1, 4000);
	pieces[0].len = 2000;
	expect_reply(REDUCE_LONG);
	assert_int_equal(plan.reduced, 1u << 1);
	assert_int_equal(word(8), 100);
	assert_int_equal(word(15), 2000);
}

static void reduce_reply__4_5_3_what_can_not_be_conveyed_is_too_large(void **state)
{
	(void)state;
	call_begin();
	/* The chunk is shorter than the item. An item with a chunk must not be sent inline. */
	call_chunk(2, 49);
	call_end(1, 4000);
	assert_int_equal(reply(), -EMSGSIZE);
	call_begin();
	call_end(0, 0);
	pieces[1].len = 2000;
	assert_int_equal(reply(), -EMSGSIZE);
	call_begin();
	call_end(2, 1013);
	assert_int_equal(reply(), -EMSGSIZE);
	call_begin();
	call_end(2, 1014);
	expect_reply(REDUCE_LONG);
}

static void reduce_reply__4_5_3_header_above_the_threshold_is_too_large(void **state)
{
	(void)state;
	call_begin();
	call_chunk(64, 10);
	call_end(0, 0);
	assert_int_equal(reply(), -EMSGSIZE);
	/* A Reply chunk is not sufficient either, because the header is always inline. */
	call_begin();
	call_end(2, 600);
	in.reply_inline_bytes = RDMA1_HEADER_MIN + 4 + 2 * RDMA1_SEGMENT_SIZE;
	expect_reply(REDUCE_LONG);
	in.reply_inline_bytes--;
	assert_int_equal(reply(), -EMSGSIZE);
}

static void reduce_reply__8_2_2_nothing_is_reduced_under_gss_integrity(void **state)
{
	(void)state;
	in.may_reduce = false;
	call_begin();
	call_chunk(1, 200);
	call_end(0, 0);
	expect_reply(REDUCE_SHORT);
	assert_int_equal(plan.reduced, 0);
	assert_int_equal(plan.inline_bytes, 128);
	assert_int_equal(word(8), 0);
}

static void reduce_reply__bounds_of_the_callers_arrays_are_kept(void **state)
{
	static struct reduce_xfer all[XFERS_MAX];

	(void)state;
	call_begin();
	call_chunk(16, 7);
	call_end(0, 0);
	expect_reply(REDUCE_CHUNKED);
	assert_int_equal(plan.nxfers, 15);
	memcpy(all, xfers, sizeof(all));
	/*
	 * If the caller asks for the Writes part by part, they are the same, and memory after a
	 * part is unchanged.
	 */
	for (uint32_t max = 0; max < 15; max++) {
		for (in.first_xfer = 0; in.first_xfer <= 16; in.first_xfer++) {
			uint32_t n = in.first_xfer < 15 ? 15 - in.first_xfer : 0;

			n = n < max ? n : max;
			memset(xfers, 0x5a, sizeof(all));
			assert_int_equal(
				reduce_reply(&in, header, sizeof(header), xfers, max, &plan), 0);
			assert_int_equal(plan.nxfers, 15);
			for (uint32_t i = 0; i < n; i++) {
				assert_ptr_equal(xfers[i].local, all[in.first_xfer + i].local);
				assert_int_equal(xfers[i].len, all[in.first_xfer + i].len);
				assert_int_equal(xfers[i].offset, all[in.first_xfer + i].offset);
			}
			assert_int_equal(*((const uint8_t *)(xfers + n)), 0x5a);
		}
	}
	in.first_xfer = 0;
	for (uint32_t size = 0; size < plan.header_bytes; size += 4)
		assert_int_equal(reduce_reply(&in, header, size, xfers, XFERS_MAX, &plan), -ENOSPC);
	in.npieces = 0;
	assert_int_equal(reply(), -EINVAL);
	for (uint32_t i = 2; i < REDUCE_PIECES_MAX; i++)
		pieces[i] = (struct piece){.base = memory, .len = 4, .kind = PIECE_XDR};
	in.npieces = REDUCE_PIECES_MAX;
	assert_int_equal(reply(), 0);
	in.npieces++;
	assert_int_equal(reply(), -EINVAL);
	in.npieces = 1;
	pieces[0].len = 27;
	assert_int_equal(reply(), -EINVAL);
}

static void lack__names_the_segment_that_is_too_short(void **state)
{
	uint32_t segment, bytes;

	(void)state;
	call_begin(); /* one chunk of three segments, for an item of 100 bytes */
	call_chunk(3, 30);
	call_end(2, 10);
	assert_int_equal(reply(), -EMSGSIZE);
	reduce_reply_lack(&in, &segment, &bytes);
	assert_int_equal(segment, 3);
	assert_int_equal(bytes, 40);
	/* The chunks hold the items, but the Reply chunk does not hold the rest. */
	pieces[0].len = 2000;
	call_begin();
	call_chunk(0, 0);
	call_chunk(2, 50);
	call_end(2, 900);
	assert_int_equal(reply(), -EMSGSIZE);
	reduce_reply_lack(&in, &segment, &bytes);
	assert_int_equal(segment, 4);
	/* The item stays in the stream, because its chunk is empty. */
	assert_int_equal(bytes, 900 + 300);
	/* The call has no Reply chunk. */
	call_begin();
	call_end(0, 0);
	assert_int_equal(reply(), -EMSGSIZE);
	reduce_reply_lack(&in, &segment, &bytes);
	assert_int_equal(segment, 0);
	assert_int_equal(bytes, 2100);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(reduce_reply__is_short_without_chunks),
		T(reduce_reply__4_3_2_eligible_item_goes_to_the_write_chunk),
		T(reduce_reply__4_3_1_read_list_is_empty),
		T(reduce_reply__3_4_6_segments_are_returned_with_the_items_length),
		T(reduce_reply__3_4_6_segments_of_any_length_are_filled_in_order),
		T(reduce_reply__lengths_that_wrap_32_bits_are_added_up),
		T(reduce_reply__4_3_2_unused_chunk_is_returned_with_empty_segments),
		T(reduce_reply__4_3_2_item_without_data_has_its_chunk),
		T(reduce_reply__4_3_2_later_item_takes_the_chunk_that_an_absent_one_left),
		T(reduce_reply__4_3_2_empty_chunk_keeps_its_item_inline),
		T(reduce_reply__4_3_3_reply_chunk_is_copied_and_empty_when_unused),
		T(reduce_reply__3_5_3_reply_above_the_threshold_goes_to_the_reply_chunk),
		T(reduce_reply__3_5_3_long_reply_is_reduced_too),
		T(reduce_reply__4_5_3_what_can_not_be_conveyed_is_too_large),
		T(reduce_reply__4_5_3_header_above_the_threshold_is_too_large),
		T(reduce_reply__8_2_2_nothing_is_reduced_under_gss_integrity),
		T(reduce_reply__bounds_of_the_callers_arrays_are_kept),
		cmocka_unit_test_setup(lack__names_the_segment_that_is_too_short, setup),
	};

	return cmocka_run_group_tests_name("reduce_reply", tests, NULL, NULL);
}
