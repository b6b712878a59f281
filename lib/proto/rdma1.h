/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA1_H
#define RDMA1_H

/*
 * The transport header of RPC-over-RDMA version 1 (RFC 8166 section 4), both directions.
 *
 * Decoding checks the whole header, every count and every sum, before the caller takes anything for
 * it, and keeps positions into the caller's buffer rather than copies. The buffer must be memory
 * that no peer can write to, and must stay while the header is iterated.
 *
 * The files of this folder, which do no I/O and keep nothing but what they are given:
 *
 *   rdma1*             the transport header of version 1
 *   rpc_msg.[ch]       RPC headers
 *   shape.h            both headers of the most common messages, recognised at once
 *   xdr.c, xdr_ref.h   XDR, the public part of which is in weir/xdr.h
 *   piece.h            how a message that is to be sent is described
 *   reduce*            which parts of a message go by chunks
 *   reassemble.[ch]    Read chunks and inline bytes make a Payload stream again
 *   credit.[ch]        credits of a connection with receives of its own
 *   credit_share.[ch]  credits of connections that share receives
 *   cm_private.[ch]    the private data of connection requests (RFC 8797)
 *   ulb_find.[ch]      a procedure's entry in an upper-layer binding
 *   v2/rdma2*          the transport header and the properties of version 2
 *   v2/rtr*            its extension: rtr.h
 */

#include <stddef.h>

#include <weir/common.h>

#include "compiler.h"
#include "wire.h"

#define RDMA1_VERSION 1u

/* Sizes in bytes. */
#define RDMA1_FIXED_SIZE	16u /* xid, vers, credit, proc */
#define RDMA1_HEADER_MIN	28u /* with three empty lists */
#define RDMA1_ERR_CHUNK_SIZE	20u /* RDMA_ERROR carrying ERR_CHUNK: shorter than HEADER_MIN */
#define RDMA1_ERR_VERS_SIZE	28u /* RDMA_ERROR carrying ERR_VERS */
#define RDMA1_ONE_WRITE_SIZE	52u /* with one Write chunk of one segment */
#define RDMA1_ONE_READ_SIZE	52u /* with one Read segment */
#define RDMA1_SEGMENT_SIZE	16u /* handle, length, offset */
#define RDMA1_READ_SEGMENT_SIZE 24u /* 'present' word, position, segment */
#define RDMA1_RPC_PEEK		8u /* XID and msg_type of the RPC message, which tell whose it is */
#define RDMA1_POSITION_MIN	40u   /* no Read chunk but Position Zero starts in the RPC header */
#define RDMA1_INLINE_DEFAULT	1024u /* RFC 8166 section 3.3.3 */

enum rdma1_proc { RDMA1_MSG = 0, RDMA1_NOMSG = 1, RDMA1_MSGP = 2, RDMA1_DONE = 3, RDMA1_ERROR = 4 };
enum rdma1_err { RDMA1_ERR_VERS = 1, RDMA1_ERR_CHUNK = 2 };

/* What the receiver of a message must do (RFC 8166 section 4.5). A requester's verdict is never an
 * ERR_*: it drops what it can't decode. */
enum rdma1_verdict {
	RDMA1_V_OK,
	RDMA1_V_DROP,	   /* discard silently, count */
	RDMA1_V_ERR_VERS,  /* answer RDMA_ERROR, ERR_VERS */
	RDMA1_V_ERR_CHUNK, /* answer RDMA_ERROR, ERR_CHUNK */
};

