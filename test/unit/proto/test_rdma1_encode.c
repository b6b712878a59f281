/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of encoding the version 1 transport header: the words are those of RFC 8166 section 4.7,
 * the writer stays within its buffer, and each header can be decoded.
 */
#include "rdma1_msg.h"
#include "shape.h"

static void assert_bytes(const uint8_t *buf, uint32_t len, const struct msg *expected)
{
	assert_int_equal(len, expected->len);
	assert_memory_equal(buf, expected->buf, len);
}

static void encode_short__4_is_the_exact_header(void **state)
{
	uint8_t buf[RDMA1_HEADER_MIN + 5];
	struct msg m;

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	msg_encode_shape(buf, SHAPE_INLINE, MSG_XID, MSG_CREDIT, 0, NULL);
	msg_short(&m, 4);
	m.len = RDMA1_HEADER_MIN;
	assert_bytes(buf, RDMA1_HEADER_MIN, &m);
	assert_int_equal(wire_get_u32(buf + RDMA1_HEADER_MIN), MSG_XID);
	assert_int_equal(buf[RDMA1_HEADER_MIN + 4], 0xee);
}

static void encode_short__is_what_the_writer_writes(void **state)
{
	uint8_t buf[RDMA1_HEADER_MIN + 4], other[RDMA1_HEADER_MIN];
	struct rdma1_writer w;

	(void)state;
	msg_encode_shape(buf, SHAPE_INLINE, 0x80000001, 0xffff, 0, NULL);
	rdma1_write_begin(&w, other, sizeof(other), 0x80000001, 0xffff, RDMA1_MSG);
	rdma1_write_list_end(&w);
	rdma1_write_list_end(&w);
	rdma1_write_no_reply_chunk(&w);
	assert_false(w.failed);
	assert_int_equal(rdma1_writer_len(&w), RDMA1_HEADER_MIN);
	assert_memory_equal(buf, other, sizeof(other));
	memset(other, 0xff, sizeof(other));
	rdma1_write_begin(&w, other, sizeof(other), 0x80000001, 0xffff, RDMA1_MSG);
	rdma1_write_no_results(&w);
	assert_false(w.failed);
	assert_int_equal(rdma1_writer_len(&w), RDMA1_HEADER_MIN);
	assert_memory_equal(buf, other, sizeof(other));
	rdma1_write_begin(&w, other, RDMA1_HEADER_MIN - 1, 0x80000001, 0xffff, RDMA1_MSG);
	rdma1_write_no_results(&w);
	assert_true(w.failed);
}

static void write_call(struct rdma1_writer *w, uint8_t *buf, uint32_t size)
{
	rdma1_write_begin(w, buf, size, MSG_XID, MSG_CREDIT, RDMA1_MSG);
	rdma1_write_read_segment(w, 48, &(struct rdma1_segment){0x11, 1001, 0x1000});
	rdma1_write_read_segment(w, 1080, &(struct rdma1_segment){0x22, 5, 0x2000});
	rdma1_write_read_segment(w, 1080, &(struct rdma1_segment){0x23, 4091, 0x200000000});
	rdma1_write_list_end(w);
	rdma1_write_chunk(w, 2);
	rdma1_write_segment(w, &(struct rdma1_segment){0x31, 4096, 0x3000});
	rdma1_write_segment(w, &(struct rdma1_segment){0x32, 0, 0x4000});
	rdma1_write_chunk(w, 0);
	rdma1_write_list_end(w);
	rdma1_write_reply_chunk(w, 3);
	rdma1_write_segment(w, &(struct rdma1_segment){0x41, 1, 0x5000});
	rdma1_write_segment(w, &(struct rdma1_segment){0x42, 2, 0x6000});
	rdma1_write_segment(w, &(struct rdma1_segment){0x43, 3, 0xfffffffffffffff0});
}

static void writer__4_header_is_xdr(void **state)
{
	struct rdma1_writer w;
	uint8_t buf[512];
	struct msg m;

	(void)state;
	write_call(&w, buf, sizeof(buf));
	assert_false(w.failed);
	msg_rich_call(&m, 4);
	m.len -= 4;
	assert_bytes(buf, rdma1_writer_len(&w), &m);
}

