/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REDUCE_H
#define REDUCE_H

/*
 * The reducer (RFC 8166 sections 3.4 and 3.5). From a message that is described as pieces, it
 * decides how the message is sent, and writes the matching transport header. The reducer has no
 * state and does no I/O. Its output is the bytes of the header and a list of RDMA Writes. Below,
 * numbers such as 4.3.2 are sections of RFC 8166.
 *
 * A call has one of these forms:
 *
 * - Short: the whole message is inline.
 * - Chunked: items are in Read chunks, and the rest is inline.
 * - Long: a Position Zero Read chunk has the Payload stream. Items can be in other Read chunks.
 *
 * In a reply, items are written to the Write chunks that the requester has offered. The rest is
 * inline. If the rest does not fit inline, all of the rest is written to the Reply chunk.
 */

#include "piece.h"
#include "rdma1.h"

enum reduce_form { REDUCE_SHORT, REDUCE_CHUNKED, REDUCE_LONG };

#define REDUCE_PIECES_MAX	32u
#define REDUCE_RESULT_ITEMS_MAX 16u

/* ---- calls ---- */

/* A DDP-eligible result that the requester can accept by a Write chunk (RFC 8166 section 3.4.6). */
struct reduce_result {
	/* If nsegments is 0, the Write chunk is empty, which asks for an inline result (4.3.2). */
	const struct remote_buf *segments;
	uint32_t nsegments;
	/* The largest size of the result in bytes. If there are segments, it must be at most the
	 * sum of their lengths. */
	uint32_t max_bytes;
	/* Only for the extension of version 2: the range of the operation that returns the result,
	 * as offsets in the call with all items in it. The ranges ascend with the results, and are
	 * disjoint or equal. If end is 0, the range ends at the end of the call. */
	uint32_t begin, end;
};

struct reduce_call_in {
	const struct piece *pieces; /* The first piece starts with the RPC header. */
	uint32_t npieces;	    /* from 1 to REDUCE_PIECES_MAX */
	uint32_t call_inline_bytes; /* the call inline threshold */
	/* If the longest item has at least this number of bytes, the item is sent by a Read chunk,
	 * even if the whole call would fit inline. 0: no item of a call that fits inline is sent by
	 * a Read chunk. */
	uint32_t chunk_bytes;
	uint32_t reply_inline_bytes;
	/* size of the Payload stream of the largest possible reply, without the results that
	 * 'results' lists */
	uint32_t reply_max_bytes;
	const struct reduce_result *results;
	uint32_t nresults; /* from 0 to REDUCE_RESULT_ITEMS_MAX */
	/* false: items and results must not be reduced, as with RPCSEC_GSS with integrity or
	 * privacy (8.2.2) */
	bool may_reduce;
};

struct reduce_call_plan {
	enum reduce_form form;
	uint32_t reduced;      /* Bit i is set if piece i is sent by a Read chunk. */
	bool use_write_list;   /* The header has a Write list for the results. */
	bool need_reply_chunk; /* The largest possible reply does not fit inline (4.3.3). */
	/* size of the transport header, with one segment of the Reply chunk if it is needed, and
	 * one segment of the Position Zero Read chunk if the call is Long */
	uint32_t header_bytes;
	/* bytes of the Payload stream that follow the header in the Send; 0 if the call is Long */
	uint32_t inline_bytes;
	/* bytes of the Payload stream after reduction, which are in the Position Zero Read chunk if
	 * the call is Long */
	uint32_t stream_bytes;
	uint32_t reply_bytes; /* size of the Reply chunk if it is needed, otherwise 0 */
};

/*
 * Plans how a call is sent. Returns 0, or one of these errors:
 *
 * - -EINVAL: a count is out of range, a sum of lengths is over 32 bits, or a Write chunk is shorter
 *   than the largest size of its item.
 * - -EMSGSIZE: the transport header alone is larger than the call inline threshold, or the header
 *   of the reply, which returns all chunks, is larger than the reply inline threshold.
 */
int reduce_call_plan(const struct reduce_call_in *in, struct reduce_call_plan *plan);

static inline bool reduce_is_bulk(uint32_t item_bytes, uint32_t chunk_bytes)
{
	return chunk_bytes > 0 && item_bytes >= chunk_bytes;
}

/* Returns whether reduce_call_plan() would plan the Read chunk of the only item, and no other
 * chunk, for a call. The call has one item of 'item_bytes', which is allowed to be reduced, and no
 * results by Write chunks. 'position' is the position of the item, and 'left_bytes' is the size of
 * the stream without the item. */