/* Why, for counters, logs and weir-decode. rdma1_reason_text() has a sentence for each. */
enum rdma1_reason {
	RDMA1_R_NONE,
	RDMA1_R_SHORT, /* under 28 bytes (a reply's RDMA_ERROR: under 20) */
	RDMA1_R_VERSION,
	RDMA1_R_PROC, /* rdma_proc is none of the five */
	RDMA1_R_MSGP,
	RDMA1_R_DONE,
	RDMA1_R_ERROR_TO_RESPONDER,
	RDMA1_R_ERROR_MALFORMED,
	RDMA1_R_TRUNCATED, /* a list runs past the end of the message */
	RDMA1_R_BAD_BOOL,  /* an 'item follows' word that is neither 0 nor 1 */
	RDMA1_R_READ_LIST_IN_REPLY,
	RDMA1_R_POSITION_UNALIGNED,
	RDMA1_R_POSITION_BEYOND, /* a chunk outside of what the Payload stream can be, or in its RPC
				    header */
	RDMA1_R_TOO_MANY_READS,
	RDMA1_R_TOO_MANY_WRITES,
	RDMA1_R_TOO_MANY_SEGMENTS,
	RDMA1_R_TOO_LARGE,    /* sum of lengths over the limit */
	RDMA1_R_SEGMENT_WRAP, /* offset + length wraps 64 bits */
	RDMA1_R_NOMSG_WITHOUT_CHUNK,
	RDMA1_R_NOMSG_WITH_PAYLOAD, /* bytes after the header of an RDMA_NOMSG call */
	RDMA1_R_MSG_WITH_POSITION_ZERO,
	RDMA1_R_PAYLOAD_SHORT,	 /* a Payload stream, inline or in its chunk, that has no XID */
	RDMA1_R_XID_MISMATCH,	 /* transport XID and RPC XID differ */
	RDMA1_R_READS_OVERLAP,	 /* a Read chunk begins inside of the one before it */
	RDMA1_R_OTHER_DIRECTION, /* a reply at a responder, or a call at a requester (RFC 8167
				    section 4) */
	RDMA1_R_RPC_HEADER, /* never of rdma1_decode(): for those that decode the RPC message behind
			       it */
	RDMA1_R_MAX
};

enum rdma1_direction { RDMA1_CALL, RDMA1_REPLY };

/* Read chunks that a decoder tells apart, whatever the limit is. */
#define RDMA1_READ_CHUNKS_CAP 64u

/* What a receiver is willing to look at. Counts beyond them are refused before anything is taken.
 * Counts over 65535 mean 65535. */
struct rdma1_limits {
	uint32_t read_segments_max; /* in the whole Read list */
	uint32_t read_chunks_max;   /* distinct positions; at most RDMA1_READ_CHUNKS_CAP */
	uint32_t write_chunks_max;
	uint32_t segments_per_chunk_max; /* each Write chunk and the Reply chunk */
	uint64_t read_bytes_max;	 /* sum over the Read list */
	uint64_t write_bytes_max;	 /* sum over Write list and Reply chunk */
};

/* Generous for version 1: more than any known sender uses (Linux: 16 segments a chunk). */
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

/* A decoded header. Pointers are into the message. */
struct rdma1_header {
	uint32_t xid;
	uint32_t vers;
	uint32_t credit;
	uint32_t proc;
	uint32_t header_bytes; /* the Payload stream starts here */
	uint16_t nread_segments;
	uint16_t nread_chunks; /* distinct positions; Position Zero counts */
	const uint8_t *reads;  /* at the first 'present' word */
	const uint8_t *writes;
	/* 0 without chunks, from here on */
	uint16_t nwrite_chunks;
	uint16_t nreply_segments; /* of the Reply chunk */
	bool has_reply_chunk;
	bool has_position_zero; /* there is a Position Zero Read chunk (Long Call) */
	const uint8_t *reply;	/* at the segment count; only when has_reply_chunk */
	uint64_t read_bytes;	/* sum over the Read list; each Read chunk is below 2^32 */
	uint64_t write_bytes;	/* sum over the Write list and the Reply chunk */
	uint64_t reply_bytes;	/* of the Reply chunk alone */
	uint32_t err;		/* RDMA_ERROR: enum rdma1_err */
	uint32_t vers_low;	/* ERR_VERS */
	uint32_t vers_high;
};

/* Whether the RPC message at 'at', of RDMA1_RPC_PEEK bytes or more, has this XID, as it came, and
 * this direction. */
static inline uint32_t rdma1_rpc_differs(const uint8_t *at, uint32_t raw_xid,
					 enum rdma1_direction direction)
{
	return (wire_raw_u32(at) ^ raw_xid) | (wire_raw_u32(at + 4) ^ htobe32((uint32_t)direction));
}

/* What rdma1_decode() does first, for those who have something shorter to do with such a message
 * than with others: whether it is an RDMA_MSG of version 1 with three empty lists, and an RPC
 * message with the same XID and of that direction. Words are compared as they came. */