static void writer__every_size_too_small_fails_within_bounds(void **state)
{
	struct rdma1_writer w;
	uint8_t full[512];
	uint32_t need;

	(void)state;
	write_call(&w, full, sizeof(full));
	need = rdma1_writer_len(&w);
	for (uint32_t size = 0; size <= need; size++) {
		uint8_t *buf =
			test_malloc(size + 1u); /* test_free() checks the bytes after the buffer */

		memset(buf, 0xee, size + 1u);
		write_call(&w, buf, size);
		assert_int_equal(w.failed, size < need);
		assert_int_equal(buf[size], 0xee);
		/* After the first item that does not fit, nothing is written. */
		assert_memory_equal(buf, full, rdma1_writer_len(&w));
		test_free(buf);
	}
}

static void encode_err__4_5_fields_are_those_of_the_failing_request(void **state)
{
	uint8_t buf[RDMA1_ERR_VERS_SIZE];
	struct msg m;

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	msg_begin(&m, RDMA1_ERROR);
	msg_u32(&m, RDMA1_ERR_CHUNK);
	assert_int_equal(rdma1_encode_err_chunk(buf, MSG_XID, 1, MSG_CREDIT), RDMA1_ERR_CHUNK_SIZE);
	assert_bytes(buf, RDMA1_ERR_CHUNK_SIZE, &m);
	assert_int_equal(buf[RDMA1_ERR_CHUNK_SIZE], 0xee);

	msg_begin(&m, RDMA1_ERROR);
	msg_set_u32(&m, 4, 77); /* the version of the failing request, and not of this side */
	msg_u32(&m, RDMA1_ERR_VERS);
	msg_u32(&m, 1);
	msg_u32(&m, 2);
	assert_int_equal(rdma1_encode_err_vers(buf, MSG_XID, 77, MSG_CREDIT, 1, 2),
			 RDMA1_ERR_VERS_SIZE);
	assert_bytes(buf, RDMA1_ERR_VERS_SIZE, &m);
}

