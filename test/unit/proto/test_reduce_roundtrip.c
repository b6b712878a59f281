/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests random messages from pieces to sent bytes and simulated memory, and back to the stream. The
 * result is compared with the naive stream, in which all pieces follow one another. A failure
 * prints its seed.
 */
#include <errno.h>

#include "reassemble.h"

#include "reduce_message.h"

#define SEEDS	   20000u
#define CHUNKS_MAX 7u
#define SEGS_MAX   5u /* segments of a chunk */
#define XFERS_MAX  128u
#define GUARD	   0xa5u
#define LKEY_ZEROS 0xffu

/* ---- calls ---- */

/* Memory of the requester with the Payload stream of a Long Message. */
static struct long_memory {
	uint8_t bytes[STREAM_MAX];
	uint32_t used;
	struct remote_buf segs[SEGS_MAX];
	uint32_t nsegs;
} long_memory;

#define LONG_KEY 0x1000u

static void make_long(const struct reduce_call_plan *plan)
{
	uint32_t at = 0;

	long_memory.used = 0;
	for (uint32_t i = 0; i < message.n; i++) {
		const struct piece *piece = &message.pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : (4 - piece->len % 4) % 4;

		if (plan->reduced & 1u << i)
			continue;
		memcpy(long_memory.bytes + long_memory.used, piece->base, piece->len);
		memset(long_memory.bytes + long_memory.used + piece->len, 0, pad);
		long_memory.used += piece->len + pad;
	}
	assert_int_equal(long_memory.used, plan->stream_bytes); /* padding included (3.5.3) */
	long_memory.nsegs = 1 + below(SEGS_MAX);
	for (uint32_t i = 0; i < long_memory.nsegs; i++) {
		uint32_t left = long_memory.used - at;
		uint32_t len = i + 1 == long_memory.nsegs ? left : below(left + 1);

		long_memory.segs[i] = (struct remote_buf){LONG_KEY, len, at};
		at += len;
	}
}

/* Carries out an RDMA Read as the device of the requester does. */
static void pull(const struct rdma1_segment *seg, uint8_t *dst)
{
	const struct piece *piece;

	if (seg->handle == LONG_KEY) {
		assert_true(seg->offset + seg->length <= long_memory.used);
		memcpy(dst, long_memory.bytes + seg->offset, seg->length);
		return;
	}
	assert_true(seg->handle >= 1 && seg->handle <= message.n);
	piece = &message.pieces[seg->handle - 1];
	assert_int_equal(piece->kind, PIECE_ITEM);
	assert_true(seg->offset >= piece->raddr);
	assert_true(seg->offset - piece->raddr + seg->length <= piece->len);
	memcpy(dst, piece->base + (seg->offset - piece->raddr), seg->length);
}

static void pull_all(const struct rdma1_header *hdr, struct reassemble_chunk *chunks, int nchunks,
		     uint8_t *pulled)
{
	struct rdma1_read_segment seg;
	struct rdma1_read_iter it;

	for (int i = 0; i < nchunks; i++) {
		chunks[i].dst = pulled;
		chunks[i].filled = 0;
		pulled += chunks[i].len_bytes;
	}
	rdma1_reads_begin(hdr, &it);
	while (rdma1_reads_next(&it, &seg)) {
		int i = 0;

		while (chunks[i].position != seg.position)
			i++;
		pull(&seg.target, chunks[i].dst + chunks[i].filled);
		chunks[i].filled += seg.target.length;
	}
}

