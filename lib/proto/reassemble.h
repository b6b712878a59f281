/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REASSEMBLE_H
#define REASSEMBLE_H

/*
 * The responder's side of Read chunks (RFC 8166 section 3.4.5). These functions find the bytes to
 * pull. From the pulled chunks and the inline bytes they reassemble the unreduced Payload stream,
 * without a copy.
 *
 * There are two steps:
 *
 * - reassemble_chunks() lists the Read chunks of a call. The caller finds a destination for each
 *   chunk and pulls it.
 * - reassemble_parts() returns the stream as parts for an XDR decoder.
 *
 * If a call has a Position Zero Read chunk and other Read chunks, the Position Zero Read chunk
 * replaces the inline stream. The positions of the other chunks are offsets in the unreduced stream
 * in any case.
 */

#include <weir/xdr.h>

#include "rdma1.h"

#define REASSEMBLE_CHUNKS_MAX 16u
#define REASSEMBLE_PARTS_MAX  (2u * REASSEMBLE_CHUNKS_MAX + 1u)

struct reassemble_chunk {
	uint32_t position;
	/* The sum of the segments, with roundup padding if the sender sent it. */
	uint32_t len_bytes;
	/* Bytes that the caller already requested. The caller uses this while it pulls segment by
	 * segment. */
	uint32_t filled;
	uint32_t lkey; /* local key of dst, for the caller */
	uint8_t *dst;  /* set by the caller before reassemble_parts() */
};

/* Lists the Read chunks of an accepted call, sorted by position. The Read list may be in any order.
 * The segments of one chunk keep their order, and need not be adjacent. Returns the number of
 * chunks, or -E2BIG. */
int reassemble_chunks(const struct rdma1_header *hdr, struct reassemble_chunk *chunks,
		      uint32_t max_chunks);

/* Fills in the parts. 'stream' is the Payload stream as it was received: the inline bytes, or the
 * pulled Position Zero Read chunk. 'chunks' are the chunks at other positions, with 'dst' set. The
 * length of the data without padding is the count word before the data. This length must match the
 * length of the chunk, with or without roundup padding. Returns the number of parts, or -EBADMSG,
 * which the caller answers as section 4.5.2 requires. -EBADMSG is returned in these cases:
 *
 * - A position is not at the end of a part, is inside the count word, or is past the stream.
 * - The count word does not match the length of the chunk.
 * - There are more than 'max_parts' parts. */
int reassemble_parts(const uint8_t *stream, uint32_t stream_bytes,
		     const struct reassemble_chunk *chunks, uint32_t nchunks,
		     struct weir_xdr_part *parts, uint32_t max_parts);

/* Does the work of reassemble_parts() for one chunk at a position inside the stream. Callers use it
 * for their shorter path. Returns the number of parts, which is 2 or 3, or 0. If it returns 0, the
 * caller must call reassemble_parts(). */
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