static void encode_err__4_5_1_is_understood_by_the_requester(void **state)
{
	/*
	 * The buffer is longer than both messages, because gcc cannot prove from the lengths that
	 * no read exceeds them.
	 */
	uint8_t buf[RDMA1_HEADER_MIN + RDMA1_RPC_PEEK];
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	uint32_t len;

	(void)state;
	len = rdma1_encode_err_vers(buf, MSG_XID, 2, 9, 1, 1);
	assert_int_equal(rdma1_decode(buf, len, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.err, RDMA1_ERR_VERS);
	assert_int_equal(hdr.vers_low, 1);
	assert_int_equal(hdr.vers_high, 1);
	len = rdma1_encode_err_chunk(buf, MSG_XID, 1, 9);
	assert_int_equal(rdma1_decode(buf, len, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
			 RDMA1_V_OK);
	assert_int_equal(hdr.err, RDMA1_ERR_CHUNK);
	assert_int_equal(hdr.credit, 9);
	assert_int_equal(hdr.xid, MSG_XID);
}

/* ---- round trips ---- */

struct layout {
	uint32_t proc;
	uint32_t nreads;
	uint32_t nwrites;
	uint32_t nsegments; /* segments of each Write chunk */
	/* number of segments of the Reply chunk plus 1, or 0 if there is none */
	uint32_t nreply;
};

static struct rdma1_segment nth_segment(uint32_t n)
{
	/* The lengths are 0 to 8, so that most are not multiples of 4. */
	return (struct rdma1_segment){
		.handle = 0x1000 + n, .length = n % 9, .offset = 0x0102030400000000u + n};
}

static uint32_t nth_position(const struct layout *layout, uint32_t n)
{
	uint32_t position = 40;

	if (layout->proc == RDMA1_NOMSG)
		return n < 2 ? 0 : 40;
	/* The position is after the chunks before this one. Each of them has two segments. */
	for (uint32_t i = 0; i < n / 2; i++)
		position += (nth_segment(2 * i).length + nth_segment(2 * i + 1).length + 3) & ~3u;
	return position;
}

static uint32_t write_layout(const struct layout *layout, uint8_t *buf, uint32_t size)
{
	struct rdma1_segment seg;
	struct rdma1_writer w;
	uint32_t n = 0;

	rdma1_write_begin(&w, buf, size, MSG_XID, MSG_CREDIT, (enum rdma1_proc)layout->proc);
	for (uint32_t i = 0; i < layout->nreads; i++) {
		seg = nth_segment(n++);
		if (nth_position(layout, i) == 0)
			seg.length = 20; /* a Position Zero Read chunk holds a message */
		rdma1_write_read_segment(&w, nth_position(layout, i), &seg);
	}
	rdma1_write_list_end(&w);
	for (uint32_t i = 0; i < layout->nwrites; i++) {
		rdma1_write_chunk(&w, layout->nsegments);
		for (uint32_t j = 0; j < layout->nsegments; j++) {
			seg = nth_segment(n++);
			rdma1_write_segment(&w, &seg);
		}
	}
	rdma1_write_list_end(&w);
	if (layout->nreply == 0)
		rdma1_write_no_reply_chunk(&w);
	else
		rdma1_write_reply_chunk(&w, layout->nreply - 1);
	for (uint32_t i = 1; i < layout->nreply; i++) {
		seg = nth_segment(n++);
		rdma1_write_segment(&w, &seg);
	}
	assert_false(w.failed);
	return rdma1_writer_len(&w);
}

static void assert_segment(const struct rdma1_segment *got, uint32_t n)
{
	struct rdma1_segment seg = nth_segment(n);

	assert_int_equal(got->handle, seg.handle);
	assert_int_equal(got->length, seg.length);
	assert_true(got->offset == seg.offset);
}

static void check_layout(const struct layout *layout, const struct rdma1_header *hdr)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;
	struct rdma1_segment seg;
	uint32_t n = 0;

	rdma1_reads_begin(hdr, &reads);
	for (uint32_t i = 0; i < layout->nreads; i++, n++) {
		assert_true(rdma1_reads_next(&reads, &read));
		assert_int_equal(read.position, nth_position(layout, i));
		if (read.position != 0)
			assert_segment(&read.target, n);
	}
	assert_false(rdma1_reads_next(&reads, &read));
	rdma1_writes_begin(hdr, &writes);
	for (uint32_t i = 0; i < layout->nwrites; i++) {
		assert_true(rdma1_writes_next(&writes, &chunk));
		for (uint32_t j = 0; j < layout->nsegments; j++, n++) {
			assert_true(rdma1_segments_next(&chunk, &seg));
			assert_segment(&seg, n);
		}
		assert_false(rdma1_segments_next(&chunk, &seg));
	}
	assert_false(rdma1_writes_next(&writes, &chunk));
	assert_int_equal(hdr->has_reply_chunk, layout->nreply > 0);
	rdma1_reply_begin(hdr, &chunk);
	for (uint32_t i = 1; i < layout->nreply; i++, n++) {
		assert_true(rdma1_segments_next(&chunk, &seg));
		assert_segment(&seg, n);
	}
	assert_false(rdma1_segments_next(&chunk, &seg));
}

static void round_trip(const struct layout *layout)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	uint8_t buf[4096];
	uint32_t len;

	for (uint32_t payload = 0; payload <= 9; payload++) {
		len = write_layout(layout, buf, sizeof(buf) - 128);
		/* room for the positions, and each remainder modulo 4 */
		if (layout->proc == RDMA1_MSG) {
			memset(buf + len, 0, 128);
			memcpy(buf + len, buf, 4);
			len += 80 + payload;
		} else if (payload > 0) {
			break;
		}
		assert_int_equal(
			rdma1_decode(buf, len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
			RDMA1_V_OK);
		assert_int_equal(hdr.header_bytes,
				 len - (layout->proc == RDMA1_MSG ? 80 + payload : 0));
		check_layout(layout, &hdr);
	}
}

static void round_trip__many_shapes(void **state)
{
	struct layout layout;

	(void)state;
	for (layout.proc = RDMA1_MSG; layout.proc <= RDMA1_NOMSG; layout.proc++)
		for (layout.nreads = layout.proc == RDMA1_NOMSG; layout.nreads <= 7;
		     layout.nreads++)
			for (layout.nwrites = 0; layout.nwrites <= 3; layout.nwrites++)
				for (layout.nsegments = 0; layout.nsegments <= 4;
				     layout.nsegments++)
					for (layout.nreply = 0; layout.nreply <= 4; layout.nreply++)
						round_trip(&layout);
}

static void handles__of_all_segments_in_their_order(void **state)
{
	struct rdma1_segment seg = {.length = 100, .offset = 1};
	uint8_t buf[512], *handles[8];
	struct rdma1_writer w;

	(void)state;
	rdma1_write_begin(&w, buf, sizeof(buf), 7, 1, RDMA1_NOMSG);
	for (; seg.handle < 2; seg.handle++)
		rdma1_write_read_segment(
			&w, 1, &seg); /* the word before the handle: neither 0 nor a length */
	rdma1_write_list_end(&w);
	rdma1_write_chunk(&w, 2);
	for (; seg.handle < 4; seg.handle++)
		rdma1_write_segment(&w, &seg);
	rdma1_write_chunk(&w, 0);
	rdma1_write_chunk(&w, 1);
	seg.handle = 4;
	rdma1_write_segment(&w, &seg);
	rdma1_write_list_end(&w);
	rdma1_write_reply_chunk(&w, 1);
	seg.handle = 5;
	rdma1_write_segment(&w, &seg);
	assert_int_equal(rdma1_handles(buf, handles, 8), 6);
	for (uint32_t i = 0; i < 6; i++) {
		const uint8_t expected[8] = {0, 0, 0, (uint8_t)i, 0, 0, 0, 100};

		assert_memory_equal(handles[i], expected, 8);
	}
	assert_int_equal(rdma1_handles(buf, handles, 3), 3);
	msg_encode_shape(buf, SHAPE_INLINE, 7, 1, 0, NULL);
	assert_int_equal(rdma1_handles(buf, handles, 8), 0);
	seg.handle = 9;
	msg_encode_shape(buf, SHAPE_ONE_WRITE, 7, 1, 0, &seg);
	assert_int_equal(rdma1_handles(buf, handles, 8), 1);
	assert_int_equal(handles[0][3], 9);
}

/* Encodes the header of a shape by the general writer. */
static void write_shape(uint8_t *buf, enum shape shape, uint32_t position,
			const struct rdma1_segment *seg)
{
	struct rdma1_writer w;

	rdma1_write_begin(&w, buf, RDMA1_ONE_READ_SIZE, 0x71727374, 0x61626364, RDMA1_MSG);
	if (shape == SHAPE_ONE_READ)
		rdma1_write_read_segment(&w, position, seg);
	rdma1_write_list_end(&w);
	if (shape == SHAPE_ONE_WRITE) {
		rdma1_write_chunk(&w, 1);
		rdma1_write_segment(&w, seg);
	}
	rdma1_write_list_end(&w);
	rdma1_write_no_reply_chunk(&w);
	assert_false(w.failed);
	assert_int_equal(rdma1_writer_len(&w), shape_header_bytes(shape));
}

/* Checks that shape_encode() writes the header and the XID of the message, and nothing else. */
static void encode_shape__4_5_1_is_the_header_and_the_xid(void **state)
{
	static const struct rdma1_segment seg = {0x81828384, 0x91929394,
						 UINT64_C(0xa1a2a3a4a5a6a7a8)};
	static const enum shape shapes[] = {SHAPE_INLINE, SHAPE_ONE_WRITE, SHAPE_ONE_READ};
	uint8_t want[RDMA1_ONE_READ_SIZE], buf[RDMA1_ONE_READ_SIZE + 5];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t bytes = shape_header_bytes(shapes[i]);

		memset(buf, 0xee, sizeof(buf));
		write_shape(want, shapes[i], 0xb1b2b3b4, &seg);
		msg_encode_shape(buf, shapes[i], 0x71727374, 0x61626364, 0xb1b2b3b4, &seg);
		assert_memory_equal(buf, want, bytes);
		assert_int_equal(wire_get_u32(buf + bytes), 0x71727374);
		for (uint32_t at = bytes + 4; at < sizeof(buf); at++)
			assert_int_equal(buf[at], 0xee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode_shape__4_5_1_is_the_header_and_the_xid),
		cmocka_unit_test(encode_short__4_is_the_exact_header),
		cmocka_unit_test(encode_short__is_what_the_writer_writes),
		cmocka_unit_test(writer__4_header_is_xdr),
		cmocka_unit_test(writer__every_size_too_small_fails_within_bounds),
		cmocka_unit_test(encode_err__4_5_fields_are_those_of_the_failing_request),
		cmocka_unit_test(encode_err__4_5_1_is_understood_by_the_requester),
		cmocka_unit_test(round_trip__many_shapes),
		cmocka_unit_test(handles__of_all_segments_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
