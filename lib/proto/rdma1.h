/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA1_H
#define RDMA1_H

/*
 * The transport header of RPC-over-RDMA version 1 (RFC 8166 section 4), in both directions.
 *
 * Decoding checks the whole header, with every count and every sum, before the caller uses any part
 * of it. A decoded header has pointers into the caller's buffer instead of copies. Therefore no
 * peer must be able to write to the buffer, and the buffer must stay valid while the header is
 * iterated.
 *
 * The files of this folder do no I/O, and keep no state except in the structures that the caller
 * passes:
 *
 *   rdma1*             the transport header of version 1
 *   rpc_msg.[ch]       RPC headers
 *   shape.h            both headers of the most common messages, recognised by a few compares
 *   xdr.c, xdr_ref.h   XDR, whose public part is in weir/xdr.h
 *   piece.h            the description of a message to send
 *   reduce*            the choice of the parts of a message that go by chunks
 *   reassemble.[ch]    the Payload stream, reassembled from Read chunks and inline bytes
 *   credit.[ch]        credits of a connection with receives of its own
 *   credit_share.[ch]  credits of connections that share receives
 *   cm_private.[ch]    the private data of connection requests (RFC 8797)
 *   ulb_find.[ch]      the entry of a procedure in an upper-layer binding
 *   v2/rdma2*          the transport header and the properties of version 2
 *   v2/rtr*            the extension of version 2, which rtr.h describes
 */

#include <endian.h>
#include <stddef.h>

#include <weir/common.h>

#include "compiler.h"
#include "wire.h"

#define RDMA1_VERSION 1u

/* Sizes in bytes. */
#define RDMA1_FIXED_SIZE	16u   /* xid, vers, credit, proc */
#define RDMA1_HEADER_MIN	28u   /* with three empty lists */
#define RDMA1_ERR_CHUNK_SIZE	20u   /* RDMA_ERROR with ERR_CHUNK: less than RDMA1_HEADER_MIN */
#define RDMA1_ERR_VERS_SIZE	28u   /* RDMA_ERROR with ERR_VERS */
#define RDMA1_ONE_WRITE_SIZE	52u   /* with one Write chunk of one segment */
#define RDMA1_ONE_READ_SIZE	52u   /* with one Read segment */
#define RDMA1_SEGMENT_SIZE	16u   /* handle, length, offset */
#define RDMA1_READ_SEGMENT_SIZE 24u   /* 'present' word, position, segment */
#define RDMA1_RPC_PEEK		8u    /* XID and msg_type of the RPC message */
#define RDMA1_POSITION_MIN	40u   /* lowest nonzero position: end of the RPC call header */
#define RDMA1_INLINE_DEFAULT	1024u /* RFC 8166 section 3.3.3 */

enum rdma1_proc { RDMA1_MSG = 0, RDMA1_NOMSG = 1, RDMA1_MSGP = 2, RDMA1_DONE = 3, RDMA1_ERROR = 4 };
enum rdma1_err { RDMA1_ERR_VERS = 1, RDMA1_ERR_CHUNK = 2 };

/* The action that the receiver of a message must take (RFC 8166 section 4.5). For a requester the
 * verdict is never RDMA1_V_ERR_*, because a requester drops a message that it cannot decode. */
enum rdma1_verdict {
	RDMA1_V_OK,
	RDMA1_V_DROP,	   /* discard the message without an answer, and count it */
	RDMA1_V_ERR_VERS,  /* answer with RDMA_ERROR and ERR_VERS */
	RDMA1_V_ERR_CHUNK, /* answer with RDMA_ERROR and ERR_CHUNK */
};

/* The reason for a verdict, for counters, logs and weir-decode. rdma1_reason_text() returns a
 * sentence for each reason. */