/* Makes one stream of the message, as the responder does. Returns its length. */
static uint32_t receive_call(uint8_t *out)
{
	static uint8_t pulled[STREAM_MAX];
	struct reassemble_chunk chunks[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part parts[REASSEMBLE_PARTS_MAX];
	const uint8_t *stream;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	uint32_t stream_bytes, len = 0, first;
	int nchunks, nparts;

	assert_int_equal(
		rdma1_decode(wire, wire_len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	nchunks = reassemble_chunks(&hdr, chunks, REASSEMBLE_CHUNKS_MAX);
	assert_true(nchunks >= 0);
	pull_all(&hdr, chunks, nchunks, pulled);
	first = hdr.has_position_zero;
	stream = first ? chunks[0].dst : wire + hdr.header_bytes;
	stream_bytes = first ? chunks[0].len_bytes : wire_len - hdr.header_bytes;
	nparts = reassemble_parts(stream, stream_bytes, chunks + first, (uint32_t)nchunks - first,
				  parts, REASSEMBLE_PARTS_MAX);
	assert_true(nparts >= 0);
	expect_message(parts, (uint32_t)nparts);
	for (int i = 0; i < nparts; i++) {
		uint32_t pad = parts[i].is_item ? (4 - parts[i].len_bytes % 4) % 4 : 0;

		memcpy(out + len, parts[i].base, parts[i].len_bytes);
		memset(out + len + parts[i].len_bytes, 0, pad);
		len += parts[i].len_bytes + pad;
	}
	return len;
}

static enum reduce_form one_call(uint32_t *proc)
{
	static uint8_t got[STREAM_MAX];
	const uint32_t inline_bytes = one_in(2) ? 1024 : 4096;
	const struct remote_buf seg = {0x2000, 1 + below(6000), 0};
	const struct remote_buf reply = {0x3000, 6000, 0};
	struct reduce_result results[3];
	struct reduce_call_in in = {
		.pieces = message.pieces,
		.call_inline_bytes = inline_bytes,
		.reply_inline_bytes = inline_bytes,
		.reply_max_bytes = any_length(inline_bytes),
		.results = results,
		.nresults = below(4),
		.may_reduce = !one_in(8),
	};
	struct reduce_call_plan plan;
	uint32_t nsegs = 0, header_bytes;

	make_message(RPC_HEADER, inline_bytes);
	in.npieces = message.n;
	for (uint32_t i = 0; i < message.n; i++)
		if (one_in(5))
			message.pieces[i].rkey = 0;
	for (uint32_t i = 0; i < in.nresults; i++)
		results[i] = (struct reduce_result){&seg, one_in(3) ? 0 : 1, seg.len};

	assert_int_equal(reduce_call_plan(&in, &plan), 0);
	header_bytes = plan.header_bytes;
	if (plan.form == REDUCE_LONG) {
		make_long(&plan);
		nsegs = long_memory.nsegs;
		header_bytes += (nsegs - 1) * RDMA1_READ_SEGMENT_SIZE;
	}
	assert_true(plan.header_bytes + plan.inline_bytes <= inline_bytes);
	assert_int_equal(reduce_call_encode(&in, &plan, XID, 5, long_memory.segs, nsegs,
					    plan.need_reply_chunk ? &reply : NULL, wire,
					    sizeof(wire), &wire_len),
			 0);
	assert_int_equal(wire_len, header_bytes);
	send_inline(wire_len, plan.reduced, plan.inline_bytes);
	assert_int_equal(receive_call(got), message.stream_bytes);
	assert_memory_equal(got, message.stream, message.stream_bytes);
	*proc = wire_get_u32(wire + 12);
	return plan.form;
}

/* ---- replies ---- */

/*
 * Memory of the requester. Each segment has its own handle. All segments are in one array, with
 * guards between them.
 */
static struct chunk_memory {
	struct rdma1_segment segs[SEGS_MAX];
	uint32_t at[SEGS_MAX]; /* in 'bytes' */
	uint32_t nsegs;
	uint32_t len;
} chunks[CHUNKS_MAX + 1]; /* the last one is the Reply chunk */

static uint32_t nchunks; /* of the Write list */
static bool has_reply_chunk;
static uint8_t bytes[512u << 10];
static uint8_t expected[512u << 10];
static uint32_t bytes_used;

/* Makes a chunk of 'len' bytes, divided at random into segments, some of which can be empty. */
static void make_chunk(struct chunk_memory *chunk, uint32_t number, uint32_t len)
{
	uint32_t left = len;

	chunk->nsegs = 1 + below(SEGS_MAX);
	chunk->len = len;
	for (uint32_t i = 0; i < chunk->nsegs; i++) {
		uint32_t n = i + 1 == chunk->nsegs ? left : one_in(4) ? 0 : below(left + 1);

		chunk->segs[i] = (struct rdma1_segment){number << 8 | i, n, below(UINT32_MAX)};
		chunk->at[i] = bytes_used;
		assert_true(bytes_used + n + 16 <= sizeof(bytes));
		bytes_used += n + 16;
		left -= n;
	}
}

static void write_chunk(struct rdma1_writer *w, const struct chunk_memory *chunk)
{
	for (uint32_t i = 0; i < chunk->nsegs; i++)
		rdma1_write_segment(w, &chunk->segs[i]);
}

/* Makes a call with memory for the items of the current message, in most cases enough. */
static uint32_t make_call(uint8_t *buf, uint32_t size)
{
	struct rdma1_writer w;

	bytes_used = 0;
	nchunks = 0;
	for (uint32_t i = 0; i < message.n && nchunks < CHUNKS_MAX; i++) {
		struct chunk_memory *chunk = &chunks[nchunks];
		uint32_t len = message.pieces[i].len;

		if (message.pieces[i].kind != PIECE_ITEM || one_in(10))
			continue;
		*chunk = (struct chunk_memory){.nsegs = 0};
		if (!one_in(6))
			make_chunk(chunk, nchunks, one_in(40) ? len / 2 : len + below(20));
		nchunks++;
	}
	has_reply_chunk = !one_in(4);
	if (has_reply_chunk)
		make_chunk(&chunks[CHUNKS_MAX], CHUNKS_MAX, message.stream_bytes - below(8));
	memset(bytes, GUARD, bytes_used);
	memset(expected, GUARD, bytes_used);

	rdma1_write_begin(&w, buf, size, XID, 5, RDMA1_MSG);
	rdma1_write_list_end(&w);
	for (uint32_t i = 0; i < nchunks; i++) {
		rdma1_write_chunk(&w, chunks[i].nsegs);
		write_chunk(&w, &chunks[i]);
	}
	rdma1_write_list_end(&w);
	if (has_reply_chunk) {
		rdma1_write_reply_chunk(&w, chunks[CHUNKS_MAX].nsegs);
		write_chunk(&w, &chunks[CHUNKS_MAX]);
	} else {
		rdma1_write_no_reply_chunk(&w);
	}
	assert_false(w.failed);
	memset(w.p, 0, RPC_HEADER);
	wire_put_u32(w.p, XID);
	return rdma1_writer_len(&w) + RPC_HEADER;
}

/* Carries out an RDMA Write as the device of the requester does. */
static void push(const struct reduce_xfer *xfer)
{
	const struct chunk_memory *chunk = &chunks[xfer->handle >> 8];
	uint32_t i = xfer->handle & 0xff;

	assert_true(xfer->handle >> 8 <= CHUNKS_MAX && i < chunk->nsegs);
	assert_true(xfer->offset >= chunk->segs[i].offset);
	assert_true(xfer->len > 0);
	assert_true(xfer->offset - chunk->segs[i].offset + xfer->len <= chunk->segs[i].length);
	memcpy(bytes + chunk->at[i] + (xfer->offset - chunk->segs[i].offset), xfer->local,
	       xfer->len);
}

/*
 * Checks that the 'len' bytes at 'src' are in the memory of a chunk, and that its returned segments
 * say so.
 */
static void expect_chunk(const struct chunk_memory *chunk, struct rdma1_segment_iter returned,
			 const uint8_t *src, uint32_t len)
{
	struct rdma1_segment seg;
	uint32_t i = 0;

	assert_int_equal(returned.left, chunk->nsegs);
	for (; rdma1_segments_next(&returned, &seg); i++) {
		uint32_t n = len < chunk->segs[i].length ? len : chunk->segs[i].length;

		assert_int_equal(seg.handle, chunk->segs[i].handle);
		assert_int_equal(seg.offset, chunk->segs[i].offset);
		assert_int_equal(seg.length, n);
		if (n > 0)
			memcpy(expected + chunk->at[i], src, n);
		src += n;
		len -= n;
	}
	assert_int_equal(len, 0);
}

/*
 * Computes by the naive model which pieces are written to which chunk, and what remains inline.
 * Returns false if the message cannot be sent.
 */
static bool model(uint32_t header_bytes, uint32_t inline_bytes, bool may_reduce, uint32_t *to_chunk,
		  uint8_t *rest, uint32_t *rest_bytes)
{
	uint32_t next = 0;
	const uint8_t *from = message.stream;

	*rest_bytes = 0;
	for (uint32_t i = 0; i < message.n; i++) {
		const struct piece *piece = &message.pieces[i];
		uint32_t padded = piece->kind == PIECE_XDR ? piece->len : (piece->len + 3) & ~3u;

		to_chunk[i] = UINT32_MAX;
		if (piece->kind == PIECE_ITEM && may_reduce && next < nchunks) {
			if (chunks[next].nsegs > 0)
				to_chunk[i] = next;
			next++;
		}
		if (to_chunk[i] != UINT32_MAX && chunks[to_chunk[i]].len < piece->len)
			return false;
		if (to_chunk[i] == UINT32_MAX) {
			memcpy(rest + *rest_bytes, from, padded);
			*rest_bytes += padded;
		}
		from += padded;
	}
	if (header_bytes > inline_bytes)
		return false;
	return header_bytes + *rest_bytes <= inline_bytes ||
	       (has_reply_chunk && *rest_bytes <= chunks[CHUNKS_MAX].len);
}

static void expect_received(const uint32_t *to_chunk, const uint8_t *rest, uint32_t rest_bytes,
			    enum reduce_form form)
{
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter writes;
	enum rdma1_reason reason;
	struct rdma1_header hdr;

	assert_int_equal(
		rdma1_decode(wire, wire_len, RDMA1_REPLY, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	assert_int_equal(hdr.nwrite_chunks, nchunks);
	assert_int_equal(hdr.has_reply_chunk, has_reply_chunk);
	rdma1_writes_begin(&hdr, &writes);
	for (uint32_t c = 0; rdma1_writes_next(&writes, &segments); c++) {
		const struct piece *piece = NULL;

		for (uint32_t i = 0; i < message.n; i++)
			if (to_chunk[i] == c)
				piece = &message.pieces[i];
		expect_chunk(&chunks[c], segments, piece ? piece->base : message.memory,
			     piece ? piece->len : 0);
	}
	rdma1_reply_begin(&hdr, &segments);
	if (has_reply_chunk)
		expect_chunk(&chunks[CHUNKS_MAX], segments, rest,
			     form == REDUCE_LONG ? rest_bytes : 0);
	if (form != REDUCE_LONG) {
		assert_int_equal(wire_len - hdr.header_bytes, rest_bytes);
		assert_memory_equal(wire + hdr.header_bytes, rest, rest_bytes);
	}
	/* No other memory was written: no padding, and nothing after a segment. */
	assert_memory_equal(bytes, expected, bytes_used);
}

/*
 * Makes and checks one reply. Returns false if it could not be sent, which the model must confirm.
 */
static bool one_reply(enum reduce_form *form, uint32_t *proc)
{
	static uint8_t call_buf[MSG_MAX], rest[STREAM_MAX], zeros[4];
	static struct reduce_xfer xfers[XFERS_MAX];
	const uint32_t inline_bytes = one_in(2) ? 1024 : 4096;
	struct rdma1_header call;
	struct reduce_reply_in in = {
		.call = &call,
		.pieces = message.pieces,
		.reply_inline_bytes = inline_bytes,
		.zeros = {.base = zeros, .len = sizeof(zeros), .lkey = LKEY_ZEROS},
		.credit = 3,
		.may_reduce = !one_in(8),
	};
	uint32_t to_chunk[REDUCE_PIECES_MAX], rest_bytes, call_len;
	struct reduce_reply_plan plan;
	enum rdma1_reason reason;
	int rc;

	make_message(24, inline_bytes);
	in.npieces = message.n;
	call_len = make_call(call_buf, sizeof(call_buf) - RPC_HEADER);
	assert_int_equal(
		rdma1_decode(call_buf, call_len, RDMA1_CALL, &rdma1_limits_default, &call, &reason),
		RDMA1_V_OK);
	rc = reduce_reply(&in, wire, sizeof(wire), xfers, XFERS_MAX, &plan);
	/* The header of the reply contains the chunks of the call, and therefore has the same
	 * length. */
	if (!model(call_len - RPC_HEADER, inline_bytes, in.may_reduce, to_chunk, rest,
		   &rest_bytes)) {
		assert_int_equal(rc, -EMSGSIZE);
		return false;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(plan.header_bytes, call_len - RPC_HEADER);
	assert_true(plan.header_bytes + plan.inline_bytes <= inline_bytes);
	send_inline(plan.header_bytes, plan.reduced, plan.inline_bytes);
	for (uint32_t i = 0; i < plan.nxfers; i++)
		push(&xfers[i]);
	expect_received(to_chunk, rest, rest_bytes, plan.form);
	*form = plan.form;
	*proc = wire_get_u32(wire + 12);
	return true;
}

/* ---- tests ---- */

static uint32_t failing;

static int teardown(void **state)
{
	(void)state;
	if (failing)
		print_message("seed %u\n", failing);
	failing = 0;
	return 0;
}

static void call__3_4_and_3_5_stream_arrives_byte_for_byte(void **state)
{
	uint32_t forms[3] = {0}, proc;

	(void)state;
	for (failing = 1; failing <= SEEDS; failing++) {
		rng = failing;
		forms[one_call(&proc)]++;
	}
	failing = 0;
	for (int i = 0; i < 3; i++) /* each form occurred */
		assert_true(forms[i] > SEEDS / 20);
}

static void reply__3_4_6_and_4_3_stream_and_items_arrive_byte_for_byte(void **state)
{
	uint32_t forms[3] = {0}, refused = 0, proc;

	(void)state;
	for (failing = 1; failing <= SEEDS; failing++) {
		enum reduce_form form;

		rng = failing;
		if (one_reply(&form, &proc))
			forms[form]++;
		else
			refused++;
	}
	failing = 0;
	for (int i = 0; i < 3; i++)
		assert_true(forms[i] > SEEDS / 20);
	assert_true(refused > SEEDS / 20);
}

static void all__4_6_1_and_4_6_2_only_rdma_msg_and_rdma_nomsg_are_made(void **state)
{
	(void)state;
	for (failing = 1; failing <= SEEDS / 4; failing++) {
		enum reduce_form form;
		uint32_t proc;

		rng = failing;
		form = one_call(&proc);
		assert_int_equal(proc, form == REDUCE_LONG ? RDMA1_NOMSG : RDMA1_MSG);
		if (one_reply(&form, &proc))
			assert_int_equal(proc, form == REDUCE_LONG ? RDMA1_NOMSG : RDMA1_MSG);
	}
	failing = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(call__3_4_and_3_5_stream_arrives_byte_for_byte, teardown),
		cmocka_unit_test_teardown(
			reply__3_4_6_and_4_3_stream_and_items_arrive_byte_for_byte, teardown),
		cmocka_unit_test_teardown(
			all__4_6_1_and_4_6_2_only_rdma_msg_and_rdma_nomsg_are_made, teardown),
	};

	return cmocka_run_group_tests_name("reduce_roundtrip", tests, NULL, NULL);
}
