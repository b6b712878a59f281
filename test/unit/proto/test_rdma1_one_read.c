/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the fast path for a call with one Read segment, the shape of a WRITE. The path must
 * accept only messages that the list decoder accepts, and return the same values. All other
 * messages go to the list decoder.
 */
#include <stdlib.h>

#include "rdma1_by_lists.h"

#define POSITION 60u
#define PAYLOAD	 72u

static const struct rdma1_segment segment = {0xabcd0123, 4096, 0x123456789abcdef0};

static void message(struct msg *m, uint32_t position, uint32_t payload)
{
	msg_begin(m, RDMA1_MSG);
	msg_read(m, position, segment.handle, segment.length, segment.offset);
	for (uint32_t i = 0; i < 3; i++)
		msg_end(m);
	msg_payload(m, payload);
}

static bool is_msg_of_version_1(const struct msg *m)
{
	return m->len >= RDMA1_HEADER_MIN && wire_get_u32(m->buf + 4) == RDMA1_VERSION &&
	       wire_get_u32(m->buf + 12) == RDMA1_MSG;
}

/* Decodes a message by both ways and compares the results. Returns true if it is accepted. */
static bool decode_both(const struct msg *m, enum rdma1_direction direction,
			const struct rdma1_limits *limits)
{
	struct rdma1_header hdr, full;
	enum rdma1_reason reason, full_reason;
	enum rdma1_verdict verdict;

	memset(&hdr, 0xee, sizeof(hdr));
	verdict = rdma1_decode(m->buf, m->len, direction, limits, &hdr, &reason);
	assert_int_equal(verdict == RDMA1_V_OK, reason == RDMA1_R_NONE);
	if (!is_msg_of_version_1(m))
		return verdict == RDMA1_V_OK;
	full_reason = decode_by_lists(m->buf, m->len, direction, limits, &full);
	assert_int_equal(reason, full_reason);
	if (verdict == RDMA1_V_OK)
		assert_same_header(&hdr, &full);
	return verdict == RDMA1_V_OK;
}

static void decode__3_4_5_one_read_is_found(void **state)
{
	struct rdma1_read_segment seg;
	struct rdma1_read_iter reads;
	struct rdma1_header hdr;
	enum rdma1_reason reason;
	struct msg m;

	(void)state;
	message(&m, POSITION, PAYLOAD);
	assert_int_equal(
		rdma1_decode(m.buf, m.len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	assert_int_equal(hdr.header_bytes, RDMA1_ONE_READ_SIZE);
	assert_int_equal(hdr.read_bytes, 4096);
	assert_true(rdma1_is_one_read(&hdr, &seg));
	assert_int_equal(seg.position, POSITION);
	assert_memory_equal(&seg.target, &segment, sizeof(segment));
	rdma1_reads_begin(&hdr, &reads);
	memset(&seg, 0, sizeof(seg));
	assert_true(rdma1_reads_next(&reads, &seg));
	assert_int_equal(seg.position, POSITION);
	assert_memory_equal(&seg.target, &segment, sizeof(segment));
	assert_false(rdma1_reads_next(&reads, &seg));
}

static void is_one_read__other_headers_of_that_size_are_not(void **state)
{
	struct rdma1_read_segment seg;
	struct rdma1_header hdr;
	enum rdma1_reason reason;
	struct msg m;

	(void)state;
	/* a Long Message */
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 0, 1, 100, 0);
	for (uint32_t i = 0; i < 3; i++)
		msg_end(&m);
	assert_int_equal(
		rdma1_decode(m.buf, m.len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	assert_int_equal(hdr.header_bytes, RDMA1_ONE_READ_SIZE);
	assert_false(rdma1_is_one_read(&hdr, &seg));
	/* a Write chunk of one segment */
	msg_begin(&m, RDMA1_MSG);
	msg_end(&m);
	msg_chunk(&m, 1);
	msg_segment(&m, 1, 100, 0);
	msg_end(&m);
	msg_end(&m);
	msg_payload(&m, 40);
	assert_int_equal(
		rdma1_decode(m.buf, m.len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	assert_int_equal(hdr.header_bytes, RDMA1_ONE_READ_SIZE);
	assert_false(rdma1_is_one_read(&hdr, &seg));
}

/* Checks each value of each byte of the header and of the XID after it. */
static void decode__each_value_of_each_byte_of_one_read(void **state)
{
	uint32_t accepted = 0;
	struct msg m;

	(void)state;
	message(&m, POSITION, PAYLOAD);
	for (uint32_t at = 0; at < RDMA1_ONE_READ_SIZE + 4; at++) {
		uint8_t was = m.buf[at];

		for (uint32_t value = 0; value < 256; value++) {
			m.buf[at] = (uint8_t)value;
			accepted += decode_both(&m, RDMA1_CALL, &rdma1_limits_default);
			decode_both(&m, RDMA1_REPLY, &rdma1_limits_default);
		}
		m.buf[at] = was;
	}
	/*
	 * Credits, handle and offset can have any value, except the first byte of the offset, one
	 * value of which wraps. A byte with one valid value adds one. The others are positions and
	 * lengths.
	 */
	assert_in_range(accepted, 16 * 256, 20 * 256);
}

/*
 * Checks messages that are cut or extended, positions near the end of the stream, and low limits.
 */
static void decode__one_read_of_any_length_position_and_limit(void **state)
{
	uint32_t accepted = 0;

	(void)state;
	srandom(5);
	for (uint32_t round = 0; round < 200000; round++) {
		struct rdma1_limits limits = rdma1_limits_default;
		struct msg m;

		message(&m, (uint32_t)random() % 30 * 4, 4 + (uint32_t)random() % 30 * 4);
		if (random() % 4 == 0)
			limits.read_segments_max = (uint32_t)random() % 2;
		if (random() % 4 == 0)
			limits.read_chunks_max = (uint32_t)random() % 2;
		if (random() % 4 == 0)
			limits.read_bytes_max = 4095 + (uint64_t)random() % 3;
		for (long n = random() % 3; n > 0; n--)
			msg_set_u32(&m, (uint32_t)random() % 14 * 4,
				    random() % 2 ? (uint32_t)random() % 3
						 : UINT32_MAX - (uint32_t)random() % 9000);
		if (random() % 8 == 0)
			m.len = (uint32_t)random() % m.len;
		accepted += decode_both(&m, RDMA1_CALL, &limits);
	}
	assert_in_range(accepted, 5000, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__3_4_5_one_read_is_found),
		cmocka_unit_test(is_one_read__other_headers_of_that_size_are_not),
		cmocka_unit_test(decode__each_value_of_each_byte_of_one_read),
		cmocka_unit_test(decode__one_read_of_any_length_position_and_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