enum rdma1_reason {
	RDMA1_R_NONE,
	/* less than 28 bytes, or less than 20 bytes of an RDMA_ERROR in a reply */
	RDMA1_R_SHORT,
	RDMA1_R_VERSION,
	RDMA1_R_PROC, /* rdma_proc is not a value of enum rdma1_proc */
	RDMA1_R_MSGP,
	RDMA1_R_DONE,
	RDMA1_R_ERROR_TO_RESPONDER,
	RDMA1_R_ERROR_MALFORMED,
	RDMA1_R_TRUNCATED, /* A list extends past the end of the message. */
	RDMA1_R_BAD_BOOL,  /* An 'item follows' word is neither 0 nor 1. */
	RDMA1_R_READ_LIST_IN_REPLY,
	RDMA1_R_POSITION_UNALIGNED,
	RDMA1_R_POSITION_BEYOND, /* A chunk is outside of the largest possible Payload stream, or in
				    the RPC header. */
	RDMA1_R_TOO_MANY_READS,
	RDMA1_R_TOO_MANY_WRITES,
	RDMA1_R_TOO_MANY_SEGMENTS,
	RDMA1_R_TOO_LARGE,    /* The sum of the lengths is over the limit. */
	RDMA1_R_SEGMENT_WRAP, /* offset + length wraps at 64 bits. */
	RDMA1_R_NOMSG_WITHOUT_CHUNK,
	RDMA1_R_NOMSG_WITH_PAYLOAD, /* Bytes follow the header of an RDMA_NOMSG call. */
	RDMA1_R_MSG_WITH_POSITION_ZERO,
	RDMA1_R_PAYLOAD_SHORT, /* The Payload stream, inline or in its chunk, is too short for an
				  XID. */
	RDMA1_R_XID_MISMATCH,  /* The XIDs of the transport header and of the RPC message differ. */
	RDMA1_R_READS_OVERLAP, /* A Read chunk begins inside the Read chunk before it. */
	RDMA1_R_OTHER_DIRECTION, /* A responder received a reply, or a requester received a call
				    (RFC 8167 section 4). */
	RDMA1_R_RPC_HEADER,	 /* rdma1_decode() never returns this reason. It is for callers that
				    decode the RPC message after the transport header. */
	RDMA1_R_MAX
};

enum rdma1_direction { RDMA1_CALL, RDMA1_REPLY };

/* The highest number of Read chunks that a decoder can distinguish, for any value of the limit. */
#define RDMA1_READ_CHUNKS_CAP 64u

/* The limits that a receiver sets. If a count or a sum is greater than its limit, the decoder
 * rejects the message. A limit of a count that is over 65535 means 65535. */
struct rdma1_limits {
	uint32_t read_segments_max; /* limit of segments in the whole Read list */
	/* limit of distinct positions; values over RDMA1_READ_CHUNKS_CAP mean this number */
	uint32_t read_chunks_max;
	uint32_t write_chunks_max;
	/* limit of segments in each Write chunk and in the Reply chunk */
	uint32_t segments_per_chunk_max;
	uint64_t read_bytes_max;  /* limit of the sum of lengths in the Read list */
	uint64_t write_bytes_max; /* limit of the sum of lengths in the Write list and the Reply
				     chunk */
};

/* These limits are higher than the needs of any known sender of version 1. Linux uses 16 segments
 * in each chunk. */
extern const struct rdma1_limits rdma1_limits_default;

struct rdma1_segment {
	uint32_t handle;
	uint32_t length;
	uint64_t offset;
};

struct rdma1_read_segment {
	uint32_t position;
	struct rdma1_segment target;
};

/* A decoded header. Its pointers point into the message. */
struct rdma1_header {
	uint32_t xid;
	uint32_t vers;
	uint32_t credit;
	uint32_t proc;
	uint32_t header_bytes; /* length of the header; the Payload stream follows the header */
	uint16_t nread_segments;
	uint16_t nread_chunks; /* number of distinct positions, including Position Zero */
	const uint8_t *reads;  /* the first 'present' word of the Read list */
	const uint8_t *writes; /* the first 'present' word of the Write list */
	/* If the message has no chunks, all members that follow are 0. */
	uint16_t nwrite_chunks;
	uint16_t nreply_segments; /* of the Reply chunk */
	bool has_reply_chunk;
	bool has_position_zero; /* The message has a Position Zero Read chunk (Long Call). */
	/* the segment count of the Reply chunk; valid only if has_reply_chunk */
	const uint8_t *reply;
	/* sum of lengths in the Read list; the sum of each Read chunk is below 2^32 */
	uint64_t read_bytes;
	uint64_t write_bytes; /* sum of lengths in the Write list and the Reply chunk */
	uint64_t reply_bytes; /* sum of lengths in the Reply chunk alone */
	uint32_t err;	      /* enum rdma1_err, for an RDMA_ERROR */
	uint32_t vers_low;    /* for ERR_VERS */
	uint32_t vers_high;
};

