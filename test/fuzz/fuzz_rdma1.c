/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for a received message of version 1, from its first byte to the decoder of the
 * arguments. The first byte of the input selects the direction (odd: a reply). The rest is the
 * message.
 *
 * Apart from crashes, these are errors:
 * - The iterators of an accepted header do not return the elements that it counts, or exceed the
 *   header or the limits.
 * - The header is encoded to other bytes.
 * - Narrow limits accept a message that wide limits refuse.
 */
#include "fuzz.h"
#include "fuzz_lists.h"
#include "reassemble.h"
#include "rpc_msg.h"

#define PULL_MAX    (64u << 10) /* bytes of Read chunks; enough for each path, and fast */
#define ENCODED_MAX (1u << 20)

static const struct rdma1_limits tiny = {
	.read_segments_max = 4,
	.read_chunks_max = 2,
	.write_chunks_max = 2,
	.segments_per_chunk_max = 2,
	.read_bytes_max = 8192,
	.write_bytes_max = 8192,
};

/* ---- the header ---- */

/*
 * Checks by the iterators if the message has the header shape of a READ, and if the decoder has
 * come to the same result, on whichever path.
 */
static void check_one_chunk(const struct rdma1_header *hdr)
{
	struct rdma1_segment_iter chunk = {NULL, 0};
	struct rdma1_segment seg = {0}, first;
	struct rdma1_write_iter writes;
	bool is_one;

	rdma1_writes_begin(hdr, &writes);
	is_one = rdma1_writes_next(&writes, &chunk) && chunk.left == 1 && hdr->nwrite_chunks == 1 &&
		 hdr->nread_segments == 0 && !hdr->has_reply_chunk;
	REQUIRE(rdma1_is_one_write(hdr, &seg) == is_one);
	if (is_one) {
		REQUIRE(rdma1_segments_next(&chunk, &first));
		REQUIRE(seg.handle == first.handle && seg.length == first.length &&
			seg.offset == first.offset);
	}
}

static void check_header(const uint8_t *msg, uint32_t len, const struct rdma1_limits *limits,
			 const struct rdma1_header *hdr)
{
	static uint8_t encoded[ENCODED_MAX];
	struct rdma1_writer w;
	uint32_t n;

	REQUIRE(hdr->header_bytes <= len);
	if (hdr->proc == RDMA1_ERROR) {
		if (hdr->err == RDMA1_ERR_VERS)
			n = rdma1_encode_err_vers(encoded, hdr->xid, hdr->vers, hdr->credit,
						  hdr->vers_low, hdr->vers_high);
		else
			n = rdma1_encode_err_chunk(encoded, hdr->xid, hdr->vers, hdr->credit);
	} else {
		rdma1_write_begin(&w, encoded, sizeof(encoded), hdr->xid, hdr->credit,
				  (enum rdma1_proc)hdr->proc);
		fuzz_encode_lists(hdr, limits, &w);
		REQUIRE(!w.failed);
		n = rdma1_writer_len(&w);
		check_one_chunk(hdr);
	}
	REQUIRE(n == hdr->header_bytes);
	REQUIRE(memcmp(encoded, msg, n) == 0);
}

static void check_refused(const struct rdma1_header *hdr, enum rdma1_verdict verdict,
			  enum rdma1_direction direction, enum rdma1_reason reason)
{
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;
	struct rdma1_segment seg;

	REQUIRE(reason != RDMA1_R_NONE);
	REQUIRE(direction == RDMA1_CALL || verdict == RDMA1_V_DROP);
	REQUIRE(hdr->header_bytes == 0);
	rdma1_reads_begin(hdr, &reads);
	REQUIRE(!rdma1_reads_next(&reads, &read));
	rdma1_writes_begin(hdr, &writes);
	REQUIRE(!rdma1_writes_next(&writes, &chunk));
	rdma1_reply_begin(hdr, &chunk);
	REQUIRE(!rdma1_segments_next(&chunk, &seg));
}

static bool decode_header(const uint8_t *msg, uint32_t len, enum rdma1_direction direction,
			  const struct rdma1_limits *limits, struct rdma1_header *hdr)
{
	enum rdma1_verdict verdict;
	enum rdma1_reason reason;

	verdict = rdma1_decode(msg, len, direction, limits, hdr, &reason);
	if (verdict == RDMA1_V_OK)
		check_header(msg, len, limits, hdr);
	else
		check_refused(hdr, verdict, direction, reason);
	return verdict == RDMA1_V_OK;
}

/* ---- the message after the header ---- */

/*
 * Decodes all remaining data: as opaques in place where possible, and otherwise as words. Reads
 * each byte, so that the sanitizer checks it.
 */
