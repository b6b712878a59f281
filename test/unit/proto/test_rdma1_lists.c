/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of chunk lists in the decoder: which lists are valid, and which the limits of a receiver
 * refuse. No list makes the decoder read after the end of the message. */
#include "rdma1_msg.h"

static const struct rdma1_limits tight = {
	.read_segments_max = 3,
	.read_chunks_max = 2,
	.write_chunks_max = 2,
	.segments_per_chunk_max = 2,
	.read_bytes_max = 10000,
	.write_bytes_max = 10000,
};

static void assert_tight(const struct msg *m, enum rdma1_reason reason)
{
	assert_verdict(m, RDMA1_CALL, &tight,
		       reason == RDMA1_R_NONE ? RDMA1_V_OK : RDMA1_V_ERR_CHUNK, reason);
}

/* Completes an RDMA_MSG call: ends the Read list, adds no other chunks, and adds 'payload'
 * bytes. */
static void finish(struct msg *m, uint32_t payload)
{
	msg_end(m);
	msg_end(m);
	msg_end(m);
	msg_payload(m, payload);
}

/* ---- Read list ---- */

static void reads__3_4_5_position_must_be_a_multiple_of_four(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t position = 40; position <= 64; position++) {
		msg_begin(&m, RDMA1_MSG);
		msg_read(&m, position, 1, 100, 0x1000);
		finish(&m, 64);
		if (position % 4 == 0)
			assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
		else
			assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_POSITION_UNALIGNED);
	}
}

static void reads__4_3_1_list_in_a_reply_is_dropped(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 48, 1, 100, 0x1000);
	finish(&m, 64);
	assert_reply(&m, RDMA1_V_DROP, RDMA1_R_READ_LIST_IN_REPLY);
}

static void reads__3_5_3_position_zero_with_an_inline_message_is_refused(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 0, 1, 100, 0x1000);
	finish(&m, 64);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_MSG_WITH_POSITION_ZERO);
}

static void reads__3_5_3_position_zero_segments_are_one_chunk(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 0, 1, 100, 0x1000);
	msg_read(&m, 96, 2, 17, 0x2000);
	msg_read(&m, 0, 3, 100, 0x3000);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.nread_segments, 3);
	assert_int_equal(hdr.nread_chunks, 2);
	assert_true(hdr.has_position_zero);
}

static void reads__position_beyond_the_stream_is_refused(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t position = 4; position <= 256; position += 4) {
		msg_begin(&m, RDMA1_MSG);
		msg_read(&m, position, 1, 100, 0x1000);
		finish(&m, 64);
		if (position >= 40 && position <= 64)
			assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
		else
			assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_POSITION_BEYOND);
	}
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 0xfffffffc, 1, 100, 0x1000);
	finish(&m, 64);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_POSITION_BEYOND);
}

/* Checks positions in the unreduced stream. 60 bytes are inline, and a chunk of 101 bytes takes 104
 * bytes of that stream. */
static void reads__3_4_5_position_counts_in_the_unreduced_stream(void **state)
{
	static const uint32_t positions[] = {156, 160, 164, 168};
	struct msg m;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t swapped = 0; swapped < 2; swapped++) {
			msg_begin(&m, RDMA1_MSG);
			if (swapped)
				msg_read(&m, positions[i], 2, 8, 0x2000);
			msg_read(&m, 60, 1, 101, 0x1000);
			if (!swapped)
				msg_read(&m, positions[i], 2, 8, 0x2000);
			finish(&m, 60);
			if (positions[i] < 164)
				assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_READS_OVERLAP);
			else if (positions[i] == 164)
				assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
			else
				assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_POSITION_BEYOND);
		}
	}
}

static void reads__position_in_a_long_call_is_held_to_its_stream(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t position = 36; position <= 208; position += 4) {
		msg_begin(&m, RDMA1_NOMSG);
		msg_read(&m, position, 2, 50, 0x2000);
		msg_read(&m, 0, 1, 200, 0x1000);
		msg_end(&m);
		msg_end(&m);
		msg_end(&m);
		if (position >= 40 && position <= 200)
			assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
		else
			assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_POSITION_BEYOND);
	}
}

