/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REASSEMBLE_H
#define REASSEMBLE_H

/*
 * The responder's side of Read chunks (RFC 8166 section 3.4.5). These functions find the chunks
 * that a responder must pull by RDMA Reads. From the pulled chunks and the inline bytes they
 * reassemble the unreduced Payload stream, without a copy.
 *
 * There are two steps:
 *
 * - reassemble_chunks() lists the Read chunks of a call. The caller finds a destination for each
 *   chunk and pulls it.
 * - reassemble_parts() returns the stream as parts for an XDR decoder.
 *
 * If a call has a Position Zero Read chunk and other Read chunks, the Position Zero Read chunk
 * replaces the inline stream. In any case, the positions of the other chunks are offsets in the
 * unreduced stream.
 */

#include <weir/xdr.h>

#include "rdma1.h"

#define REASSEMBLE_CHUNKS_MAX 16u
#define REASSEMBLE_PARTS_MAX  (2u * REASSEMBLE_CHUNKS_MAX + 1u)

/* A Read chunk of a call. */
struct reassemble_chunk {
	uint32_t position;
	/* The sum of the lengths of its segments. It includes roundup padding if the requester has
	 * included padding in the segments. */
	uint32_t len_bytes;
	/* Number of bytes that the caller has already requested. Only the caller uses this member,
	 * while it pulls segment by segment. */
	uint32_t filled;
	uint32_t lkey; /* lkey of dst; only the caller uses it */
	uint8_t *dst;  /* memory that the caller pulls the chunk into; set before reassemble_parts()
			*/
};

/* Lists the Read chunks of an accepted call, sorted by position. The Read list may be in any order.
 * The segments of one chunk keep their order, and need not be adjacent. Returns the number of
 * chunks, or -E2BIG if there are more than 'max_chunks' or a chunk has 2^32 or more bytes. */
int reassemble_chunks(const struct rdma1_header *hdr, struct reassemble_chunk *chunks,
		      uint32_t max_chunks);

/*
 * Stores the unreduced stream as parts in 'parts'. 'stream' is the Payload stream as it was
 * received: the inline bytes, or the pulled Position Zero Read chunk. 'chunks' are the chunks at
 * other positions, with 'dst' set. The count word before an item is the length of the item without
 * padding. This length must match the length of the chunk, with or without roundup padding. Returns
 * the number of parts, or -EBADMSG, which the caller answers as RFC 8166 section 4.5.2 requires.
 * -EBADMSG is returned in these cases:
 *
 * - A position is inside an earlier chunk or its padding, is less than a word after it, or is past
 *   the stream.
 * - The count word does not match the length of the chunk.
 * - There are more than 'max_parts' parts.
 */
int reassemble_parts(const uint8_t *stream, uint32_t stream_bytes,
		     const struct reassemble_chunk *chunks, uint32_t nchunks,
		     struct weir_xdr_part *parts, uint32_t max_parts);

/* Does the work of reassemble_parts() for a single chunk, for callers that have a shorter path for
 * one chunk. Returns the number of parts, which is 2 or 3. If it returns 0, the caller must call
 * reassemble_parts(). */
static inline uint32_t reassemble_one(const uint8_t *stream, uint32_t stream_bytes,
				      const struct reassemble_chunk *chunk,
				      struct weir_xdr_part *parts)
{
	uint32_t before = chunk->position, count;

	if (before < WEIR_XDR_UNIT || before > stream_bytes)
		return 0;
	count = wire_get_u32(stream + before - WEIR_XDR_UNIT);
	if (count != chunk->len_bytes && (uint64_t)count + weir_xdr_pad(count) != chunk->len_bytes)
		return 0;
	parts[0] = (struct weir_xdr_part){.base = stream, .len_bytes = before};
	parts[1] = (struct weir_xdr_part){.base = chunk->dst, .len_bytes = count, .is_item = 1};
	if (before == stream_bytes)
		return 2;
	parts[2] =
		(struct weir_xdr_part){.base = stream + before, .len_bytes = stream_bytes - before};
	return 3;
}

#endif