static void consume(struct weir_xdr_in *in)
{
	static volatile uint8_t sink;
	const void *data;
	uint32_t n;

	while (!in->failed) {
		struct weir_xdr_in tried = *in;
		uint64_t remaining = weir_xdr_remaining(in);

		if (weir_xdr_get_opaque_ref(&tried, &data, UINT32_MAX, &n) == 0) {
			for (uint32_t i = 0; i < n; i++)
				sink = (uint8_t)(sink ^ ((const uint8_t *)data)[i]);
			*in = tried;
		} else if (weir_xdr_get_u32(in, &n) != 0) {
			break;
		}
		REQUIRE(weir_xdr_remaining(in) < remaining);
	}
}

static void decode_rpc(struct weir_xdr_in *in, enum rdma1_direction direction)
{
	struct weir_rpc_reply_header reply;
	struct weir_rpc_call_header call;
	struct weir_rpc_auth_sys sys;

	if (direction == RDMA1_REPLY) {
		if (rpc_reply_decode(in, &reply) != 0)
			return;
	} else {
		if (rpc_call_decode(in, &call) != 0)
			return;
		REQUIRE(call.cred.len_bytes <= WEIR_RPC_AUTH_BODY_MAX);
		REQUIRE(call.verf.len_bytes <= WEIR_RPC_AUTH_BODY_MAX);
		REQUIRE(!rpc_auth_forbids_items(&call.cred) ||
			rpc_auth_forbids_reduction(&call.cred));
		if (weir_rpc_auth_sys_decode(&call.cred, &sys) == 0)
			REQUIRE(sys.ngids <= WEIR_RPC_GIDS_MAX);
	}
	consume(in);
}

/*
 * Fills a Read chunk as the RDMA Reads of a call would. The data are repetitions of the message, so
 * that the fuzzer can choose the content of a Position Zero Read chunk.
 */
static void pull(struct reassemble_chunk *chunk, const uint8_t *msg, uint32_t len)
{
	chunk->dst = malloc(chunk->len_bytes > 0 ? chunk->len_bytes : 1);
	REQUIRE(chunk->dst != NULL);
	for (uint32_t i = 0; i < chunk->len_bytes; i++)
		chunk->dst[i] = msg[i % len];
}

static void reassemble(const struct rdma1_header *hdr, const uint8_t *stream, uint32_t stream_bytes)
{
	struct reassemble_chunk chunks[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part parts[REASSEMBLE_PARTS_MAX];
	uint32_t first, nchunks;
	struct weir_xdr_in in;
	uint64_t bytes = 0;
	int n;

	n = reassemble_chunks(hdr, chunks, REASSEMBLE_CHUNKS_MAX);
	if (n < 0)
		return;
	REQUIRE(n == hdr->nread_chunks);
	nchunks = (uint32_t)n;
	for (uint32_t i = 0; i < nchunks; i++) {
		REQUIRE(i == 0 || chunks[i].position > chunks[i - 1].position);
		bytes += chunks[i].len_bytes;
		pull(&chunks[i], stream, stream_bytes);
	}
	REQUIRE(bytes == hdr->read_bytes);
	first = hdr->has_position_zero;
	if (first) {
		stream = chunks[0].dst;
		stream_bytes = chunks[0].len_bytes;
	}
	n = reassemble_parts(stream, stream_bytes, chunks + first, nchunks - first, parts,
			     REASSEMBLE_PARTS_MAX);
	REQUIRE(n <= (int)REASSEMBLE_PARTS_MAX);
	if (n >= 0) {
		weir_xdr_in_init_parts(&in, parts, (uint32_t)n);
		REQUIRE(weir_xdr_remaining(&in) <= stream_bytes + bytes);
		decode_rpc(&in, RDMA1_CALL);
	}
	for (uint32_t i = 0; i < nchunks; i++)
		free(chunks[i].dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum rdma1_direction direction;
	struct rdma1_header hdr;
	struct weir_xdr_in in;
	const uint8_t *msg;
	uint32_t len;
	bool ok;

	if (size < 1 || size > ENCODED_MAX)
		return 0;
	direction = data[0] & 1 ? RDMA1_REPLY : RDMA1_CALL;
	msg = data + 1;
	len = (uint32_t)size - 1;
	ok = decode_header(msg, len, direction, &tiny, &hdr);
	REQUIRE(decode_header(msg, len, direction, &rdma1_limits_default, &hdr) || !ok);
	if (hdr.header_bytes == 0 || hdr.proc == RDMA1_ERROR)
		return 0;
	weir_xdr_in_init(&in, msg + hdr.header_bytes, len - hdr.header_bytes);
	decode_rpc(&in, direction);
	if (direction == RDMA1_CALL && hdr.nread_chunks > 0 && hdr.read_bytes <= PULL_MAX) {
		/*
		 * In a Long Call, nothing follows the header. Then the data of its chunk are
		 * repetitions of the header.
		 */
		if (hdr.has_position_zero)
			reassemble(&hdr, msg, len);
		else
			reassemble(&hdr, msg + hdr.header_bytes, len - hdr.header_bytes);
	}
	return 0;
}