static void reads__chunks_are_distinct_positions_in_any_order(void **state)
{
	static const uint32_t positions[] = {128, 44, 80, 44, 128, 80, 68, 128};
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	for (uint32_t i = 0; i < 8; i++)
		msg_read(&m, positions[i], 1, 10, 0x1000);
	finish(&m, 128);
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.nread_segments, 8);
	assert_int_equal(hdr.nread_chunks, 4);
	assert_int_equal(hdr.read_bytes, 80);
}

static void reads__count_limits(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t n = 1; n <= 5; n++) {
		msg_begin(&m, RDMA1_MSG); /* one chunk, n segments */
		for (uint32_t i = 0; i < n; i++)
			msg_read(&m, 48, 1, 10, 0x1000);
		finish(&m, 64);
		assert_tight(&m, n <= 3 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_READS);

		msg_begin(&m, RDMA1_MSG); /* n chunks */
		for (uint32_t i = 0; i < n; i++)
			msg_read(&m, 44 + 12 * i, 1, 10, 0x1000);
		finish(&m, 64);
		assert_tight(&m, n <= 2 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_READS);
	}
}

static void reads__chunks_are_capped_whatever_the_limit(void **state)
{
	struct rdma1_limits wide = rdma1_limits_default;
	struct msg m;

	(void)state;
	wide.read_chunks_max = UINT32_MAX;
	wide.read_segments_max = UINT32_MAX;
	for (uint32_t n = RDMA1_READ_CHUNKS_CAP - 1; n <= RDMA1_READ_CHUNKS_CAP + 1; n++) {
		msg_begin(&m, RDMA1_MSG);
		/* in descending order, so that each step moves all chunks */
		for (uint32_t i = n; i > 0; i--)
			msg_read(&m, 40 + 12 * i, 1, 10, 0x1000);
		finish(&m, 512);
		if (n <= RDMA1_READ_CHUNKS_CAP)
			assert_verdict(&m, RDMA1_CALL, &wide, RDMA1_V_OK, RDMA1_R_NONE);
		else
			assert_verdict(&m, RDMA1_CALL, &wide, RDMA1_V_ERR_CHUNK,
				       RDMA1_R_TOO_MANY_READS);
	}
}

static void reads__sum_over_the_limit_is_refused(void **state)
{
	struct rdma1_limits wide = rdma1_limits_default;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 48, 1, 10000, 0x1000);
	finish(&m, 64);
	assert_tight(&m, RDMA1_R_NONE);
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 48, 1, 10000, 0x1000);
	msg_read(&m, 48, 1, 1, 0x1000);
	finish(&m, 64);
	assert_tight(&m, RDMA1_R_TOO_LARGE);

	/* The sum exceeds 32 bits. As a 32-bit number it would be 100. */
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 48, 1, 0xffffffff, 0x1000);
	msg_read(&m, 48, 1, 101, 0x1000);
	finish(&m, 64);
	assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_TOO_LARGE);
	/* Without a limit the chunk is refused as well, because the length of a data item has 32
	 * bits. */
	wide.read_bytes_max = UINT64_MAX;
	assert_verdict(&m, RDMA1_CALL, &wide, RDMA1_V_ERR_CHUNK, RDMA1_R_TOO_LARGE);
}

/* ---- segments ---- */

static void segments__3_4_3_empty_segments_are_legal(void **state)
{
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 48, 1, 0, 0x1000);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 0, UINT64_MAX);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 0, 0);
	msg_payload(&m, 64);
	assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
}