/* Returns 0 if the RPC message at 'at' has this XID and this direction, and another value
 * otherwise. The message has at least RDMA1_RPC_PEEK bytes. raw_xid is in the byte order of the
 * wire. */
static inline uint32_t rdma1_rpc_differs(const uint8_t *at, uint32_t raw_xid,
					 enum rdma1_direction direction)
{
	return (wire_raw_u32(at) ^ raw_xid) | (wire_raw_u32(at + 4) ^ htobe32((uint32_t)direction));
}

/*
 * Returns whether a message meets all of these conditions:
 *
 * - It is an RDMA_MSG of version 1 with three empty lists.
 * - The RPC message after the header has the same XID and the given direction.
 *
 * rdma1_decode() tests this condition first. Callers that have a shorter path for such messages
 * call this function directly. Words are compared in the byte order of the wire.
 */
static inline bool rdma1_is_short(const uint8_t *msg, uint32_t len, enum rdma1_direction direction)
{
	if (len < RDMA1_HEADER_MIN + RDMA1_RPC_PEEK)
		return false;
	return ((wire_raw_u32(msg + 4) ^ htobe32(RDMA1_VERSION)) | wire_raw_u64(msg + 12) |
		wire_raw_u64(msg + 20) |
		rdma1_rpc_differs(msg + RDMA1_HEADER_MIN, wire_raw_u32(msg), direction)) == 0;
}

/* Fills in *hdr as rdma1_decode() does for a message for which rdma1_is_short() is true. */
static inline void rdma1_decode_short(const uint8_t *msg, struct rdma1_header *hdr)
{
	hdr->xid = wire_get_u32(msg);
	hdr->vers = RDMA1_VERSION;
	hdr->credit = wire_get_u32(msg + 8);
	hdr->proc = RDMA1_MSG;
	hdr->header_bytes = RDMA1_HEADER_MIN;
	hdr->nread_segments = 0;
	hdr->nread_chunks = 0;
	hdr->reads = msg + RDMA1_FIXED_SIZE;
	hdr->writes = hdr->reads + 4;
	memset(&hdr->nwrite_chunks, 0, sizeof(*hdr) - offsetof(struct rdma1_header, nwrite_chunks));
}

/* Returns whether the only segment of a message is within the limits. The message must have the
 * form that rdma1_is_one_write_msg() tests. */
static inline bool rdma1_one_write_is_within(const uint8_t *msg, const struct rdma1_limits *limits)
{
	uint32_t bytes = wire_get_u32(msg + 32);

	return limits->write_chunks_max >= 1 && limits->segments_per_chunk_max >= 1 &&
	       bytes <= limits->write_bytes_max && bytes <= UINT64_MAX - wire_get_u64(msg + 36);
}

/* Returns whether a message meets the conditions of rdma1_is_short(), except that its Write list
 * has one chunk of one segment, which is within the limits. */
static inline bool rdma1_is_one_write_msg(const uint8_t *msg, uint32_t len,
					  enum rdma1_direction direction,
					  const struct rdma1_limits *limits)
{
	if (len < RDMA1_ONE_WRITE_SIZE + RDMA1_RPC_PEEK)
		return false;
	if (((wire_raw_u32(msg + 4) ^ htobe32(RDMA1_VERSION)) | wire_raw_u64(msg + 12) |
	     (wire_raw_u64(msg + 20) ^ htobe64(0x0000000100000001u)) | wire_raw_u64(msg + 44) |
	     rdma1_rpc_differs(msg + RDMA1_ONE_WRITE_SIZE, wire_raw_u32(msg), direction)) != 0)
		return false;
	return rdma1_one_write_is_within(msg, limits);
}

static inline struct rdma1_segment rdma1_segment_at(const uint8_t *at)
{
	return (struct rdma1_segment){.handle = wire_get_u32(at),
				      .length = wire_get_u32(at + 4),
				      .offset = wire_get_u64(at + 8)};
}

/* Returns the segment of a message for which rdma1_is_one_write_msg() is true. */
static inline struct rdma1_segment rdma1_decode_one_write(const uint8_t *msg)
{
	return rdma1_segment_at(msg + 28);
}