static inline bool rdma1_is_short(const uint8_t *msg, uint32_t len, enum rdma1_direction direction)
{
	if (len < RDMA1_HEADER_MIN + RDMA1_RPC_PEEK)
		return false;
	return ((wire_raw_u32(msg + 4) ^ htobe32(RDMA1_VERSION)) | wire_raw_u64(msg + 12) |
		wire_raw_u64(msg + 20) |
		rdma1_rpc_differs(msg + RDMA1_HEADER_MIN, wire_raw_u32(msg), direction)) == 0;
}

/* And what it says of one. */
static inline void rdma1_take_short(const uint8_t *msg, struct rdma1_header *hdr)
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

/* Whether the one segment of a message of the kind below is within the limits. */
static inline bool rdma1_one_write_is_within(const uint8_t *msg, const struct rdma1_limits *limits)
{
	uint32_t bytes = wire_get_u32(msg + 32);

	return limits->write_chunks_max >= 1 && limits->segments_per_chunk_max >= 1 &&
	       bytes <= limits->write_bytes_max && bytes <= UINT64_MAX - wire_get_u64(msg + 36);
}

/* The same of a message with one Write chunk of one segment, within the limits, and no other chunk.
 */
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

/* And its segment. */
static inline struct rdma1_segment rdma1_take_one_write(const uint8_t *msg)
{
	return rdma1_segment_at(msg + 28);
}

/* And what rdma1_decode() says of it. */
static inline void rdma1_take_one_write_msg(const uint8_t *msg, struct rdma1_header *hdr)
{
	rdma1_take_short(msg, hdr);
	hdr->header_bytes = RDMA1_ONE_WRITE_SIZE;
	hdr->nwrite_chunks = 1;
	hdr->write_bytes = wire_get_u32(msg + 32);
}

/* rdma1_decode() of a message that is not short. */
enum rdma1_verdict rdma1_decode_chunked(const uint8_t *msg, uint32_t len,
					enum rdma1_direction direction,
					const struct rdma1_limits *limits, struct rdma1_header *hdr,
					enum rdma1_reason *reason);

/* Decode and judge one received message of 'len' bytes, sent in 'direction'. When the verdict is
 * not OK, *reason says why, and *hdr holds xid, vers, credit and proc (when len >= 16) and zeros
 * otherwise. The XID of the RPC message is checked when it is in an RDMA_MSG.
 *
 * The direction comes first (RFC 8167 section 4): a message that shows the other one is dropped,
 * and neither its XID nor its credits mean anything to this side. RDMA_MSG shows it by the RPC
 * message's msg_type. RDMA_NOMSG shows it by its form: only a call has a Position Zero Read chunk,
 * and only a reply has a Reply chunk and no Read list.
 *
 * An RDMA_ERROR to a responder is dropped whatever its version: it has the same form in all
 * (4.1.2), and an error that answers an error would have no end. For the same reason a reply's
 * ERR_VERS is accepted with any version; responders echo the caller's. */
static inline enum rdma1_verdict rdma1_decode(const uint8_t *msg, uint32_t len,
					      enum rdma1_direction direction,
					      const struct rdma1_limits *limits,
					      struct rdma1_header *hdr, enum rdma1_reason *reason)
{
	if (!rdma1_is_short(msg, len, direction))
		return rdma1_decode_chunked(msg, len, direction, limits, hdr, reason);
	rdma1_take_short(msg, hdr);
	*reason = RDMA1_R_NONE;
	return RDMA1_V_OK;
}

/* The part of it that RDMA_MSG and RDMA_NOMSG have in both versions of the protocol: three chunk
 * lists, from byte 'at' <= len on, and what follows them. hdr has xid and proc, one of these two,
 * and zeros; what it has when the reason is another than RDMA1_R_NONE is not to be used. */
enum rdma1_reason rdma1_decode_lists(const uint8_t *msg, uint32_t len, uint32_t at,
				     enum rdma1_direction direction,
				     const struct rdma1_limits *limits, struct rdma1_header *hdr);

const char *rdma1_reason_text(enum rdma1_reason reason); /* a sentence, for people */
const char *rdma1_reason_name(enum rdma1_reason reason); /* snake_case, for counters and JSON */

