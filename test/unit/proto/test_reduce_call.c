/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of where each piece of a call is sent. test_reduce_roundtrip.c checks the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "reduce.h"
#include "shape.h"
#include "wire.h"

#define INLINE_BYTES 1024u

static uint8_t memory[8192];
static struct reduce_call_in in;
static struct reduce_call_plan plan;
static struct piece pieces[REDUCE_PIECES_MAX];
static uint8_t header[INLINE_BYTES];
static uint32_t header_len;

/* A 40-byte RPC header with a count word, an item of 'len' bytes, and a word after the item. */
static int setup(void **state)
{
	(void)state;
	memset(&in, 0, sizeof(in));
	memset(memory, 0x77, sizeof(memory));
	pieces[0] = (struct piece){.base = memory, .len = 44, .kind = PIECE_XDR};
	pieces[1] = (struct piece){.base = memory,
				   .len = 100,
				   .kind = PIECE_ITEM,
				   .lkey = 1,
				   .rkey = 0x11,
				   .raddr = 0x1000};
	pieces[2] = (struct piece){.base = memory, .len = 4, .kind = PIECE_XDR};
	in.pieces = pieces;
	in.npieces = 3;
	in.call_inline_bytes = INLINE_BYTES;
	in.reply_inline_bytes = INLINE_BYTES;
	in.reply_max_bytes = 100;
	in.may_reduce = true;
	return 0;
}

static void expect_plan(enum reduce_form form)
{
	assert_int_equal(reduce_call_plan(&in, &plan), 0);
	assert_int_equal(plan.form, form);
	assert_true(plan.header_bytes + plan.inline_bytes <= in.call_inline_bytes);
}

static void encode(const struct remote_buf *segs, uint32_t nsegs, const struct remote_buf *reply)
{
	assert_int_equal(reduce_call_encode(&in, &plan, 7, 3, segs, nsegs, reply, header,
					    sizeof(header), &header_len),
			 0);
	assert_int_equal(header_len, plan.header_bytes + (nsegs > 1 ? (nsegs - 1) * 24 : 0));
}

static uint32_t word(uint32_t i)
{
	return wire_get_u32(header + 4 * i);
}

static void plan__is_short_when_all_fits(void **state)
{
	(void)state;
	pieces[1].len = INLINE_BYTES - 28 - 48;
	expect_plan(REDUCE_SHORT);
	assert_int_equal(plan.reduced, 0);
	assert_int_equal(plan.inline_bytes, INLINE_BYTES - 28);
	assert_int_equal(plan.stream_bytes, INLINE_BYTES - 28);
	pieces[1].len++;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1);
	assert_int_equal(plan.inline_bytes, 48);
}

/*
 * Checks that a long item is moved to a chunk even if the message fits inline. RFC 8166 section 3.4
 * leaves this choice to the requester.
 */
static void plan__item_of_chunk_bytes_is_reduced_though_all_fits(void **state)
{
	(void)state;
	in.chunk_bytes = pieces[1].len + 1;
	expect_plan(REDUCE_SHORT);
	assert_int_equal(plan.reduced, 0);
	in.chunk_bytes = pieces[1].len;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1);
	assert_int_equal(plan.inline_bytes, 48);
	assert_int_equal(plan.stream_bytes, 48);
	encode(NULL, 0, NULL);
	in.may_reduce = false;
	expect_plan(REDUCE_SHORT);
	in.may_reduce = true;
	pieces[1].kind = PIECE_OPAQUE;
	expect_plan(REDUCE_SHORT);
	assert_int_equal(plan.reduced, 0);
	assert_int_equal(plan.inline_bytes, 148);
}