/* Fills in *hdr as rdma1_decode() does for a message for which rdma1_is_one_write_msg() is true. */
static inline void rdma1_decode_one_write_msg(const uint8_t *msg, struct rdma1_header *hdr)
{
	rdma1_decode_short(msg, hdr);
	hdr->header_bytes = RDMA1_ONE_WRITE_SIZE;
	hdr->nwrite_chunks = 1;
	hdr->write_bytes = wire_get_u32(msg + 32);
}

/* Does the work of rdma1_decode() for a message that is not short. */
enum rdma1_verdict rdma1_decode_chunked(const uint8_t *msg, uint32_t len,
					enum rdma1_direction direction,
					const struct rdma1_limits *limits, struct rdma1_header *hdr,
					enum rdma1_reason *reason);

/*
 * Decodes and checks one received message of 'len' bytes that was sent in 'direction'. Returns the
 * verdict. If the verdict is OK, *hdr is the decoded header. If the verdict is not OK:
 *
 * - *reason is the reason.
 * - *hdr has xid, vers, credit and proc if 'len' is at least 16. All other members are zero.
 *
 * The XID of the RPC message is checked if the RPC message is in an RDMA_MSG.
 *
 * The direction is checked first (RFC 8167 section 4). A message of the other direction is dropped,
 * because its XID and its credits mean nothing to this side. In an RDMA_MSG, the msg_type of the
 * RPC message gives the direction. In an RDMA_NOMSG, the chunks give the direction. Only a call has
 * a Position Zero Read chunk, and only a reply has a Reply chunk and no Read list.
 *
 * A responder drops an RDMA_ERROR of any version. The form of RDMA_ERROR is the same in all
 * versions (RFC 8166 section 4.1.2), and errors that answer errors would never end. Because the
 * form is the same, an RDMA_ERROR with ERR_VERS in a reply is accepted with any version. Responders
 * copy the requester's version into this error.
 */
static inline enum rdma1_verdict rdma1_decode(const uint8_t *msg, uint32_t len,
					      enum rdma1_direction direction,
					      const struct rdma1_limits *limits,
					      struct rdma1_header *hdr, enum rdma1_reason *reason)
{
	if (!rdma1_is_short(msg, len, direction))
		return rdma1_decode_chunked(msg, len, direction, limits, hdr, reason);
	rdma1_decode_short(msg, hdr);
	*reason = RDMA1_R_NONE;
	return RDMA1_V_OK;
}

/* Does the part of rdma1_decode() that is common to RDMA_MSG and RDMA_NOMSG in both versions of the
 * protocol. This part is the three chunk lists, which start at byte 'at' <= len, and the bytes that
 * follow the lists. On entry, *hdr must have xid, vers and proc, which is RDMA_MSG or RDMA_NOMSG,
 * and all lists and sums in *hdr must be zero. Returns RDMA1_R_NONE or the reason why the message
 * is rejected, in which case the caller must not use *hdr. */
enum rdma1_reason rdma1_decode_lists(const uint8_t *msg, uint32_t len, uint32_t at,
				     enum rdma1_direction direction,
				     const struct rdma1_limits *limits, struct rdma1_header *hdr);

const char *rdma1_reason_text(enum rdma1_reason reason); /* a sentence for a person */
const char *rdma1_reason_name(enum rdma1_reason reason); /* snake_case, for counters and JSON */

/* Iterators over a header that rdma1_decode() accepted. */
struct rdma1_read_iter {
	const uint8_t *p;
	uint32_t left;
};
struct rdma1_write_iter {
	const uint8_t *p;
	uint32_t left;
}; /* over the chunks of the Write list */
struct rdma1_segment_iter {
	const uint8_t *p;
	uint32_t left;
}; /* over the segments of a chunk */

void rdma1_reads_begin(const struct rdma1_header *hdr, struct rdma1_read_iter *it);
bool rdma1_reads_next(struct rdma1_read_iter *it, struct rdma1_read_segment *seg);
void rdma1_writes_begin(const struct rdma1_header *hdr, struct rdma1_write_iter *it);
bool rdma1_writes_next(struct rdma1_write_iter *it, struct rdma1_segment_iter *chunk);
/* Begins to iterate over the segments of the Reply chunk. If there is no Reply chunk, chunk->left
 * becomes 0. */
