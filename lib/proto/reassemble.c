/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the Read chunks of a call, and reassembles its Payload stream as parts (RFC 8166 section
 * 3.4.5). */
#include "reassemble.h"

#include <errno.h>

#include "wire.h"

/* Returns the index of the chunk at 'position' in the sorted list, or the index at which this chunk
 * must be inserted. */
static uint32_t find_position(const struct reassemble_chunk *chunks, uint32_t n, uint32_t position)
{
	while (n > 0 && chunks[n - 1].position >= position)
		n--;
	return n;
}

int reassemble_chunks(const struct rdma1_header *hdr, struct reassemble_chunk *chunks,
		      uint32_t max_chunks)
{
	struct rdma1_read_segment seg;
	struct rdma1_read_iter it;
	uint32_t n = 0;

	rdma1_reads_begin(hdr, &it);
	while (rdma1_reads_next(&it, &seg)) {
		uint32_t at = find_position(chunks, n, seg.position);

		if (at == n || chunks[at].position != seg.position) {
			if (n == max_chunks)
				return -E2BIG;
			for (uint32_t i = n++; i > at; i--)
				chunks[i] = chunks[i - 1];
			chunks[at] = (struct reassemble_chunk){.position = seg.position};
		}
		if (seg.target.length > UINT32_MAX - chunks[at].len_bytes)
			return -E2BIG;
		chunks[at].len_bytes += seg.target.length;
	}
	return (int)n;
}

int reassemble_parts(const uint8_t *stream, uint32_t stream_bytes,
		     const struct reassemble_chunk *chunks, uint32_t nchunks,
		     struct weir_xdr_part *parts, uint32_t max_parts)
{
	uint64_t unreduced = 0; /* the offset in the unreduced stream that corresponds to 'taken' */
	uint32_t taken = 0, n = 0;

	for (uint32_t i = 0; i < nchunks; i++) {
		const struct reassemble_chunk *chunk = &chunks[i];
		uint32_t before, count;

		/* The bytes of the stream before the chunk end with the count word of the chunk's
		 * item. */
		if (chunk->position < unreduced ||
		    chunk->position - unreduced > stream_bytes - taken)
			return -EBADMSG;
		before = (uint32_t)(chunk->position - unreduced);
		if (before < WEIR_XDR_UNIT)
			return -EBADMSG;
		count = wire_get_u32(stream + taken + before - WEIR_XDR_UNIT);
		if (count != chunk->len_bytes &&
		    (uint64_t)count + weir_xdr_pad(count) != chunk->len_bytes)
			return -EBADMSG;
		if (max_parts - n < 2)
			return -EBADMSG;
		parts[n++] = (struct weir_xdr_part){.base = stream + taken, .len_bytes = before};
		parts[n++] = (struct weir_xdr_part){
			.base = chunk->dst, .len_bytes = count, .is_item = 1};
		taken += before;
		unreduced = (uint64_t)chunk->position + count + weir_xdr_pad(count);
	}
	if (taken < stream_bytes) {
		if (n == max_parts)
			return -EBADMSG;
		parts[n++] = (struct weir_xdr_part){.base = stream + taken,
						    .len_bytes = stream_bytes - taken};
	}
	return (int)n;
}
