/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes and checks the transport header of version 1 (RFC 8166 sections 4.2 to 4.6). Below,
 * "section" is a section of RFC 8166, and so are numbers such as 3.4.5.
 *
 * The decoder checks each message in full, with all counts and sums. Therefore the iterators check
 * nothing. Most messages have three empty lists. rdma1_is_short() recognises such a message.
 */
#include <endian.h>

#include "rdma1.h"

#include "compiler.h"

const struct rdma1_limits rdma1_limits_default = {
	.read_segments_max = 256,
	.read_chunks_max = 16,
	.write_chunks_max = 16,
	.segments_per_chunk_max = 256,
	.read_bytes_max = UINT64_C(64) << 20,
	.write_bytes_max = UINT64_C(64) << 20,
};

#define XID_SIZE 4u

struct cursor {
	const uint8_t *p;
	const uint8_t *end;
};

/* The Read chunks of one message, in ascending order of position. */
struct read_chunks {
	uint32_t n;
	struct {
		uint32_t position;
		uint64_t bytes;
	} at[RDMA1_READ_CHUNKS_CAP];
};

static size_t bytes_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* Decodes the word that says whether optional data follow (RFC 4506 section 4.19). */
static enum rdma1_reason get_present(struct cursor *c, bool *present)
{
	uint32_t word;

	if (bytes_left(c) < 4)
		return RDMA1_R_TRUNCATED;
	word = wire_get_u32(c->p);
	if (word > 1)
		return RDMA1_R_BAD_BOOL;
	c->p += 4;
	*present = word == 1;
	return RDMA1_R_NONE;
}

/* Checks one segment and adds its length to *sum, unless the sum would be greater than 'max'. On
 * entry, *sum is at most 'max'. */
static enum rdma1_reason count_segment(const struct rdma1_segment *seg, uint64_t max, uint64_t *sum)
{
	if (seg->length > UINT64_MAX - seg->offset)
		return RDMA1_R_SEGMENT_WRAP;
	if (seg->length > max - *sum)
		return RDMA1_R_TOO_LARGE;
	*sum += seg->length;
	return RDMA1_R_NONE;
}

/* Adds a segment of 'length' bytes to the Read chunk at 'position'. If there is no such chunk, the
 * function adds one. Senders list positions in ascending order. Therefore the search, which begins
 * at the end, usually stops at once. */
static enum rdma1_reason count_read_chunk(struct read_chunks *chunks, uint32_t max,
					  uint32_t position, uint32_t length)
{
	uint32_t i = chunks->n;

	while (i > 0 && chunks->at[i - 1].position > position)
		i--;
	if (i > 0 && chunks->at[i - 1].position == position) {
		chunks->at[i - 1].bytes += length;
		return chunks->at[i - 1].bytes > UINT32_MAX ? RDMA1_R_TOO_LARGE : RDMA1_R_NONE;
	}
	if (chunks->n >= max || chunks->n >= RDMA1_READ_CHUNKS_CAP)
		return RDMA1_R_TOO_MANY_READS;
	if (i < chunks->n)
		memmove(&chunks->at[i + 1], &chunks->at[i],
			(chunks->n - i) * sizeof(chunks->at[0]));
	chunks->at[i].position = position;
	chunks->at[i].bytes = length;
	chunks->n++;
	return RDMA1_R_NONE;
}

static enum rdma1_reason decode_read_list(struct cursor *c, enum rdma1_direction direction,
					  const struct rdma1_limits *limits,
					  struct rdma1_header *hdr, struct read_chunks *chunks)
{
	enum rdma1_reason reason;
	bool present;

	hdr->reads = c->p;
	for (;;) {
		struct rdma1_segment seg;
		uint32_t position;

		reason = get_present(c, &present);
		if (reason != RDMA1_R_NONE || !present)
			return reason;
		if (direction == RDMA1_REPLY)
			return RDMA1_R_READ_LIST_IN_REPLY;
		if (hdr->nread_segments >= limits->read_segments_max ||
		    hdr->nread_segments == UINT16_MAX)
			return RDMA1_R_TOO_MANY_READS;
		if (bytes_left(c) < RDMA1_READ_SEGMENT_SIZE - 4)
			return RDMA1_R_TRUNCATED;
		position = wire_get_u32(c->p);
		seg = rdma1_segment_at(c->p + 4);
		c->p += RDMA1_READ_SEGMENT_SIZE - 4;
		if (position % 4 != 0)
			return RDMA1_R_POSITION_UNALIGNED;
		reason = count_segment(&seg, limits->read_bytes_max, &hdr->read_bytes);
		if (reason != RDMA1_R_NONE)
			return reason;
		reason = count_read_chunk(chunks, limits->read_chunks_max, position, seg.length);
		if (reason != RDMA1_R_NONE)
			return reason;
		hdr->nread_segments++;
	}
}