static void plan__the_longest_item_of_chunk_bytes_is_reduced_where_all_fits(void **state)
{
	(void)state;
	pieces[3] = pieces[1];
	pieces[3].len = 60;
	in.npieces = 4;
	in.chunk_bytes = 100;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1);
	assert_int_equal(plan.inline_bytes, 44 + 4 + 60);
	/* Only the longest item is moved to a chunk, because a peer may accept no more than one. */
	pieces[3].len = 104;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 3);
	assert_int_equal(plan.inline_bytes, 44 + 4 + 100);
	pieces[3].len = 100;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1);
	/* If the message does not fit inline, each item that can be moved to a chunk is moved. */
	pieces[1].len = INLINE_BYTES;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1 | 1u << 3);
}

/*
 * Checks items of a few bytes, which are shorter than a segment. With a segment for each, the
 * header would not fit, although the items do.
 */
static void plan__items_shorter_than_segments_stay_where_the_list_does_not_fit(void **state)
{
	(void)state;
	pieces[1].len = 4;
	in.chunk_bytes = 4;
	in.call_inline_bytes = 28 + 44 + 4 + 4;
	expect_plan(REDUCE_SHORT);
	assert_int_equal(plan.reduced, 0);
	in.call_inline_bytes = 28 + 24 + 44 + 4;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1);
}

static void plan__3_5_3_stream_too_large_when_reduced_is_long(void **state)
{
	(void)state;
	/* The longest message with a chunk, and then one word more. */
	pieces[1].len = 4096;
	pieces[2].len = INLINE_BYTES - 28 - 24 - 44;
	expect_plan(REDUCE_CHUNKED);
	pieces[2].len += 4;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.inline_bytes, 0);
	assert_int_equal(plan.stream_bytes, 44 + pieces[2].len);
	assert_int_equal(plan.reduced, 1u << 1);
}

static void plan__3_5_3_long_stream_includes_roundup_padding(void **state)
{
	(void)state;
	in.may_reduce = false;
	for (uint32_t len = 1000; len < 1009; len++) {
		pieces[1].len = len;
		expect_plan(REDUCE_LONG);
		assert_int_equal(plan.stream_bytes, 48 + ((len + 3) & ~3u));
	}
}

static void plan__3_4_2_only_eligible_items_are_reduced(void **state)
{
	(void)state;
	pieces[1].len = 4000;
	pieces[1].kind = PIECE_OPAQUE;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 0);
	pieces[1].kind = PIECE_ITEM;
	pieces[1].rkey = 0; /* eligible, but the peer cannot read it */
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 0);
	pieces[1].rkey = 1;
	expect_plan(REDUCE_CHUNKED);
	assert_int_equal(plan.reduced, 1u << 1);
}

static void plan__item_without_data_is_not_reduced(void **state)
{
	(void)state;
	pieces[1].len = 0;
	pieces[2].len = 2000;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 0);
	assert_int_equal(plan.stream_bytes, 44 + 2000);
	pieces[1].len = 1;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 1u << 1);
	assert_int_equal(plan.stream_bytes, 44 + 2000);
}

static void plan__3_4_4_item_without_a_count_in_front_is_not_reduced(void **state)
{
	(void)state;
	pieces[0] = pieces[1];
	pieces[0].len = 4000;
	in.npieces = 1;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 0);
}

/* Sets the largest number of items, with a count word before each of them. */
static void set_many_items(uint32_t len)
{
	for (uint32_t i = 1; i < REDUCE_PIECES_MAX; i++)
		pieces[i] = (struct piece){.base = memory,
					   .len = i % 2 ? len : 4,
					   .kind = i % 2 ? PIECE_ITEM : PIECE_XDR,
					   .rkey = 1};
	in.npieces = REDUCE_PIECES_MAX;
}

