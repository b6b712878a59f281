/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the replies that a requester decodes on the fast path: without chunks or with one Write
 * chunk, followed by a plain RPC header. The tests change each byte to each value, and cut the
 * message at each length. The fast path must accept a message if and only if the decoders of lists
 * and of fields accept it as such a reply. The values must be the same.
 */
#include <stdlib.h>

#include "rdma1_msg.h"
#include "shape.h"

#define HANDLE	     0xabcd0123u
#define OFFSET	     UINT64_C(0x123456789abcdef0)
#define RESULT_BYTES 8u

static const struct rdma1_limits *limits = &rdma1_limits_default;

/* The values that a path reads from a message. */
struct seen {
	bool is_plain;
	uint32_t header_bytes;
	uint32_t xid;
	uint32_t credit;
	struct rdma1_segment seg; /* valid if the reply has a chunk */
	uint32_t rpc_xid;
	uint32_t verf_flavor, verf_bytes, reply_stat, accept_stat;
	uint64_t left; /* bytes of results */
};

static void put_reply(struct msg *m, bool has_chunk)
{
	msg_begin(m, RDMA1_MSG);
	msg_u32(m, 0);
	if (has_chunk) {
		msg_chunk(m, 1);
		msg_segment(m, HANDLE, 4096, OFFSET);
	}
	msg_u32(m, 0);
	msg_u32(m, 0);
	msg_u32(m, MSG_XID);
	msg_u32(m, WEIR_RPC_REPLY);
	for (uint32_t i = 0; i < 4 + RESULT_BYTES / 4; i++)
		msg_u32(m, 0);
}

/*
 * call_read_reply.c has one 'reply' and one 'in' for all replies. They still contain the state of
 * the previous reply.
 */
static struct weir_rpc_reply_header reply;
static struct weir_xdr_in in;

/*
 * Puts the decoder into a state that a previous reply can leave: it has failed, or it is in the
 * middle of parts.
 */
static void leave_behind(void)
{
	static const uint8_t bytes[24];
	static const struct weir_xdr_part parts[3] = {
		{bytes, 8, 0}, {bytes + 8, 8, 1}, {bytes + 16, 8, 0}};
	static uint32_t count;
	uint32_t word;

	if (count++ % 2 == 0)
		weir_xdr_in_init_parts(&in, parts, 1 + count / 2 % 3);
	for (uint32_t i = 0; i < count % 5 && weir_xdr_get_u32(&in, &word) == 0; i++)
		;
	if (count % 3 == 0)
		while (weir_xdr_get_u32(&in, &word) == 0)
			;
}

/* Reads the reply as call_read_reply.c does on the fast path. */
static struct seen by_the_fast_path(const uint8_t *msg, uint32_t len)
{
	struct seen seen = {0};

	if (len < shape_reply_bytes(SHAPE_INLINE)) {
		return (struct seen){0};
	} else if (shape_match_reply(msg, len, SHAPE_INLINE, limits)) {
		seen.header_bytes = RDMA1_HEADER_MIN;
	} else if (shape_match_reply(msg, len, SHAPE_ONE_WRITE, limits)) {
		seen.header_bytes = RDMA1_ONE_WRITE_SIZE;
		seen.seg = rdma1_decode_one_write(msg);
	} else {
		return (struct seen){0};
	}
	assert_int_equal(shape_has_chunk(msg), seen.header_bytes == RDMA1_ONE_WRITE_SIZE);
	rpc_view_plain_reply(msg + seen.header_bytes, msg + len,
			     wire_get_u32(msg + seen.header_bytes), &in, &reply);
	seen.is_plain = true;
	seen.xid = wire_get_u32(msg);
	seen.credit = wire_get_u32(msg + 8);
	seen.rpc_xid = reply.xid;
	seen.verf_flavor = reply.verf.flavor;
	seen.verf_bytes = reply.verf.len_bytes;
	seen.reply_stat = reply.reply_stat;
	seen.accept_stat = reply.accept_stat;
	seen.left = weir_xdr_remaining(&in);
	leave_behind();
	return seen;
}

/* Decodes the transport header list by list, as rdma1_decode() does if no shape matches. */
static bool decode_lists(const uint8_t *msg, uint32_t len, struct rdma1_header *hdr)
{
	*hdr = (struct rdma1_header){0};
	if (len < RDMA1_HEADER_MIN)
		return false;
	hdr->xid = wire_get_u32(msg);
	hdr->vers = wire_get_u32(msg + 4);
	hdr->credit = wire_get_u32(msg + 8);
	hdr->proc = wire_get_u32(msg + 12);
	return hdr->vers == RDMA1_VERSION && hdr->proc == RDMA1_MSG &&
	       rdma1_decode_lists(msg, len, RDMA1_FIXED_SIZE, RDMA1_REPLY, limits, hdr) ==
		       RDMA1_R_NONE;
}

/* Decodes the RPC header field by field, because it is divided into two parts. */
static bool decode_fields(const uint8_t *msg, uint32_t len, struct seen *seen)
{
	const struct weir_xdr_part parts[2] = {{msg, 4, 0}, {msg + 4, len - 4, 0}};
	struct weir_rpc_reply_header hdr;
	struct weir_xdr_in fields;

	weir_xdr_in_init_parts(&fields, parts, 2);
	if (rpc_reply_decode(&fields, &hdr) != 0)
		return false;
	seen->rpc_xid = hdr.xid;
	seen->verf_flavor = hdr.verf.flavor;
	seen->verf_bytes = hdr.verf.len_bytes;
	seen->reply_stat = hdr.reply_stat;
	seen->accept_stat = hdr.accept_stat;
	seen->left = weir_xdr_remaining(&fields);
	return true;
}