/* Decodes a counted array of segments, which is a Write chunk or the Reply chunk. */
static enum rdma1_reason decode_chunk(struct cursor *c, const struct rdma1_limits *limits,
				      struct rdma1_header *hdr, uint16_t *nsegments)
{
	uint32_t count;

	if (bytes_left(c) < 4)
		return RDMA1_R_TRUNCATED;
	count = wire_get_u32(c->p);
	c->p += 4;
	if (count > limits->segments_per_chunk_max || count > UINT16_MAX)
		return RDMA1_R_TOO_MANY_SEGMENTS;
	if (count > bytes_left(c) / RDMA1_SEGMENT_SIZE)
		return RDMA1_R_TRUNCATED;
	for (uint32_t i = 0; i < count; i++) {
		struct rdma1_segment seg = rdma1_segment_at(c->p);
		enum rdma1_reason reason;

		reason = count_segment(&seg, limits->write_bytes_max, &hdr->write_bytes);
		if (reason != RDMA1_R_NONE)
			return reason;
		c->p += RDMA1_SEGMENT_SIZE;
	}
	*nsegments = (uint16_t)count;
	return RDMA1_R_NONE;
}

static enum rdma1_reason decode_write_list(struct cursor *c, const struct rdma1_limits *limits,
					   struct rdma1_header *hdr)
{
	hdr->writes = c->p;
	for (;;) {
		enum rdma1_reason reason;
		uint16_t nsegments;
		bool present;

		reason = get_present(c, &present);
		if (reason != RDMA1_R_NONE || !present)
			return reason;
		if (hdr->nwrite_chunks >= limits->write_chunks_max ||
		    hdr->nwrite_chunks == UINT16_MAX)
			return RDMA1_R_TOO_MANY_WRITES;
		reason = decode_chunk(c, limits, hdr, &nsegments);
		if (reason != RDMA1_R_NONE)
			return reason;
		hdr->nwrite_chunks++;
	}
}

static enum rdma1_reason decode_reply_chunk(struct cursor *c, const struct rdma1_limits *limits,
					    struct rdma1_header *hdr)
{
	uint64_t writes_bytes = hdr->write_bytes;
	enum rdma1_reason reason;

	reason = get_present(c, &hdr->has_reply_chunk);
	if (reason != RDMA1_R_NONE || !hdr->has_reply_chunk)
		return reason;
	hdr->reply = c->p;
	reason = decode_chunk(c, limits, hdr, &hdr->nreply_segments);
	hdr->reply_bytes = hdr->write_bytes - writes_bytes;
	return reason;
}

/*
 * Checks that each Read chunk is at a position that a data item can have. 'stream_bytes' are the
 * bytes that arrived as the Payload stream. These are the conditions:
 *
 * - The first chunk is neither past these bytes, nor in the RPC header.
 * - Each chunk extends the stream for the chunks after it by at most its own length, rounded up. A
 *   position counts in the unreduced stream, with padding (3.4.5).
 * - A chunk begins at or after the end of the previous chunk, rounded up, because two items never
 *   share bytes of the stream.
 */
static enum rdma1_reason check_positions(const struct read_chunks *chunks, uint64_t stream_bytes)
{
	uint64_t reach = stream_bytes, taken = 0;

	for (uint32_t i = 0; i < chunks->n; i++) {
		uint64_t padded = (chunks->at[i].bytes + 3) & ~UINT64_C(3);

		if (chunks->at[i].position == 0)
			continue; /* This chunk has the Payload stream itself. */
		if (chunks->at[i].position < RDMA1_POSITION_MIN || chunks->at[i].position > reach)
			return RDMA1_R_POSITION_BEYOND;
		if (chunks->at[i].position < taken)
			return RDMA1_R_READS_OVERLAP;
		taken = chunks->at[i].position + padded;
		reach += padded;
	}
	return RDMA1_R_NONE;
}