void rdma1_reply_begin(const struct rdma1_header *hdr, struct rdma1_segment_iter *chunk);
bool rdma1_segments_next(struct rdma1_segment_iter *it, struct rdma1_segment *seg);

/*
 * A writer with a limited buffer, which encodes a header from its start to its end. If the buffer
 * is too small, 'failed' is set, and rdma1_writer_len() must not be used. The functions are called
 * in this order:
 *
 * - rdma1_write_begin()
 * - rdma1_write_read_segment(), for each Read segment
 * - rdma1_write_list_end(), for the Read list
 * - for each Write chunk: rdma1_write_chunk(), and rdma1_write_segment() for each of its segments
 * - rdma1_write_list_end(), for the Write list
 * - rdma1_write_reply_chunk() and its segments, or rdma1_write_no_reply_chunk()
 */
struct rdma1_writer {
	uint8_t *start, *p, *end;
	bool failed;
};

void rdma1_write_begin(struct rdma1_writer *w, uint8_t *buf, uint32_t size, uint32_t xid,
		       uint32_t credit, enum rdma1_proc proc);
void rdma1_write_read_segment(struct rdma1_writer *w, uint32_t position,
			      const struct rdma1_segment *seg);
void rdma1_write_list_end(struct rdma1_writer *w); /* for the Read list, then the Write list */
void rdma1_write_chunk(struct rdma1_writer *w, uint32_t nsegments); /* an entry of the Write list */
void rdma1_write_reply_chunk(struct rdma1_writer *w,
			     uint32_t nsegments); /* or rdma1_write_no_reply_chunk() */
void rdma1_write_segment(struct rdma1_writer *w, const struct rdma1_segment *seg);
void rdma1_write_no_reply_chunk(struct rdma1_writer *w);
/* Writes the end of the Read list, an empty Write list, and the word that says that there is no
 * Reply chunk. The headers of most calls end with these words. */
void rdma1_write_no_results(struct rdma1_writer *w);
/* Returns the length of the header that was written. */
static inline uint32_t rdma1_writer_len(const struct rdma1_writer *w)
{
	return (uint32_t)(w->p - w->start);
}

/* Returns whether an accepted header has one Write chunk of one segment and no other chunk. If it
 * has, *seg is that segment. The size of the header and the number of Write chunks are enough for
 * the test, because no other lists with one Write chunk have this size. */
static inline bool rdma1_is_one_write(const struct rdma1_header *hdr, struct rdma1_segment *seg)
{
	if (hdr->header_bytes != RDMA1_ONE_WRITE_SIZE || hdr->nwrite_chunks != 1)
		return false;
	*seg = rdma1_segment_at(hdr->writes + 8);
	return true;
}

/* Returns whether an accepted RDMA_MSG of version 1 has one Read segment and no other chunk, as the
 * call of a WRITE has. If the result is true, *seg is that segment. The size of the header and the
 * number of Read segments are enough for the test, because no other lists with one Read segment
 * have this size. */
static inline bool rdma1_is_one_read(const struct rdma1_header *hdr, struct rdma1_read_segment *seg)
{
	if (hdr->header_bytes != RDMA1_ONE_READ_SIZE || hdr->nread_segments != 1 ||
	    hdr->has_position_zero)
		return false;
	seg->position = wire_get_u32(hdr->reads + 4);
	seg->target = rdma1_segment_at(hdr->reads + 8);
	return true;
}

/* Finds the handles in the header of a call that a struct rdma1_writer has encoded, in the order of
 * their segments: Read list, Write list, Reply chunk. Stores pointers to at most 'max' handles, and
 * returns how many it has stored. */
uint32_t rdma1_handles(uint8_t *header, uint8_t **handles, uint32_t max);

/* These functions encode an RDMA_ERROR (RFC 8166 section 4.5). 'vers' is copied from the message
 * that failed. They return the length of the message, which is RDMA1_ERR_VERS_SIZE or
 * RDMA1_ERR_CHUNK_SIZE. buf must have room for RDMA1_ERR_VERS_SIZE bytes. */
uint32_t rdma1_encode_err_vers(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit,
			       uint32_t low, uint32_t high);
uint32_t rdma1_encode_err_chunk(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit);

#endif