static struct seen by_the_decoders(const uint8_t *msg, uint32_t len)
{
	struct rdma1_segment_iter segments = {0};
	struct rdma1_write_iter chunks;
	struct seen seen = {0};
	struct rdma1_header hdr;

	if (!decode_lists(msg, len, &hdr) || hdr.has_reply_chunk || hdr.nwrite_chunks > 1)
		return (struct seen){0};
	rdma1_writes_begin(&hdr, &chunks);
	if (rdma1_writes_next(&chunks, &segments) &&
	    (segments.left != 1 || !rdma1_segments_next(&segments, &seen.seg)))
		return (struct seen){0};
	if (!decode_fields(msg + hdr.header_bytes, len - hdr.header_bytes, &seen))
		return (struct seen){0};
	seen.header_bytes = hdr.header_bytes;
	seen.xid = hdr.xid;
	seen.credit = hdr.credit;
	seen.is_plain = seen.reply_stat == WEIR_RPC_MSG_ACCEPTED &&
			seen.verf_flavor == WEIR_RPC_AUTH_NONE && seen.verf_bytes == 0 &&
			seen.accept_stat == WEIR_RPC_SUCCESS;
	return seen.is_plain ? seen : (struct seen){0};
}

/*
 * Checks that both paths give the same result. Returns true if they accept the message as a plain
 * reply.
 */
static bool check_same(const uint8_t *msg, uint32_t len)
{
	const struct seen quick = by_the_fast_path(msg, len), full = by_the_decoders(msg, len);

	assert_int_equal(quick.is_plain, full.is_plain);
	assert_int_equal(quick.header_bytes, full.header_bytes);
	assert_int_equal(quick.xid, full.xid);
	assert_int_equal(quick.credit, full.credit);
	assert_int_equal(quick.seg.handle, full.seg.handle);
	assert_int_equal(quick.seg.length, full.seg.length);
	assert_int_equal(quick.seg.offset, full.seg.offset);
	assert_int_equal(quick.rpc_xid, full.rpc_xid);
	assert_int_equal(quick.verf_flavor, full.verf_flavor);
	assert_int_equal(quick.verf_bytes, full.verf_bytes);
	assert_int_equal(quick.reply_stat, full.reply_stat);
	assert_int_equal(quick.accept_stat, full.accept_stat);
	assert_int_equal(quick.left, full.left);
	return quick.is_plain;
}

/*
 * Changes each byte to each other value, and cuts the message at each length. Returns the number of
 * messages that the fast path accepted.
 */
static uint32_t check_each_byte(bool has_chunk)
{
	uint32_t nplain = 0;
	struct msg m;

	put_reply(&m, has_chunk);
	assert_true(check_same(m.buf, m.len));
	for (uint32_t i = 0; i < m.len; i++) {
		for (uint32_t change = 1; change < 256; change++) {
			m.buf[i] ^= (uint8_t)change;
			nplain += check_same(m.buf, m.len);
			m.buf[i] ^= (uint8_t)change;
		}
	}
	for (uint32_t len = 0; len < m.len; len++) {
		/*
		 * The copy has exactly this length, so that the sanitizer detects a read after its
		 * end.
		 */
		uint8_t *cut = malloc(len ? len : 1);

		assert_non_null(cut);
		memcpy(cut, m.buf, len);
		nplain += check_same(cut, len);
		free(cut);
	}
	return nplain;
}

static void reply__each_byte_of_one_without_chunks(void **state)
{
	(void)state;
	/*
	 * The 12 bytes of credits and results can have any value. A message that is cut can have
	 * fewer results.
	 */
	assert_int_equal(check_each_byte(false), 12 * 255 + RESULT_BYTES);
}

static void reply__each_byte_of_one_with_a_chunk(void **state)
{
	(void)state;
	/*
	 * The bytes of credits, results, handle and offset can have any value. The length can have
	 * any value up to the limit of 64 MiB.
	 */
	assert_in_range(check_each_byte(true), 24 * 255 + RESULT_BYTES, 28 * 255 + RESULT_BYTES);
}

static void reply__with_a_chunk_within_the_limits(void **state)
{
	struct rdma1_limits narrow = rdma1_limits_default;
	struct msg m;

	(void)state;
	put_reply(&m, true);
	limits = &narrow;
	narrow.write_bytes_max = 4095;
	assert_false(check_same(m.buf, m.len));
	narrow.write_bytes_max = 4096;
	assert_true(check_same(m.buf, m.len));
	narrow.segments_per_chunk_max = 0;
	assert_false(check_same(m.buf, m.len));
	narrow.segments_per_chunk_max = 1;
	narrow.write_chunks_max = 0;
	assert_false(check_same(m.buf, m.len));
	limits = &rdma1_limits_default;
	memset(m.buf + 36, 0xff, 8); /* offset + length wraps */
	assert_false(check_same(m.buf, m.len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reply__each_byte_of_one_without_chunks),
		cmocka_unit_test(reply__each_byte_of_one_with_a_chunk),
		cmocka_unit_test(reply__with_a_chunk_within_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