/* Returns whether the msg_type of the RPC message is the other direction than 'direction'. If
 * msg_type is neither CALL nor REPLY, the result is false, and the decoder of the RPC message must
 * reject the message. */
static bool is_of_other_direction(const struct cursor *c, enum rdma1_direction direction)
{
	uint32_t other = direction == RDMA1_CALL ? RDMA1_REPLY : RDMA1_CALL;

	return bytes_left(c) >= RDMA1_RPC_PEEK && wire_get_u32(c->p + XID_SIZE) == other;
}

/* Checks an RDMA_MSG, in which the Payload stream follows the header. */
static enum rdma1_reason check_msg(const struct cursor *c, enum rdma1_direction direction,
				   const struct rdma1_header *hdr, const struct read_chunks *chunks)
{
	if (is_of_other_direction(c, direction))
		return RDMA1_R_OTHER_DIRECTION;
	if (hdr->has_position_zero)
		return RDMA1_R_MSG_WITH_POSITION_ZERO;
	if (bytes_left(c) < XID_SIZE)
		return RDMA1_R_PAYLOAD_SHORT;
	if (wire_get_u32(c->p) != hdr->xid)
		return RDMA1_R_XID_MISMATCH;
	return check_positions(chunks, bytes_left(c));
}

/* Returns whether the header of an RDMA_NOMSG has the form of a Long Reply: no Read list, and a
 * Reply chunk that has room for an XID. No call has this form. In version 2 the result is always
 * false, because the header names the direction. */
static bool is_long_reply(const struct rdma1_header *hdr)
{
	return hdr->vers == RDMA1_VERSION && hdr->nread_segments == 0 && hdr->has_reply_chunk &&
	       hdr->reply_bytes >= XID_SIZE;
}

/* Checks an RDMA_NOMSG call, in which the Position Zero Read chunk holds the Payload stream
 * (3.5.3). */
static enum rdma1_reason check_nomsg_call(const struct cursor *c, const struct rdma1_header *hdr,
					  const struct read_chunks *chunks)
{
	if (is_long_reply(hdr))
		return RDMA1_R_OTHER_DIRECTION;
	if (!hdr->has_position_zero)
		return RDMA1_R_NOMSG_WITHOUT_CHUNK;
	if (chunks->at[0].bytes < XID_SIZE)
		return RDMA1_R_PAYLOAD_SHORT;
	if (bytes_left(c) > 0)
		return RDMA1_R_NOMSG_WITH_PAYLOAD;
	return check_positions(chunks, chunks->at[0].bytes);
}

/* Checks an RDMA_NOMSG reply, in which the Reply chunk holds the Payload stream. Bytes after the
 * header have no use, and are not a reason to reject a reply. */
static enum rdma1_reason check_nomsg_reply(const struct rdma1_header *hdr)
{
	if (!hdr->has_reply_chunk)
		return RDMA1_R_NOMSG_WITHOUT_CHUNK;
	return hdr->reply_bytes < XID_SIZE ? RDMA1_R_PAYLOAD_SHORT : RDMA1_R_NONE;
}

enum rdma1_reason rdma1_decode_lists(const uint8_t *msg, uint32_t len, uint32_t at,
				     enum rdma1_direction direction,
				     const struct rdma1_limits *limits, struct rdma1_header *hdr)
{
	struct cursor c = {.p = msg + at, .end = msg + len};
	enum rdma1_reason reason;
	struct read_chunks chunks;

	chunks.n = 0;
	reason = decode_read_list(&c, direction, limits, hdr, &chunks);
	if (reason != RDMA1_R_NONE)
		return reason;
	reason = decode_write_list(&c, limits, hdr);
	if (reason != RDMA1_R_NONE)
		return reason;
	reason = decode_reply_chunk(&c, limits, hdr);
	if (reason != RDMA1_R_NONE)
		return reason;
	hdr->header_bytes = (uint32_t)(c.p - msg);
	hdr->nread_chunks = (uint16_t)chunks.n;
	hdr->has_position_zero = chunks.n > 0 && chunks.at[0].position == 0;
	if (hdr->proc == RDMA1_MSG)
		return check_msg(&c, direction, hdr, &chunks);
	if (direction == RDMA1_REPLY)
		return check_nomsg_reply(hdr);
	return check_nomsg_call(&c, hdr, &chunks);
}