static void segments__end_must_not_wrap(void **state)
{
	static const struct {
		uint64_t offset;
		uint32_t length;
		bool ok;
	} cases[] = {
		{UINT64_MAX, 0, true},
		{UINT64_MAX, 1, false},
		{UINT64_MAX - 1, 1, true},
		{UINT64_MAX - 1, 2, false},
		{UINT64_MAX - 0xffffff, 0xffffff, true},
		{UINT64_MAX - 0xffffff, 0x1000000, false},
		{UINT64_MAX - 0xffffff, 0xffffffff, false},
	};
	struct msg m;

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum rdma1_verdict verdict = cases[i].ok ? RDMA1_V_OK : RDMA1_V_ERR_CHUNK;
		enum rdma1_reason reason = cases[i].ok ? RDMA1_R_NONE : RDMA1_R_SEGMENT_WRAP;

		msg_begin(&m, RDMA1_MSG);
		msg_read(&m, 48, 1, cases[i].length, cases[i].offset);
		finish(&m, 64);
		assert_call(&m, verdict, reason);

		msg_begin(&m, RDMA1_MSG);
		msg_end(&m);
		msg_chunk(&m, 1);
		msg_segment(&m, 1, cases[i].length, cases[i].offset);
		msg_end(&m);
		msg_end(&m);
		msg_payload(&m, 64);
		assert_call(&m, verdict, reason);

		msg_begin(&m, RDMA1_MSG);
		msg_end(&m);
		msg_end(&m);
		msg_chunk(&m, 1);
		msg_segment(&m, 1, cases[i].length, cases[i].offset);
		msg_payload(&m, 64);
		assert_call(&m, verdict, reason);
	}
}

/* ---- Write list and Reply chunk ---- */

static void writes__4_3_2_empty_chunks_are_legal(void **state)
{
	struct rdma1_segment_iter chunk;
	enum rdma1_reason reason;
	struct rdma1_segment seg;
	struct rdma1_header hdr;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_end(&m);
	msg_chunk(&m, 0);
	msg_end(&m);
	msg_chunk(&m, 0);
	msg_payload(&m, 40);
	assert_int_equal(msg_decode(&m, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.nwrite_chunks, 1);
	assert_int_equal(hdr.write_bytes, 0);
	assert_true(hdr.has_reply_chunk);
	assert_int_equal(hdr.nreply_segments, 0);
	rdma1_reply_begin(&hdr, &chunk);
	assert_false(rdma1_segments_next(&chunk, &seg));
	assert_reply(&m, RDMA1_V_OK, RDMA1_R_NONE);
}

static void writes__count_limits(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t n = 0; n <= 4; n++) {
		msg_begin(&m, RDMA1_MSG); /* n empty chunks, which count as well */
		msg_end(&m);
		for (uint32_t i = 0; i < n; i++)
			msg_chunk(&m, 0);
		msg_end(&m);
		msg_end(&m);
		msg_payload(&m, 40);
		assert_tight(&m, n <= 2 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_WRITES);

		msg_begin(&m, RDMA1_MSG); /* one chunk of n segments */
		msg_end(&m);
		msg_chunk(&m, n);
		for (uint32_t i = 0; i < n; i++)
			msg_segment(&m, 1, 10, 0x1000);
		msg_end(&m);
		msg_end(&m);
		msg_payload(&m, 40);
		assert_tight(&m, n <= 2 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_SEGMENTS);

		msg_begin(&m, RDMA1_MSG); /* the Reply chunk */
		msg_end(&m);
		msg_end(&m);
		msg_chunk(&m, n);
		for (uint32_t i = 0; i < n; i++)
			msg_segment(&m, 1, 10, 0x1000);
		msg_payload(&m, 40);
		assert_tight(&m, n <= 2 ? RDMA1_R_NONE : RDMA1_R_TOO_MANY_SEGMENTS);
	}
}

static void writes__count_larger_than_the_message_is_refused(void **state)
{
	static const uint32_t counts[] = {5,	      0x10000,	  0x0fffffff, 0x10000000,
					  0x10000001, 0x7fffffff, 0xffffffff};
	struct rdma1_limits wide = rdma1_limits_default;
	struct msg m;

	(void)state;
	wide.segments_per_chunk_max = UINT32_MAX;
	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		enum rdma1_reason reason =
			counts[i] > UINT16_MAX ? RDMA1_R_TOO_MANY_SEGMENTS : RDMA1_R_TRUNCATED;

		msg_begin(&m, RDMA1_MSG);
		msg_end(&m);
		msg_chunk(&m, counts[i]);
		for (uint32_t j = 0; j < 4; j++)
			msg_segment(&m, 1, 10, 0x1000);
		assert_verdict(&m, RDMA1_CALL, &wide, RDMA1_V_ERR_CHUNK, reason);

		msg_begin(&m, RDMA1_MSG);
		msg_end(&m);
		msg_end(&m);
		msg_chunk(&m, counts[i]);
		for (uint32_t j = 0; j < 4; j++)
			msg_segment(&m, 1, 10, 0x1000);
		assert_verdict(&m, RDMA1_CALL, &wide, RDMA1_V_ERR_CHUNK, reason);
	}
}