static void plan__3_5_3_long_call_without_room_to_list_its_items_keeps_them(void **state)
{
	const uint32_t items = REDUCE_PIECES_MAX / 2, stream = 44 + 4 * (items - 1);
	const uint32_t lists = 28 + (items + 1) * RDMA1_READ_SEGMENT_SIZE;

	(void)state;
	set_many_items(101);
	in.call_inline_bytes = lists;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.header_bytes, lists);
	assert_int_equal(plan.stream_bytes, stream);
	in.call_inline_bytes--;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 0);
	assert_int_equal(plan.header_bytes, 28 + RDMA1_READ_SEGMENT_SIZE);
	assert_int_equal(plan.stream_bytes, stream + items * 104);
	encode(&(const struct remote_buf){5, plan.stream_bytes, 0x5000}, 1, NULL);
	in.call_inline_bytes = 28 + RDMA1_READ_SEGMENT_SIZE;
	expect_plan(REDUCE_LONG);
	in.call_inline_bytes--;
	assert_int_equal(reduce_call_plan(&in, &plan), -EMSGSIZE);
}

static void plan__8_2_2_nothing_is_reduced_under_gss_integrity(void **state)
{
	static const struct remote_buf seg = {1, 500, 0x1000}, long_seg = {5, 4144, 0x5000};
	const struct reduce_result result = {&seg, 1, 500};

	(void)state;
	in.results = &result;
	in.nresults = 1;
	pieces[1].len = 4096;
	expect_plan(REDUCE_CHUNKED);
	assert_true(plan.use_write_list);
	in.may_reduce = false;
	expect_plan(REDUCE_LONG);
	assert_int_equal(plan.reduced, 0);
	assert_false(plan.use_write_list);
	assert_int_equal(plan.stream_bytes, 44 + 4096 + 4);
	encode(&long_seg, 1, NULL);
	assert_int_equal(word(5), 0);  /* the Position Zero chunk */
	assert_int_equal(word(10), 0); /* no other Read chunk */
	assert_int_equal(word(11), 0); /* no Write chunk */
}

static void plan__header_that_does_not_fit_is_too_large(void **state)
{
	struct remote_buf segs[64] = {{0}};
	const struct reduce_result result = {.segments = segs, .nsegments = 64};

	(void)state;
	in.results = &result;
	in.nresults = 1;
	assert_int_equal(reduce_call_plan(&in, &plan), -EMSGSIZE);
	in.call_inline_bytes = 4096;
	in.reply_inline_bytes = 4096;
	expect_plan(REDUCE_SHORT);
}

static void plan__4_3_3_chunks_that_a_reply_can_not_return_are_too_large(void **state)
{
	static const struct remote_buf segs[64] = {{0}};
	const uint32_t returned = 28 + 8 + 64 * RDMA1_SEGMENT_SIZE;
	const struct reduce_result result = {.segments = segs, .nsegments = 64};

	(void)state;
	in.results = &result;
	in.nresults = 1;
	in.call_inline_bytes = 4096;
	in.reply_inline_bytes = returned + in.reply_max_bytes;
	expect_plan(REDUCE_SHORT);
	assert_false(plan.need_reply_chunk);
	in.reply_inline_bytes--;
	expect_plan(REDUCE_SHORT);
	assert_true(plan.need_reply_chunk);
	in.reply_inline_bytes = returned + 4 + RDMA1_SEGMENT_SIZE;
	expect_plan(REDUCE_SHORT);
	in.reply_inline_bytes--;
	assert_int_equal(reduce_call_plan(&in, &plan), -EMSGSIZE);
}

static void plan__refuses_what_is_out_of_range(void **state)
{
	static const struct reduce_result results[REDUCE_RESULT_ITEMS_MAX + 1];

	(void)state;
	in.npieces = 0;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	in.npieces = REDUCE_PIECES_MAX + 1;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	in.npieces = 3;
	in.results = results;
	in.nresults = REDUCE_RESULT_ITEMS_MAX;
	expect_plan(REDUCE_SHORT);
	in.nresults++;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	in.nresults = 0;
	pieces[2].len = 3; /* not XDR */
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	pieces[2].len = 4;
	pieces[1].len = UINT32_MAX;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	pieces[1].len = UINT32_MAX - 3 - 48; /* the largest length */
	expect_plan(REDUCE_CHUNKED);
	pieces[1].len++;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	set_many_items(UINT32_C(1) << 28); /* slightly more than 2^32 */
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	in.npieces = 3;
	pieces[1].len = 4;
	in.reply_max_bytes = UINT32_MAX;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
}