/* Iterate a header that rdma1_decode() accepted. */
struct rdma1_read_iter {
	const uint8_t *p;
	uint32_t left;
};
struct rdma1_write_iter {
	const uint8_t *p;
	uint32_t left;
}; /* over chunks */
struct rdma1_segment_iter {
	const uint8_t *p;
	uint32_t left;
}; /* over a chunk's segments */

void rdma1_reads_begin(const struct rdma1_header *hdr, struct rdma1_read_iter *it);
bool rdma1_reads_next(struct rdma1_read_iter *it, struct rdma1_read_segment *seg);
void rdma1_writes_begin(const struct rdma1_header *hdr, struct rdma1_write_iter *it);
bool rdma1_writes_next(struct rdma1_write_iter *it, struct rdma1_segment_iter *chunk);
/* The Reply chunk's segments; left == 0 when there is none. */
void rdma1_reply_begin(const struct rdma1_header *hdr, struct rdma1_segment_iter *chunk);
bool rdma1_segments_next(struct rdma1_segment_iter *it, struct rdma1_segment *seg);

/* Encoding writes forward into a buffer through a bounded writer. On overflow 'failed' is set and
 * rdma1_writer_len() is not to be used. Call in this order: begin, read segments, end of Read list,
 * (write chunk, its segments)*, end of Write list, then the Reply chunk or its absence. */
struct rdma1_writer {
	uint8_t *start, *p, *end;
	bool failed;
};

void rdma1_write_begin(struct rdma1_writer *w, uint8_t *buf, uint32_t size, uint32_t xid,
		       uint32_t credit, enum rdma1_proc proc);
void rdma1_write_read_segment(struct rdma1_writer *w, uint32_t position,
			      const struct rdma1_segment *seg);
void rdma1_write_list_end(struct rdma1_writer *w); /* ends the Read list, then the Write list */
void rdma1_write_chunk(struct rdma1_writer *w, uint32_t nsegments); /* an entry of the Write list */
void rdma1_write_reply_chunk(struct rdma1_writer *w, uint32_t nsegments); /* instead of _no_reply */
void rdma1_write_segment(struct rdma1_writer *w, const struct rdma1_segment *seg);
void rdma1_write_no_reply_chunk(struct rdma1_writer *w);
/* The end of the Read list, an empty Write list and no Reply chunk: most calls end so. */
void rdma1_write_no_results(struct rdma1_writer *w);
static inline uint32_t rdma1_writer_len(const struct rdma1_writer *w)
{
	return (uint32_t)(w->p - w->start);
}

/* Whether an accepted header has one Write chunk of one segment and no other chunk, and then its
 * segment: with the three lists' ends, no other list makes up that size. */
static inline bool rdma1_is_one_write(const struct rdma1_header *hdr, struct rdma1_segment *seg)
{
	if (hdr->header_bytes != RDMA1_ONE_WRITE_SIZE || hdr->nwrite_chunks != 1)
		return false;
	*seg = rdma1_segment_at(hdr->writes + 8);
	return true;
}

/* Whether an accepted RDMA_MSG of version 1 has one Read segment and no other chunk, which is what
 * the call of a WRITE is, and then that segment: nor does anything else make up that size. */
static inline bool rdma1_is_one_read(const struct rdma1_header *hdr, struct rdma1_read_segment *seg)
{
	if (hdr->header_bytes != RDMA1_ONE_READ_SIZE || hdr->nread_segments != 1 ||
	    hdr->has_position_zero)
		return false;
	seg->position = wire_get_u32(hdr->reads + 4);
	seg->target = rdma1_segment_at(hdr->reads + 8);
	return true;
}

/* Where the handles stand in the header of a call that was encoded here, in the order of its
 * segments: Read list, Write list, Reply chunk. How many; at most 'max' are looked for. */
uint32_t rdma1_handles(uint8_t *header, uint8_t **handles, uint32_t max);

/* RDMA_ERROR (RFC 8166 section 4.5). 'vers' is copied from the message that failed. Return the
 * length: RDMA1_ERR_VERS_SIZE or RDMA1_ERR_CHUNK_SIZE; buf has room for RDMA1_ERR_VERS_SIZE. */
uint32_t rdma1_encode_err_vers(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit,
			       uint32_t low, uint32_t high);
uint32_t rdma1_encode_err_chunk(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit);

#endif
