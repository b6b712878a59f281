/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes the transport header of version 1 (RFC 8166 sections 4.2, 4.3 and 4.5). RFC 8166 section
 * 4.7 has examples. */
#include "rdma1.h"

#include "wire.h"

static inline void rdma1_put_first_words(uint8_t *at, uint32_t xid, uint32_t vers, uint32_t credit,
					 uint32_t proc)
{
	wire_put_u32(at, xid);
	wire_put_u32(at + 4, vers);
	wire_put_u32(at + 8, credit);
	wire_put_u32(at + 12, proc);
}

static inline void put_segment(uint8_t *at, const struct rdma1_segment *seg)
{
	wire_put_u32(at, seg->handle);
	wire_put_u32(at + 4, seg->length);
	wire_put_u64(at + 8, seg->offset);
}

/* Returns a pointer to the next 'n' bytes of the buffer, or NULL if the buffer has fewer bytes
 * left. After the first failure the result is always NULL, so that the encoded header never has a
 * gap. */
static uint8_t *take(struct rdma1_writer *w, size_t n)
{
	uint8_t *at = w->p;

	if (w->failed || (size_t)(w->end - at) < n) {
		w->failed = true;
		return NULL;
	}
	w->p = at + n;
	return at;
}

void rdma1_write_begin(struct rdma1_writer *w, uint8_t *buf, uint32_t size, uint32_t xid,
		       uint32_t credit, enum rdma1_proc proc)
{
	uint8_t *at;

	w->start = buf;
	w->p = buf;
	w->end = buf + size;
	w->failed = false;
	at = take(w, RDMA1_FIXED_SIZE);
	if (at)
		rdma1_put_first_words(at, xid, RDMA1_VERSION, credit, (uint32_t)proc);
}

void rdma1_write_read_segment(struct rdma1_writer *w, uint32_t position,
			      const struct rdma1_segment *seg)
{
	uint8_t *at = take(w, RDMA1_READ_SEGMENT_SIZE);

	if (!at)
		return;
	wire_put_u32(at, 1);
	wire_put_u32(at + 4, position);
	put_segment(at + 8, seg);
}

void rdma1_write_list_end(struct rdma1_writer *w)
{
	uint8_t *at = take(w, 4);

	if (at)
		wire_put_u32(at, 0);
}

/* Writes the first two words of a Write chunk or of the Reply chunk: that the chunk is present, and
 * its number of segments. Both kinds of chunks have the same form (RFC 8166 section 4.7). */
static void write_chunk_head(struct rdma1_writer *w, uint32_t nsegments)
{
	uint8_t *at = take(w, 8);

	if (!at)
		return;
	wire_put_u32(at, 1);
	wire_put_u32(at + 4, nsegments);
}

void rdma1_write_chunk(struct rdma1_writer *w, uint32_t nsegments)
{
	write_chunk_head(w, nsegments);
}

void rdma1_write_reply_chunk(struct rdma1_writer *w, uint32_t nsegments)
{
	write_chunk_head(w, nsegments);
}

void rdma1_write_segment(struct rdma1_writer *w, const struct rdma1_segment *seg)
{
	uint8_t *at = take(w, RDMA1_SEGMENT_SIZE);

	if (at)
		put_segment(at, seg);
}

void rdma1_write_no_reply_chunk(struct rdma1_writer *w)
{
	rdma1_write_list_end(w);
}

void rdma1_write_no_results(struct rdma1_writer *w)
{
	uint8_t *at = take(w, 12);

	if (at)
		memset(at, 0, 12);
}

/* Stores pointers to the handles of a counted array of segments, from index 'n' of 'handles' on and
 * up to 'max' in all. Moves *at to the byte after the array. Returns the new number of pointers. */
static uint32_t chunk_handles(uint8_t **at, uint8_t **handles, uint32_t n, uint32_t max)
{
	uint32_t nsegments = wire_get_u32(*at);

	*at += 4;
	for (; nsegments > 0; nsegments--, *at += RDMA1_SEGMENT_SIZE)
		if (n < max)
			handles[n++] = *at;
	return n;
}

uint32_t rdma1_handles(uint8_t *header, uint8_t **handles, uint32_t max)
{
	uint8_t *at = header + RDMA1_FIXED_SIZE;
	uint32_t n = 0;

	for (; wire_get_u32(at) != 0; at += RDMA1_READ_SEGMENT_SIZE)
		if (n < max)
			handles[n++] = at + 8;
	at += 4;
	while (wire_get_u32(at) != 0) {
		at += 4;
		n = chunk_handles(&at, handles, n, max);
	}
	at += 4;
	if (wire_get_u32(at) != 0) {
		at += 4;
		n = chunk_handles(&at, handles, n, max);
	}
	return n;
}

uint32_t rdma1_encode_err_vers(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit,
			       uint32_t low, uint32_t high)
{
	rdma1_put_first_words(buf, xid, vers, credit, RDMA1_ERROR);
	wire_put_u32(buf + 16, RDMA1_ERR_VERS);
	wire_put_u32(buf + 20, low);
	wire_put_u32(buf + 24, high);
	return RDMA1_ERR_VERS_SIZE;
}

uint32_t rdma1_encode_err_chunk(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit)
{
	rdma1_put_first_words(buf, xid, vers, credit, RDMA1_ERROR);
	wire_put_u32(buf + 16, RDMA1_ERR_CHUNK);
	return RDMA1_ERR_CHUNK_SIZE;
}