static void plan__3_4_6_write_chunk_holds_the_largest_item(void **state)
{
	static const struct remote_buf segs[] = {{1, 60, 0x1000}, {2, 40, 0x2000}};
	static const struct remote_buf wide[] = {{1, UINT32_MAX, 0x1000}, {2, 2, 0x2000}};
	struct reduce_result result = {.segments = segs, .nsegments = 2, .max_bytes = 100};

	(void)state;
	in.results = &result;
	in.nresults = 1;
	expect_plan(REDUCE_SHORT);
	assert_true(plan.use_write_list);
	result.max_bytes = 101;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
	/* The lengths add up to more than 32 bits. As a 32-bit number the sum would be smaller. */
	result = (struct reduce_result){wide, 2, 100};
	expect_plan(REDUCE_SHORT);
	/* an empty chunk: the result is inline */
	result = (struct reduce_result){.max_bytes = 101};
	expect_plan(REDUCE_SHORT);
	assert_false(plan.use_write_list);
}

static void plan__4_3_2_each_write_chunk_holds_the_largest_item(void **state)
{
	static const struct remote_buf seg = {1, 60, 0x1000};
	struct reduce_result results[] = {{&seg, 1, 60}, {.max_bytes = 100}, {&seg, 1, 60}};

	(void)state;
	in.results = results;
	in.nresults = 3;
	expect_plan(REDUCE_SHORT);
	results[2].max_bytes++;
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
}

static void plan__4_3_3_reply_chunk_when_the_largest_reply_exceeds_the_threshold(void **state)
{
	(void)state;
	in.reply_max_bytes = INLINE_BYTES - 28;
	expect_plan(REDUCE_SHORT);
	assert_false(plan.need_reply_chunk);
	assert_int_equal(plan.reply_bytes, 0);
	in.reply_max_bytes++;
	expect_plan(REDUCE_SHORT);
	assert_true(plan.need_reply_chunk);
	assert_int_equal(plan.reply_bytes, INLINE_BYTES - 28 + 4);
}

static void plan__4_3_3_largest_reply_counts_the_items_that_come_inline(void **state)
{
	static const struct remote_buf seg = {1, 500, 0x1000};
	struct reduce_result results[] = {{.max_bytes = 301}, {&seg, 1, 500}};

	(void)state;
	in.results = results;
	in.nresults = 2;
	in.reply_max_bytes = 400;
	expect_plan(REDUCE_SHORT);
	/* 28 + two chunks with one segment in total + 400 + 304 */
	assert_false(plan.need_reply_chunk);
	results[0].max_bytes = 564;
	expect_plan(REDUCE_SHORT);
	assert_false(plan.need_reply_chunk);
	results[0].max_bytes = 565;
	expect_plan(REDUCE_SHORT);
	assert_true(plan.need_reply_chunk);
	assert_int_equal(plan.reply_bytes, 400 + 568);
	in.may_reduce = false; /* all items are in the message */
	expect_plan(REDUCE_SHORT);
	assert_false(plan.use_write_list);
	assert_int_equal(plan.reply_bytes, 400 + 568 + 500);
	results[0].max_bytes = UINT32_MAX; /* with padding it is 2^32 */
	assert_int_equal(reduce_call_plan(&in, &plan), -EINVAL);
}

static void encode__3_4_5_read_chunk_has_no_padding_and_its_unreduced_position(void **state)
{
	(void)state;
	pieces[1].len = 4093;
	pieces[3] = (struct piece){.base = memory, .len = 5000, .kind = PIECE_ITEM, .rkey = 0x22};
	in.npieces = 4;
	expect_plan(REDUCE_CHUNKED);
	encode(NULL, 0, NULL);
	assert_int_equal(word(3), RDMA1_MSG);
	assert_int_equal(word(4), 1);
	assert_int_equal(word(5), 44);
	assert_int_equal(word(6), 0x11);
	assert_int_equal(word(7), 4093);
	assert_int_equal(word(9), 0x1000);
	assert_int_equal(word(10), 1);
	assert_int_equal(word(11), 44 + 4096 + 4);
	assert_int_equal(word(13), 5000);
	assert_int_equal(word(16), 0);
	assert_int_equal(header_len, 19 * 4);
}