/* Decodes an RDMA_ERROR that a requester has received (4.5). An RDMA_ERROR with ERR_CHUNK is
 * shorter than the 28 bytes that section 4.5 requires of every message, but responders send it. If
 * a requester dropped it, the call would never end. */
static enum rdma1_reason rdma1_decode_error(const uint8_t *msg, uint32_t len,
					    struct rdma1_header *hdr)
{
	uint32_t err;

	if (len < RDMA1_ERR_CHUNK_SIZE)
		return RDMA1_R_SHORT;
	err = wire_get_u32(msg + RDMA1_FIXED_SIZE);
	if (err == RDMA1_ERR_CHUNK) {
		if (hdr->vers != RDMA1_VERSION)
			return RDMA1_R_VERSION;
		hdr->header_bytes = RDMA1_ERR_CHUNK_SIZE;
	} else {
		if (len < RDMA1_ERR_VERS_SIZE)
			return RDMA1_R_SHORT;
		if (err != RDMA1_ERR_VERS)
			return RDMA1_R_ERROR_MALFORMED;
		hdr->vers_low = wire_get_u32(msg + 20);
		hdr->vers_high = wire_get_u32(msg + 24);
		hdr->header_bytes = RDMA1_ERR_VERS_SIZE;
	}
	hdr->err = err;
	return RDMA1_R_NONE;
}

static enum rdma1_reason decode_message(const uint8_t *msg, uint32_t len,
					enum rdma1_direction direction,
					const struct rdma1_limits *limits, struct rdma1_header *hdr)
{
	if (direction == RDMA1_REPLY && len >= RDMA1_FIXED_SIZE && hdr->proc == RDMA1_ERROR)
		return rdma1_decode_error(msg, len, hdr);
	if (len < RDMA1_HEADER_MIN)
		return RDMA1_R_SHORT;
	if (hdr->proc == RDMA1_ERROR)
		return RDMA1_R_ERROR_TO_RESPONDER;
	if (hdr->vers != RDMA1_VERSION)
		return RDMA1_R_VERSION;
	switch (hdr->proc) {
	case RDMA1_MSG:
	case RDMA1_NOMSG:
		return rdma1_decode_lists(msg, len, RDMA1_FIXED_SIZE, direction, limits, hdr);
	case RDMA1_MSGP:
		return RDMA1_R_MSGP;
	case RDMA1_DONE:
		return RDMA1_R_DONE;
	default:
		return RDMA1_R_PROC;
	}
}

/* Returns the verdict that section 4.5 requires for a message with this direction that was found
 * invalid for this reason. */
static enum rdma1_verdict rdma1_judge(enum rdma1_reason reason, enum rdma1_direction direction)
{
	if (reason == RDMA1_R_NONE)
		return RDMA1_V_OK;
	if (direction == RDMA1_REPLY)
		return RDMA1_V_DROP;
	switch (reason) {
	case RDMA1_R_SHORT:
	case RDMA1_R_DONE:
	case RDMA1_R_ERROR_TO_RESPONDER:
	case RDMA1_R_OTHER_DIRECTION:
		return RDMA1_V_DROP;
	case RDMA1_R_VERSION:
		return RDMA1_V_ERR_VERS;
	default:
		return RDMA1_V_ERR_CHUNK;
	}
}

/* Decodes a message for which rdma1_decode_chunked() has no shorter path. The function is out of
 * line, because its stack frame would slow down rdma1_decode_chunked(). */
static out_of_line enum rdma1_verdict
decode_other(const uint8_t *msg, uint32_t len, enum rdma1_direction direction,
	     const struct rdma1_limits *limits, struct rdma1_header *hdr, enum rdma1_reason *reason)
{
	struct rdma1_header full;

	*hdr = (struct rdma1_header){0};
	if (len >= RDMA1_FIXED_SIZE) {
		hdr->xid = wire_get_u32(msg);
		hdr->vers = wire_get_u32(msg + 4);
		hdr->credit = wire_get_u32(msg + 8);
		hdr->proc = wire_get_u32(msg + 12);
	}
	full = *hdr;
	*reason = decode_message(msg, len, direction, limits, &full);
	if (*reason == RDMA1_R_NONE)
		*hdr = full;
	return rdma1_judge(*reason, direction);
}