static void writes__sum_includes_the_reply_chunk(void **state)
{
	struct msg m;

	(void)state;
	for (uint32_t reply = 3999; reply <= 4001; reply++) {
		msg_begin(&m, RDMA1_MSG);
		msg_end(&m);
		msg_chunk(&m, 1);
		msg_segment(&m, 1, 6000, 0x1000);
		msg_end(&m);
		msg_chunk(&m, 1);
		msg_segment(&m, 1, reply, 0x1000);
		msg_payload(&m, 40);
		assert_tight(&m, reply <= 4000 ? RDMA1_R_NONE : RDMA1_R_TOO_LARGE);
	}
}

/* ---- any list ---- */

static void lists__4_5_2_present_word_must_be_a_bool(void **state)
{
	struct msg rich, m;

	(void)state;
	msg_rich_call(&rich, 80);
	/* The offsets of the 'present' words in the message of msg_rich_call(), and the word after
	 * each list. */
	static const uint32_t at[] = {16, 40, 64, 88, 92, 132, 140, 144};

	for (uint32_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		for (uint32_t bit = 1; bit < 32; bit++) {
			m = rich;
			msg_set_u32(&m, at[i], 1u << bit);
			assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_BAD_BOOL);
			msg_set_u32(&m, at[i], 1u << bit | 1);
			assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_BAD_BOOL);
		}
	}
}

static void lists__4_5_2_every_truncation_is_err_chunk(void **state)
{
	uint32_t header_bytes;
	struct msg m;

	(void)state;
	msg_rich_call(&m, 80);
	header_bytes = m.len - 80;
	for (m.len = RDMA1_HEADER_MIN; m.len < header_bytes; m.len++)
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_TRUNCATED);
	for (; m.len < header_bytes + 4; m.len++)
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_PAYLOAD_SHORT);
	for (; m.len < header_bytes + 48; m.len++) /* the position of the first Read chunk is 48 */
		assert_call(&m, RDMA1_V_ERR_CHUNK, RDMA1_R_POSITION_BEYOND);
	for (m.len = header_bytes + 76; m.len < header_bytes + 90; m.len++)
		assert_call(&m, RDMA1_V_OK, RDMA1_R_NONE);
}

static void lists__every_truncation_of_a_reply_is_dropped(void **state)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	uint32_t full;
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_end(&m);
	msg_chunk(&m, 2);
	msg_segment(&m, 1, 100, 0x1000);
	msg_segment(&m, 2, 0, 0x2000);
	msg_chunk(&m, 0);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 3, 2000, 0x3000);
	full = m.len;
	assert_reply(&m, RDMA1_V_OK, RDMA1_R_NONE);
	for (m.len = 0; m.len < full; m.len++)
		assert_int_equal(msg_decode(&m, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
				 RDMA1_V_DROP);
}

