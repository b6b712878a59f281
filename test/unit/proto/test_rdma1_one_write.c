/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the fast path for a call with one Write chunk of one segment, the shape of a READ. The
 * results must equal those of the general path.
 */
#include "rdma1_msg.h"
#include "shape.h"

static const struct rdma1_segment segment = {0xabcd0123, 4096, 0x123456789abcdef0};

static uint32_t by_the_writer(uint8_t *buf, uint32_t size)
{
	struct rdma1_writer w;

	rdma1_write_begin(&w, buf, size, MSG_XID, MSG_CREDIT, RDMA1_MSG);
	rdma1_write_list_end(&w);
	rdma1_write_chunk(&w, 1);
	rdma1_write_segment(&w, &segment);
	rdma1_write_list_end(&w);
	rdma1_write_no_reply_chunk(&w);
	assert_false(w.failed);
	return rdma1_writer_len(&w);
}

/* Makes a whole message of this shape. Returns its length. */
static uint32_t message(uint8_t *buf)
{
	const uint8_t xid[4] = {0x5e, 0xed, 0x00, 0x01};

	msg_encode_shape(buf, SHAPE_ONE_WRITE, MSG_XID, MSG_CREDIT, 0, &segment);
	memcpy(buf + RDMA1_ONE_WRITE_SIZE, xid, 4);
	memset(buf + RDMA1_ONE_WRITE_SIZE + 4, 0, 36);
	return RDMA1_ONE_WRITE_SIZE + 40;
}

static void encode_one_chunk__is_what_the_writer_writes(void **state)
{
	uint8_t buf[RDMA1_ONE_WRITE_SIZE + 5], other[RDMA1_ONE_WRITE_SIZE];

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	msg_encode_shape(buf, SHAPE_ONE_WRITE, MSG_XID, MSG_CREDIT, 0, &segment);
	assert_int_equal(by_the_writer(other, sizeof(other)), RDMA1_ONE_WRITE_SIZE);
	assert_memory_equal(buf, other, sizeof(other));
	assert_int_equal(wire_get_u32(buf + RDMA1_ONE_WRITE_SIZE), MSG_XID);
	assert_int_equal(buf[RDMA1_ONE_WRITE_SIZE + 4], 0xee);
}