static void encode__3_5_3_segments_of_a_long_call_have_position_zero(void **state)
{
	static const struct remote_buf segs[] = {
		{5, 40, 0x5000}, {6, 8, 0x6000}, {7, 1000, 0x7000}};

	(void)state;
	in.may_reduce = false;
	pieces[1].len = 1000;
	expect_plan(REDUCE_LONG);
	encode(segs, 3, NULL);
	assert_int_equal(word(3), RDMA1_NOMSG);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(word(4 + 6 * i), 1);
		assert_int_equal(word(5 + 6 * i), 0);
		assert_int_equal(word(6 + 6 * i), segs[i].rkey);
		assert_int_equal(word(7 + 6 * i), segs[i].len);
	}
	assert_int_equal(word(22), 0);
}

static void encode__3_4_6_write_chunk_is_as_given_without_room_for_padding(void **state)
{
	static const struct remote_buf segs[] = {{1, 60, 0x1000}, {2, 41, 0x2000}};
	static const struct reduce_result results[] = {{segs, 2, 101}, {.max_bytes = 10}};
	static const struct remote_buf reply = {3, 1200, 0x3000};

	(void)state;
	in.results = results;
	in.nresults = 2;
	in.reply_max_bytes = 1000;
	expect_plan(REDUCE_SHORT);
	encode(NULL, 0, &reply);
	assert_int_equal(word(4), 0);
	assert_int_equal(word(5), 1);
	assert_int_equal(word(6), 2);
	assert_int_equal(word(8), 60);
	assert_int_equal(word(12), 41);
	assert_int_equal(word(15), 1);
	assert_int_equal(word(16), 0); /* the empty chunk of the second result */
	assert_int_equal(word(17), 0);
	assert_int_equal(word(18), 1);
	assert_int_equal(word(19), 1);
	assert_int_equal(word(21), 1200);
}

static void encode__refuses_what_is_not_the_plans(void **state)
{
	static const struct remote_buf seg = {5, 40, 0x5000};

	(void)state;
	expect_plan(REDUCE_SHORT);
	assert_int_equal(
		reduce_call_encode(&in, &plan, 7, 3, &seg, 1, NULL, header, 1024, &header_len),
		-EINVAL);
	assert_int_equal(
		reduce_call_encode(&in, &plan, 7, 3, NULL, 0, &seg, header, 1024, &header_len),
		-EINVAL);
	for (uint32_t size = 0; size < 28; size++)
		assert_int_equal(reduce_call_encode(&in, &plan, 7, 3, NULL, 0, NULL, header, size,
						    &header_len),
				 -ENOSPC);
	encode(NULL, 0, NULL);
}

/* Returns a length near 'bytes', or any length. */
static uint32_t near(uint32_t bytes)
{
	switch (random() % 8) {
	case 0:
		return (uint32_t)random() * 2 + (uint32_t)random() % 2;
	case 1:
		return UINT32_MAX - (uint32_t)random() % 100;
	default:
		return bytes + (uint32_t)random() % 16 - 8;
	}
}

/*
 * Checks the fast path, which decides without a plan and encodes without a writer. Its result must
 * equal the plan, and the bytes that the writer writes.
 */