/* Returns whether a call meets the conditions of rdma1_is_short(), except that its Read list has
 * one segment. This segment must be within the limits, and at a position that an item of an
 * RDMA_MSG can have. */
static inline bool is_one_read_message(const uint8_t *msg, uint32_t len,
				       const struct rdma1_limits *limits)
{
	uint32_t bytes, position;

	if (len < RDMA1_ONE_READ_SIZE + RDMA1_RPC_PEEK)
		return false;
	if (((wire_raw_u32(msg + 4) ^ htobe32(RDMA1_VERSION)) |
	     (wire_raw_u64(msg + 12) ^ htobe64(1)) | wire_raw_u64(msg + 40) |
	     wire_raw_u32(msg + 48) |
	     rdma1_rpc_differs(msg + RDMA1_ONE_READ_SIZE, wire_raw_u32(msg), RDMA1_CALL)) != 0)
		return false;
	position = wire_get_u32(msg + 20);
	bytes = wire_get_u32(msg + 28);
	return position % 4 == 0 && position >= RDMA1_POSITION_MIN &&
	       position <= len - RDMA1_ONE_READ_SIZE && limits->read_segments_max >= 1 &&
	       limits->read_chunks_max >= 1 && bytes <= limits->read_bytes_max &&
	       bytes <= UINT64_MAX - wire_get_u64(msg + 32);
}

static enum rdma1_verdict decode_one_read(const uint8_t *msg, struct rdma1_header *hdr,
					  enum rdma1_reason *reason)
{
	rdma1_decode_short(msg, hdr);
	hdr->header_bytes = RDMA1_ONE_READ_SIZE;
	hdr->nread_segments = 1;
	hdr->nread_chunks = 1;
	hdr->writes = msg + RDMA1_FIXED_SIZE + RDMA1_READ_SEGMENT_SIZE + 4;
	hdr->read_bytes = wire_get_u32(msg + 28);
	*reason = RDMA1_R_NONE;
	return RDMA1_V_OK;
}

out_of_line enum rdma1_verdict rdma1_decode_chunked(const uint8_t *msg, uint32_t len,
						    enum rdma1_direction direction,
						    const struct rdma1_limits *limits,
						    struct rdma1_header *hdr,
						    enum rdma1_reason *reason)
{
	bool has_reads = len >= RDMA1_HEADER_MIN && wire_raw_u32(msg + RDMA1_FIXED_SIZE) != 0;

	if (!has_reads && rdma1_is_one_write_msg(msg, len, direction, limits)) {
		rdma1_decode_one_write_msg(msg, hdr);
		*reason = RDMA1_R_NONE;
		return RDMA1_V_OK;
	}
	if (has_reads && direction == RDMA1_CALL && is_one_read_message(msg, len, limits))
		return decode_one_read(msg, hdr, reason);
	return decode_other(msg, len, direction, limits, hdr, reason);
}

void rdma1_reads_begin(const struct rdma1_header *hdr, struct rdma1_read_iter *it)
{
	it->p = hdr->reads;
	it->left = hdr->nread_segments;
}

bool rdma1_reads_next(struct rdma1_read_iter *it, struct rdma1_read_segment *seg)
{
	if (it->left == 0)
		return false;
	seg->position = wire_get_u32(it->p + 4);
	seg->target = rdma1_segment_at(it->p + 8);
	it->p += RDMA1_READ_SEGMENT_SIZE;
	it->left--;
	return true;
}

void rdma1_writes_begin(const struct rdma1_header *hdr, struct rdma1_write_iter *it)
{
	it->p = hdr->writes;
	it->left = hdr->nwrite_chunks;
}

bool rdma1_writes_next(struct rdma1_write_iter *it, struct rdma1_segment_iter *chunk)
{
	if (it->left == 0)
		return false;
	chunk->left = wire_get_u32(it->p + 4);
	chunk->p = it->p + 8;
	it->p = chunk->p + (size_t)chunk->left * RDMA1_SEGMENT_SIZE;
	it->left--;
	return true;
}

void rdma1_reply_begin(const struct rdma1_header *hdr, struct rdma1_segment_iter *chunk)
{
	chunk->left = hdr->nreply_segments;
	chunk->p = hdr->has_reply_chunk ? hdr->reply + 4 : NULL;
}