static void encode_one_chunk__4_3_2_of_a_reply_is_the_calls_with_what_was_written(void **state)
{
	struct rdma1_segment used = segment;
	uint8_t call[128], buf[RDMA1_ONE_WRITE_SIZE + 5], want[RDMA1_ONE_WRITE_SIZE + 4];
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	uint32_t len = message(call);

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	assert_int_equal(rdma1_decode(call, len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	used.length = 77;
	msg_encode_shape(want, SHAPE_ONE_WRITE, MSG_XID, 5, 0, &used);
	assert_true(rdma1_is_one_write(&hdr, &used));
	assert_memory_equal(&used, &segment, sizeof(used));
	used.length = 77;
	msg_encode_shape(buf, SHAPE_ONE_WRITE, MSG_XID, 5, 0, &used);
	assert_memory_equal(buf, want, sizeof(want));
	/* The call's own Write list, except for the length. */
	memcpy(want + 20, hdr.writes, RDMA1_ONE_WRITE_SIZE - 20);
	memcpy(want + 32, buf + 32, 4);
	assert_memory_equal(buf, want, sizeof(want));
	assert_int_equal(wire_get_u32(buf + RDMA1_ONE_WRITE_SIZE), MSG_XID);
	assert_int_equal(buf[RDMA1_ONE_WRITE_SIZE + 4], 0xee);
}

static void decode__4_3_2_one_chunk_is_found_and_iterates(void **state)
{
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	struct rdma1_header hdr;
	struct rdma1_segment seg;
	enum rdma1_reason reason;
	uint8_t buf[128];
	uint32_t len = message(buf);

	(void)state;
	assert_int_equal(rdma1_decode(buf, len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.header_bytes, RDMA1_ONE_WRITE_SIZE);
	assert_int_equal(hdr.write_bytes, 4096);
	assert_true(rdma1_is_one_write(&hdr, &seg));
	assert_memory_equal(&seg, &segment, sizeof(seg));
	rdma1_writes_begin(&hdr, &chunks);
	assert_true(rdma1_writes_next(&chunks, &segments));
	assert_true(rdma1_segments_next(&segments, &seg));
	assert_memory_equal(&seg, &segment, sizeof(seg));
	assert_false(rdma1_segments_next(&segments, &seg));
	assert_false(rdma1_writes_next(&chunks, &segments));
}

/* Checks that each bit is compared: the verdict must be that of the general path. */
static void decode__each_bit_of_one_chunk_is_looked_at(void **state)
{
	uint8_t buf[128];
	uint32_t len = message(buf);

	(void)state;
	for (uint32_t bit = 0; bit < 8 * (RDMA1_ONE_WRITE_SIZE + 4); bit++) {
		uint32_t word = bit / 32;
		struct rdma1_header hdr;
		enum rdma1_reason reason;
		enum rdma1_verdict verdict;
		/*
		 * Credits, handle, length and offset can have any value, except a length over the
		 * limit.
		 */
		bool is_free = word == 2 || word == 7 || word == 9 || word == 10;

		buf[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		verdict = rdma1_decode(buf, len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason);
		if (word != 8)
			assert_int_equal(verdict == RDMA1_V_OK, is_free);
		buf[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
}

static void decode__one_chunk_obeys_the_limits(void **state)
{
	struct rdma1_limits limits = rdma1_limits_default;
	struct rdma1_header hdr;
	enum rdma1_reason reason;
	uint8_t buf[128];
	uint32_t len = message(buf);

	(void)state;
	limits.write_bytes_max = 4096;
	assert_int_equal(rdma1_decode(buf, len, RDMA1_CALL, &limits, &hdr, &reason), RDMA1_V_OK);
	limits.write_bytes_max = 4095;
	assert_int_equal(rdma1_decode(buf, len, RDMA1_CALL, &limits, &hdr, &reason),
			 RDMA1_V_ERR_CHUNK);
	assert_int_equal(reason, RDMA1_R_TOO_LARGE);
	limits = rdma1_limits_default;
	limits.write_chunks_max = 0;
	assert_int_equal(rdma1_decode(buf, len, RDMA1_CALL, &limits, &hdr, &reason),
			 RDMA1_V_ERR_CHUNK);
	limits = rdma1_limits_default;
	limits.segments_per_chunk_max = 0;
	assert_int_equal(rdma1_decode(buf, len, RDMA1_CALL, &limits, &hdr, &reason),
			 RDMA1_V_ERR_CHUNK);
	memset(buf + 36, 0xff, 8); /* offset + length wraps */
	assert_int_equal(rdma1_decode(buf, len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_ERR_CHUNK);
	assert_int_equal(reason, RDMA1_R_SEGMENT_WRAP);
}

static void decode__one_chunk_cut_anywhere_is_not_accepted(void **state)
{
	struct rdma1_header hdr;
	enum rdma1_reason reason;
	uint8_t buf[128];

	(void)state;
	message(buf);
	for (uint32_t len = 0; len < RDMA1_ONE_WRITE_SIZE + 4; len++)
		assert_int_not_equal(
			rdma1_decode(buf, len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			RDMA1_V_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode_one_chunk__is_what_the_writer_writes),
		cmocka_unit_test(
			encode_one_chunk__4_3_2_of_a_reply_is_the_calls_with_what_was_written),
		cmocka_unit_test(decode__4_3_2_one_chunk_is_found_and_iterates),
		cmocka_unit_test(decode__each_bit_of_one_chunk_is_looked_at),
		cmocka_unit_test(decode__one_chunk_obeys_the_limits),
		cmocka_unit_test(decode__one_chunk_cut_anywhere_is_not_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