static void is_one_read__is_what_the_plan_says(void **state)
{
	uint32_t nyes = 0;

	(void)state;
	srandom(4);
	for (uint32_t round = 0; round < 200000; round++) {
		uint8_t one[RDMA1_ONE_READ_SIZE + 4];
		struct rdma1_segment seg;
		bool is_one_read, is_planned;
		uint32_t left;

		in.npieces = 2 + (uint32_t)random() % 2;
		pieces[0].len = (uint32_t)random() % 8 ? 40 + 4 * ((uint32_t)random() % 20)
						       : near(INLINE_BYTES - 52);
		pieces[2].len = 4 + (uint32_t)random() % 3 * 4 + (random() % 16 == 0);
		left = pieces[0].len + (in.npieces == 3 ? pieces[2].len : 0);
		pieces[1].len =
			random() % 2 ? near(INLINE_BYTES - 28 - left) : (uint32_t)random() % 1024;
		in.chunk_bytes = random() % 4 ? 0 : near(random() % 4 ? pieces[1].len : 8);
		if (pieces[1].len == 0 || left < pieces[0].len)
			continue;
		in.reply_max_bytes = random() % 4 ? 100 : near(INLINE_BYTES - 28);
		is_one_read = reduce_is_one_read(pieces[0].len, left, pieces[1].len, INLINE_BYTES,
						 in.chunk_bytes, in.reply_max_bytes, INLINE_BYTES);
		is_planned = reduce_call_plan(&in, &plan) == 0 && plan.form == REDUCE_CHUNKED &&
			     !plan.need_reply_chunk;
		assert_int_equal(is_one_read, is_planned);
		if (!is_planned)
			continue;
		nyes++;
		assert_int_equal(plan.reduced, 1u << 1);
		assert_false(plan.use_write_list);
		assert_int_equal(plan.inline_bytes, left);
		encode(NULL, 0, NULL);
		seg = (struct rdma1_segment){pieces[1].rkey, pieces[1].len, pieces[1].raddr};
		shape_encode(one, SHAPE_ONE_READ, 7, 3, pieces[0].len, &seg);
		assert_int_equal(header_len, RDMA1_ONE_READ_SIZE);
		assert_memory_equal(header, one, header_len);
		assert_int_equal(wire_get_u32(one + header_len), 7);
	}
	assert_in_range(nyes, 20000, 180000);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(plan__is_short_when_all_fits),
		T(plan__item_of_chunk_bytes_is_reduced_though_all_fits),
		T(plan__the_longest_item_of_chunk_bytes_is_reduced_where_all_fits),
		T(plan__items_shorter_than_segments_stay_where_the_list_does_not_fit),
		T(plan__3_5_3_stream_too_large_when_reduced_is_long),
		T(plan__3_5_3_long_stream_includes_roundup_padding),
		T(plan__3_4_2_only_eligible_items_are_reduced),
		T(plan__item_without_data_is_not_reduced),
		T(plan__3_4_4_item_without_a_count_in_front_is_not_reduced),
		T(plan__3_5_3_long_call_without_room_to_list_its_items_keeps_them),
		T(plan__8_2_2_nothing_is_reduced_under_gss_integrity),
		T(plan__header_that_does_not_fit_is_too_large),
		T(plan__4_3_3_chunks_that_a_reply_can_not_return_are_too_large),
		T(plan__refuses_what_is_out_of_range),
		T(plan__3_4_6_write_chunk_holds_the_largest_item),
		T(plan__4_3_2_each_write_chunk_holds_the_largest_item),
		T(plan__4_3_3_reply_chunk_when_the_largest_reply_exceeds_the_threshold),
		T(plan__4_3_3_largest_reply_counts_the_items_that_come_inline),
		T(encode__3_4_5_read_chunk_has_no_padding_and_its_unreduced_position),
		T(encode__3_5_3_segments_of_a_long_call_have_position_zero),
		T(encode__3_4_6_write_chunk_is_as_given_without_room_for_padding),
		T(encode__refuses_what_is_not_the_plans),
		cmocka_unit_test_setup(is_one_read__is_what_the_plan_says, setup),
	};

	return cmocka_run_group_tests_name("reduce_call", tests, NULL, NULL);
}