bool rdma1_segments_next(struct rdma1_segment_iter *it, struct rdma1_segment *seg)
{
	if (it->left == 0)
		return false;
	*seg = rdma1_segment_at(it->p);
	it->p += RDMA1_SEGMENT_SIZE;
	it->left--;
	return true;
}

/* The names and texts are in one table, so that no reason lacks one of them. */
static const struct {
	const char *name;
	const char *text;
} reasons[RDMA1_R_MAX] = {
	[RDMA1_R_NONE] = {"none", "The message is well formed."},
	[RDMA1_R_SHORT] = {"short", "The message is shorter than the smallest transport header."},
	[RDMA1_R_VERSION] = {"version", "The version is not 1."},
	[RDMA1_R_PROC] = {"proc", "Version 1 does not define the procedure."},
	[RDMA1_R_MSGP] = {"msgp", "RDMA_MSGP is not supported any more."},
	[RDMA1_R_DONE] = {"done", "RDMA_DONE is not supported any more."},
	[RDMA1_R_ERROR_TO_RESPONDER] = {"error_to_responder", "A responder received RDMA_ERROR."},
	[RDMA1_R_ERROR_MALFORMED] = {"error_malformed",
				     "RDMA_ERROR carries an unknown error code."},
	[RDMA1_R_TRUNCATED] = {"truncated", "A chunk list runs past the end of the message."},
	[RDMA1_R_BAD_BOOL] = {"bad_bool",
			      "The word that says whether an entry follows is neither 0 nor 1."},
	[RDMA1_R_READ_LIST_IN_REPLY] = {"read_list_in_reply", "A reply has a Read list."},
	[RDMA1_R_POSITION_UNALIGNED] = {"position_unaligned",
					"The position of a Read chunk is not a multiple of four."},
	[RDMA1_R_POSITION_BEYOND] =
		{"position_beyond",
		 "The position of a Read chunk is in the RPC header or past the stream."},
	[RDMA1_R_TOO_MANY_READS] = {"too_many_reads",
				    "The Read list is longer than the receiver accepts."},
	[RDMA1_R_TOO_MANY_WRITES] = {"too_many_writes",
				     "The Write list is longer than the receiver accepts."},
	[RDMA1_R_TOO_MANY_SEGMENTS] =
		{"too_many_segments",
		 "A Write or Reply chunk has more segments than the receiver accepts."},
	[RDMA1_R_TOO_LARGE] = {"too_large",
			       "The segments add up to more bytes than the receiver accepts."},
	[RDMA1_R_SEGMENT_WRAP] = {"segment_wrap",
				  "A segment reaches the end of the 64-bit address space."},
	[RDMA1_R_NOMSG_WITHOUT_CHUNK] =
		{"nomsg_without_chunk",
		 "RDMA_NOMSG lacks the chunk that would hold the RPC message."},
	[RDMA1_R_NOMSG_WITH_PAYLOAD] = {"nomsg_with_payload",
					"Bytes follow the header of an RDMA_NOMSG call."},
	[RDMA1_R_MSG_WITH_POSITION_ZERO] = {"msg_with_position_zero",
					    "RDMA_MSG has a Position Zero Read chunk."},
	[RDMA1_R_PAYLOAD_SHORT] = {"payload_short", "The RPC message is too short to have an XID."},
	[RDMA1_R_XID_MISMATCH] = {"xid_mismatch",
				  "The XIDs of the transport header and the RPC message differ."},
	[RDMA1_R_READS_OVERLAP] = {"reads_overlap",
				   "A Read chunk begins inside of the one before it."},
	[RDMA1_R_OTHER_DIRECTION] =
		{"other_direction",
		 "The message is a reply at a responder, or a call at a requester."},
	[RDMA1_R_RPC_HEADER] = {"rpc_header", "The RPC header is malformed."},
};

const char *rdma1_reason_text(enum rdma1_reason reason)
{
	return (uint32_t)reason < RDMA1_R_MAX ? reasons[reason].text : "Unknown reason.";
}

const char *rdma1_reason_name(enum rdma1_reason reason)
{
	return (uint32_t)reason < RDMA1_R_MAX ? reasons[reason].name : "unknown";
}