static inline bool reduce_is_one_read(uint32_t position, uint32_t left_bytes, uint32_t item_bytes,
				      uint32_t call_inline_bytes, uint32_t chunk_bytes,
				      uint32_t reply_max_bytes, uint32_t reply_inline_bytes)
{
	uint64_t left = left_bytes, stream = left + item_bytes + ((0u - item_bytes) & 3u);

	return ((position | left_bytes) & 3u) == 0 && stream <= UINT32_MAX &&
	       (RDMA1_HEADER_MIN + stream > call_inline_bytes ||
		reduce_is_bulk(item_bytes, chunk_bytes)) &&
	       RDMA1_ONE_READ_SIZE + left <= call_inline_bytes &&
	       RDMA1_HEADER_MIN + (uint64_t)reply_max_bytes <= reply_inline_bytes;
}

/* Writes the transport header of a planned call to 'buf' of 'size' bytes, and its length to *len.
 * For a Long Call, 'long_segs' are the 'nlong' segments that have the Payload stream, with padding,
 * in order. Otherwise nlong must be 0. 'reply' is the only segment of the Reply chunk, or NULL if
 * the plan needs no Reply chunk. Reduced pieces must have an rkey. Returns 0, -ENOSPC if 'buf' is
 * too small, or -EINVAL if the segments or the Reply chunk do not agree with the plan. */
int reduce_call_encode(const struct reduce_call_in *in, const struct reduce_call_plan *plan,
		       uint32_t xid, uint32_t credit, const struct remote_buf *long_segs,
		       uint32_t nlong, const struct remote_buf *reply, uint8_t *buf, uint32_t size,
		       uint32_t *len);

/* ---- replies ---- */

/* One RDMA Write: 'len' bytes from local memory to the requester's memory at 'handle' and 'offset'.
 */
struct reduce_xfer {
	uint8_t *local;
	uint32_t lkey;
	uint32_t len;
	uint32_t handle;
	uint64_t offset;
};

struct reduce_reply_in {
	const struct rdma1_header *call; /* header of the call, accepted by rdma1_decode() */
	const struct piece *pieces;
	uint32_t npieces;
	uint32_t reply_inline_bytes;
	/* At least 3 zero bytes of registered memory, which are the source of padding in a Reply
	 * chunk. */
	struct piece zeros;
	uint32_t credit;     /* the grant */
	bool may_reduce;     /* false: items must not be reduced */
	uint32_t first_xfer; /* index of the first transfer to list */
};

struct reduce_reply_plan {
	enum reduce_form form;
	uint32_t header_bytes; /* size of the transport header that was written to 'buf' */
	/* Bit i is set if piece i is written to a Write chunk, and is not in the Payload stream. */
	uint32_t reduced;
	/* Bytes of the Payload stream that follow the header in the Send. 0 if the reply is Long.
	 */
	uint32_t inline_bytes;
	/* The number of all RDMA Writes. At most max_xfers of them are listed, from index
	 * first_xfer on. */
	uint32_t nxfers;
};

/*
 * Plans a reply, writes its transport header to 'buf', and lists the RDMA Writes that must be
 * posted before the Send. If 'xfers' has no room for all RDMA Writes, the caller calls the function
 * again with another first_xfer to list the others. No RDMA Write exceeds the memory that the
 * requester advertised. Returns 0, or one of these errors:
 *
 * - -EMSGSIZE: the reply fits neither inline nor into the chunks. The caller answers with ERR_CHUNK
 *   (4.5.3) and keeps the connection.
 * - -ENOSPC: 'buf' is too small.
 * - -EINVAL: the pieces are not valid.
 */
int reduce_reply(const struct reduce_reply_in *in, uint8_t *buf, uint32_t size,
		 struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan);

/* Finds which memory of the requester was too small when reduce_reply() returned -EMSGSIZE
 * (draft-cel-nfsv4-rpcrdma-version-two-03 section 6.2.4). *segment is the number of the first
 * segment that is too short, counted from 1 through the Write list and then the Reply chunk. *bytes
 * is the size that this segment would need. If no segment is too short, *segment is 0, and *bytes
 * is the size of the Payload stream for which there is no room. */
void reduce_reply_lack(const struct reduce_reply_in *in, uint32_t *segment, uint32_t *bytes);

#endif