/* Checks that all that the iterators of an accepted header return is inside the header. */
static void walk(const struct msg *m, const struct rdma1_header *hdr)
{
	uint64_t read_bytes = 0, write_bytes = 0, reply_bytes = 0;
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;
	struct rdma1_segment seg;

	assert_in_range(hdr->header_bytes, RDMA1_ERR_CHUNK_SIZE, m->len);
	rdma1_reads_begin(hdr, &reads);
	while (rdma1_reads_next(&reads, &read))
		read_bytes += read.target.length;
	assert_true(!hdr->reads || reads.p <= m->buf + hdr->header_bytes - 12);
	rdma1_writes_begin(hdr, &writes);
	while (rdma1_writes_next(&writes, &chunk))
		while (rdma1_segments_next(&chunk, &seg))
			write_bytes += seg.length;
	assert_true(!hdr->writes || writes.p <= m->buf + hdr->header_bytes - 8);
	rdma1_reply_begin(hdr, &chunk);
	while (rdma1_segments_next(&chunk, &seg))
		reply_bytes += seg.length;
	assert_true(!hdr->has_reply_chunk || chunk.p == m->buf + hdr->header_bytes);
	assert_true(read_bytes == hdr->read_bytes);
	assert_true(write_bytes + reply_bytes == hdr->write_bytes);
	assert_true(reply_bytes == hdr->reply_bytes);
	assert_true(hdr->read_bytes <= rdma1_limits_default.read_bytes_max);
	assert_true(hdr->write_bytes <= rdma1_limits_default.write_bytes_max);
	assert_true(hdr->nread_chunks <= hdr->nread_segments);
}

/* Flips each bit of a message, and puts unusual values in each word. Checks that the verdict is
 * consistent. */
static void corrupt(const struct msg *good, enum rdma1_direction direction)
{
	static const uint32_t odd[] = {0, 1,	      2,	  3,	      4,
				       5, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m = *good;

	for (uint32_t bit = 0; bit < good->len * 8; bit++) {
		m.buf[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		if (msg_decode(&m, direction, &rdma1_limits_default, &hdr, &reason) == RDMA1_V_OK)
			walk(&m, &hdr);
		m.buf[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	for (uint32_t at = 0; at + 4 <= good->len; at += 4) {
		for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
			m = *good;
			msg_set_u32(&m, at, odd[i]);
			if (msg_decode(&m, direction, &rdma1_limits_default, &hdr, &reason) ==
			    RDMA1_V_OK)
				walk(&m, &hdr);
		}
	}
}

static void lists__any_corruption_is_survived(void **state)
{
	struct msg m;

	(void)state;
	msg_rich_call(&m, 80);
	corrupt(&m, RDMA1_CALL);
	corrupt(&m, RDMA1_REPLY);
	msg_short(&m, 40);
	corrupt(&m, RDMA1_CALL);
	msg_begin(&m, RDMA1_NOMSG);
	msg_end(&m);
	msg_chunk(&m, 2);
	msg_segment(&m, 1, 100, 0x1000);
	msg_segment(&m, 2, 0, 0x2000);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 3, 2000, 0x3000);
	corrupt(&m, RDMA1_REPLY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads__3_4_5_position_must_be_a_multiple_of_four),
		cmocka_unit_test(reads__4_3_1_list_in_a_reply_is_dropped),
		cmocka_unit_test(reads__3_5_3_position_zero_with_an_inline_message_is_refused),
		cmocka_unit_test(reads__3_5_3_position_zero_segments_are_one_chunk),
		cmocka_unit_test(reads__position_beyond_the_stream_is_refused),
		cmocka_unit_test(reads__3_4_5_position_counts_in_the_unreduced_stream),
		cmocka_unit_test(reads__position_in_a_long_call_is_held_to_its_stream),
		cmocka_unit_test(reads__chunks_are_distinct_positions_in_any_order),
		cmocka_unit_test(reads__count_limits),
		cmocka_unit_test(reads__chunks_are_capped_whatever_the_limit),
		cmocka_unit_test(reads__sum_over_the_limit_is_refused),
		cmocka_unit_test(segments__3_4_3_empty_segments_are_legal),
		cmocka_unit_test(segments__end_must_not_wrap),
		cmocka_unit_test(writes__4_3_2_empty_chunks_are_legal),
		cmocka_unit_test(writes__count_limits),
		cmocka_unit_test(writes__count_larger_than_the_message_is_refused),
		cmocka_unit_test(writes__sum_includes_the_reply_chunk),
		cmocka_unit_test(lists__4_5_2_present_word_must_be_a_bool),
		cmocka_unit_test(lists__4_5_2_every_truncation_is_err_chunk),
		cmocka_unit_test(lists__every_truncation_of_a_reply_is_dropped),
		cmocka_unit_test(lists__any_corruption_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
