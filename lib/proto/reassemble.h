/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REASSEMBLE_H
#define REASSEMBLE_H

/*
 * The responder's side of Read chunks (RFC 8166 section 3.4.5): which bytes to pull, and how the
 * pulled chunks and the inline bytes make the unreduced Payload stream again, without a copy.
 *
 * Two steps: reassemble_chunks() lists the Read chunks of a call; the caller finds a destination
 * for each and pulls it; reassemble_parts() then yields the stream as parts for an XDR decoder. Of
 * a call that has both, the Position Zero chunk replaces the inline stream: the positions of the
 * others are offsets in the unreduced stream all the same.
 */

#include <weir/xdr.h>

#include "rdma1.h"

#define REASSEMBLE_CHUNKS_MAX 16u
#define REASSEMBLE_PARTS_MAX  (2u * REASSEMBLE_CHUNKS_MAX + 1u)

struct reassemble_chunk {
	uint32_t position;
	uint32_t
		len_bytes; /* sum of the segments; roundup padding included if the sender sent it */
	uint32_t filled; /* bytes already asked for: the caller's, while it pulls segment by segment
			  */
	uint32_t lkey;	 /* of dst: the caller's */
	uint8_t *dst;	 /* set by the caller before reassemble_parts() */
};

/* List the Read chunks of an accepted call, sorted by position whatever the order of the Read list
 * (the segments of one chunk keep their order, and may stand apart). Returns how many, or -E2BIG.
 */
int reassemble_chunks(const struct rdma1_header *hdr, struct reassemble_chunk *chunks,
		      uint32_t max_chunks);

/* Make the parts. 'stream' is the Payload stream as it came: inline, or the pulled Position Zero
 * chunk; 'chunks' are those with a position other than zero, 'dst' set. The data's own length,
 * without padding, is taken from the count word in front of it, and must match the chunk's length
 * with or without roundup padding. Returns the number of parts; or -EBADMSG, to be answered
 * as 4.5.2 says: a position that is not where a part ends, in the count's place, or past the
 * stream. */
int reassemble_parts(const uint8_t *stream, uint32_t stream_bytes,
		     const struct reassemble_chunk *chunks, uint32_t nchunks,
		     struct weir_xdr_part *parts, uint32_t max_parts);

/* The same of one chunk, at a position of the stream, for those who have something shorter to do
 * with it than with others: how many parts, 2 or 3; or 0 for what reassemble_parts() is to judge.
 */
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
