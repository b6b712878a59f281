/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REDUCE_H
#define REDUCE_H

/*
 * The reducer (RFC 8166 sections 3.4 and 3.5): from a message described as pieces it decides how
 * the message travels, and writes the transport header that says so. Pure: bytes in, bytes and a
 * list of transfers out.
 *
 * A call: Short (everything inline), Chunked (items as Read chunks), or Long (a Position Zero Read
 * chunk holds the Payload stream, reduced or not).
 * A reply: items go to Write chunks where the requester gave them, the rest inline, or all that is
 * left to the Reply chunk.
 */

#include "piece.h"
#include "rdma1.h"

enum reduce_form { REDUCE_SHORT, REDUCE_CHUNKED, REDUCE_LONG };

#define REDUCE_PIECES_MAX	32u
#define REDUCE_RESULT_ITEMS_MAX 16u

/* ---- calls ---- */

/* A DDP-eligible result that the requester is ready to take by a Write chunk (RFC 8166 3.4.6). */
struct reduce_result {
	/* nsegments 0: an empty Write chunk, 'return it inline' (4.3.2) */
	const struct remote_buf *segments;
	uint32_t nsegments;
	uint32_t max_bytes; /* what the item can be at most; <= sum of the segments when there are
			       any */
	/* By the extension: where in the call, with all items in it, the operation is that yields
	 * it. Ranges ascend with the results, and are disjoint or the same; end 0: the call's end.
	 */
	uint32_t begin, end;
};

struct reduce_call_in {
	const struct piece *pieces; /* the first starts with the RPC header */
	uint32_t npieces;	    /* 1 to REDUCE_PIECES_MAX */
	uint32_t call_inline_bytes; /* call inline threshold */
	uint32_t chunk_bytes; /* the longest item is a Read chunk if it has so many, though all
				 would fit inline; 0: none is */
	uint32_t reply_inline_bytes;
	uint32_t reply_max_bytes; /* the largest reply's Payload stream, its items left out */
	const struct reduce_result *results;
	uint32_t nresults; /* 0 to REDUCE_RESULT_ITEMS_MAX */
	bool may_reduce; /* false: RPCSEC_GSS integrity or privacy (8.2.2): no Read, no Write chunks
			  */
};

struct reduce_call_plan {
	enum reduce_form form;
	uint32_t reduced;      /* bit i: piece i is a Read chunk */
	bool use_write_list;   /* results travel by Write chunks */
	bool need_reply_chunk; /* 4.3.3: the largest reply may not fit inline */
	uint32_t header_bytes; /* of the transport header, with one Reply chunk segment if needed */
	uint32_t inline_bytes; /* Payload stream bytes that follow it in the Send; 0 when Long */
	uint32_t stream_bytes; /* Payload stream after reduction: what a Long Call's chunk must hold
				*/
	uint32_t reply_bytes;  /* what the Reply chunk must hold, when it is needed */
};

/* 0; -EINVAL: counts out of range, a length sum over 32 bits, or a Write chunk shorter than its
 * item can be; -EMSGSIZE: even the transport header is larger than the call inline threshold, or
 * the reply's, which returns all chunks, than the reply inline threshold. */
int reduce_call_plan(const struct reduce_call_in *in, struct reduce_call_plan *plan);

static inline bool reduce_is_bulk(uint32_t item_bytes, uint32_t chunk_bytes)
{
	return chunk_bytes > 0 && item_bytes >= chunk_bytes;
}

/* What reduce_call_plan() does of a call that has one item of 'item_bytes', which may be a Read
 * chunk, and no results by Write chunks: whether that chunk is all that its header has. 'position'
 * is the item's; 'left_bytes' is the stream without it. */
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

/* Write the transport header of a planned call to 'buf' of 'size' bytes; *len is its length. For a
 * Long Call, 'long_segs' are the segments that hold the Payload stream, padding included, in order;
 * otherwise nlong is 0. 'reply' is the Reply chunk's one segment, or NULL when plan says no need.
 * Reduced pieces must have an rkey. 0, -ENOSPC or -EINVAL. */
int reduce_call_encode(const struct reduce_call_in *in, const struct reduce_call_plan *plan,
		       uint32_t xid, uint32_t credit, const struct remote_buf *long_segs,
		       uint32_t nlong, const struct remote_buf *reply, uint8_t *buf, uint32_t size,
		       uint32_t *len);

/* ---- replies ---- */

/* One RDMA Write: 'len' bytes from local memory to the requester's. */
struct reduce_xfer {
	uint8_t *local;
	uint32_t lkey;
	uint32_t len;
	uint32_t handle;
	uint64_t offset;
};

struct reduce_reply_in {
	const struct rdma1_header *call; /* the call's, accepted by rdma1_decode() */
	const struct piece *pieces;
	uint32_t npieces;
	uint32_t reply_inline_bytes;
	struct piece zeros;  /* at least 3 zero bytes of registered memory, for padding in a Reply
				chunk */
	uint32_t credit;     /* to grant */
	bool may_reduce;     /* false: RPCSEC_GSS integrity or privacy */
	uint32_t first_xfer; /* list transfers from this one on */
};

struct reduce_reply_plan {
	enum reduce_form form;
	uint32_t header_bytes; /* of the transport header in 'buf' */
	uint32_t
		reduced; /* bit i: piece i went to a Write chunk: it is not in the Payload stream */
	uint32_t inline_bytes; /* Payload stream bytes to follow the header in the Send; 0 when Long
				*/
	uint32_t nxfers; /* in all: of these, at most max_xfers are listed, from first_xfer on */
};

/* Plan a reply, write its transport header to 'buf', and list the RDMA Writes to be posted before
 * the Send: as many as there is room for; the same call with another first_xfer lists others.
 * Nothing is written past what the requester advertised. 0; -EMSGSIZE: the reply fits neither
 * inline nor the chunks given: answer ERR_CHUNK (4.5.3) and keep the connection; -ENOSPC: 'buf' is
 * too small; -EINVAL. */
int reduce_reply(const struct reduce_reply_in *in, uint8_t *buf, uint32_t size,
		 struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan);

/* Of a reply that reduce_reply() could not convey: the first segment that is too short, counted
 * from 1 on through the Write list and then the Reply chunk, and the bytes that it would need
 * (draft-cel-nfsv4-rpcrdma-version-two-03 section 6.2.4). Segment 0: there is no such segment; the
 * bytes are then those of the Payload stream that has no place. */
void reduce_reply_lack(const struct reduce_reply_in *in, uint32_t *segment, uint32_t *bytes);

#endif
