/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how a reply is sent (RFC 8166 sections 3.5.3 and 4.3). Eligible items are paired with the
 * requester's Write chunks in order. If a Write chunk is empty, its item stays in the Payload
 * stream. If the rest of the Payload stream fits inline, it is sent inline. Otherwise all of the
 * rest is written to the Reply chunk. The header of the reply has all chunks of the call again,
 * with the numbers of bytes that are written to their segments. Below, numbers such as 4.3.2 are
 * sections of RFC 8166.
 *
 * The RDMA Writes, called transfers here, are only listed, because none of them must be posted for
 * a reply that does not fit.
 */
#include <errno.h>

#include <weir/xdr.h>

#include "reduce.h"
#include "seeded_bugs.h"

/* The list of transfers. It has at most 'max' of them, from the one with the index 'first' on. */
struct xfer_list {
	struct reduce_xfer *xfers;
	uint32_t n; /* number of transfers so far, listed or not */
	uint32_t first, max;
};

/* A chunk of the requester, which is filled segment by segment. */
struct sink {
	struct rdma1_segment_iter segments; /* the segments after 'seg' */
	struct rdma1_segment seg;	    /* the segment that is filled now */
	uint32_t used;			    /* bytes of 'seg' that are filled already */
};

static void sink_init(struct sink *sink, const struct rdma1_segment_iter *segments)
{
	sink->segments = *segments;
	/* Only seg.length is read before 'seg' is set again. The other members are set, too,
	 * because gcc would report them as uninitialised when it links all of weir. */
	sink->seg = (struct rdma1_segment){0};
	sink->used = 0;
}

/* Adds the transfers that write 'len' bytes at 'local' to the chunk. Returns 0, or -EMSGSIZE if the
 * chunk has too few bytes left. */
static int sink_put(struct sink *sink, struct xfer_list *list, uint8_t *local, uint32_t lkey,
		    uint32_t len)
{
	while (len > 0) {
		uint32_t room = sink->seg.length - sink->used;
		uint32_t n = len < room ? len : room;

		if (n == 0) {
			if (!rdma1_segments_next(&sink->segments, &sink->seg))
				return -EMSGSIZE;
			sink->used = 0;
			continue;
		}
		if (list->n >= list->first && list->n - list->first < list->max)
			list->xfers[list->n - list->first] = (struct reduce_xfer){
				.local = local,
				.lkey = lkey,
				.len = n,
				.handle = sink->seg.handle,
				.offset = sink->seg.offset + sink->used,
			};
		list->n++;
		sink->used += n;
		local += n;
		len -= n;
	}
	return 0;
}

/* Writes the segments of a chunk into the header of the reply. The length of each segment becomes
 * the number of bytes that are written to it, where 'used' bytes in all fill the segments in order.
 */
static void return_segments(struct rdma1_writer *w, struct rdma1_segment_iter segments,
			    uint64_t used)
{
	struct rdma1_segment seg;

	while (rdma1_segments_next(&segments, &seg)) {
		if (seg.length > used)
			seg.length = (uint32_t)used;
		used -= seg.length;
		rdma1_write_segment(w, &seg);
	}
}

/* Returns the index of the first item at or after piece 'from', which the next Write chunk is
 * paired with. Returns npieces if there is none. */
static uint32_t next_item(const struct reduce_reply_in *in, uint32_t from)
{
	while (from < in->npieces && in->pieces[from].kind != PIECE_ITEM)
		from++;
	return from;
}

static int pair_items(const struct reduce_reply_in *in, struct xfer_list *list, uint32_t *reduced)
{
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	uint32_t i = next_item(in, 0);

	*reduced = 0;
	rdma1_writes_begin(in->call, &chunks);
	for (; in->may_reduce && i < in->npieces && rdma1_writes_next(&chunks, &segments);
	     i = next_item(in, i + 1)) {
		const struct piece *piece = &in->pieces[i];
		struct sink sink;
		int rc;

		if (segments.left == 0)
			continue; /* The requester asks for this item inline (4.3.2). */
		sink_init(&sink, &segments);
		rc = sink_put(&sink, list, piece->base, piece->lkey, piece->len);
		if (rc != 0)
			return rc;
		*reduced |= 1u << i;
	}
	return 0;
}

/* Lists the transfers that write the Payload stream to the Reply chunk. Returns 0, or -EMSGSIZE if
 * the Reply chunk is too short or does not exist. */
static int fill_reply_chunk(const struct reduce_reply_in *in, struct xfer_list *list,
			    uint32_t reduced)
{
	struct rdma1_segment_iter segments;
	struct sink sink;
	int rc = 0;

	rdma1_reply_begin(in->call, &segments);
	sink_init(&sink, &segments);
	for (uint32_t i = 0; i < in->npieces && rc == 0; i++) {
		const struct piece *piece = &in->pieces[i];

		if (reduced & 1u << i)
			continue;
		rc = sink_put(&sink, list, piece->base, piece->lkey, piece->len);
		if (rc == 0 && piece->kind != PIECE_XDR && !SEEDED_BUG(4))
			rc = sink_put(&sink, list, in->zeros.base, in->zeros.lkey,
				      weir_xdr_pad(piece->len));
	}
	return rc;
}

static void write_header(const struct reduce_reply_in *in, const struct reduce_reply_plan *plan,
			 uint64_t stream, struct rdma1_writer *w, uint8_t *buf, uint32_t size)
{
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	uint32_t i = next_item(in, 0);

	rdma1_write_begin(w, buf, size, in->call->xid, in->credit,
			  plan->form == REDUCE_LONG ? RDMA1_NOMSG : RDMA1_MSG);
	rdma1_write_list_end(w); /* The Read list of a reply is empty (4.3.1). */
	rdma1_writes_begin(in->call, &chunks);
	while (rdma1_writes_next(&chunks, &segments)) {
		uint64_t used = i < in->npieces && plan->reduced & 1u << i ? in->pieces[i].len : 0;

		rdma1_write_chunk(w, segments.left);
		return_segments(w, segments, used);
		i = next_item(in, i + 1);
	}
	rdma1_write_list_end(w);
	if (in->call->has_reply_chunk) {
		rdma1_reply_begin(in->call, &segments);
		rdma1_write_reply_chunk(w, segments.left);
		return_segments(w, segments, plan->form == REDUCE_LONG ? stream : 0);
	} else {
		rdma1_write_no_reply_chunk(w);
	}
}

/* Returns the size of the reply's header, which has all chunks of the call. */
static uint64_t header_bytes(const struct rdma1_header *call)
{
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	uint64_t bytes = RDMA1_HEADER_MIN;

	rdma1_writes_begin(call, &chunks);
	while (rdma1_writes_next(&chunks, &segments))
		bytes += 8 + (uint64_t)segments.left * RDMA1_SEGMENT_SIZE;
	if (call->has_reply_chunk)
		bytes += 4 + (uint64_t)call->nreply_segments * RDMA1_SEGMENT_SIZE;
	return bytes;
}

int reduce_reply(const struct reduce_reply_in *in, uint8_t *buf, uint32_t size,
		 struct reduce_xfer *xfers, uint32_t max_xfers, struct reduce_reply_plan *plan)
{
	struct xfer_list list = {xfers, 0, in->first_xfer, max_xfers};
	uint64_t stream = 0, header;
	struct rdma1_writer w;
	int rc;

	if (in->npieces == 0 || in->npieces > REDUCE_PIECES_MAX)
		return -EINVAL;
	rc = pair_items(in, &list, &plan->reduced);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < in->npieces; i++) {
		const struct piece *piece = &in->pieces[i];

		if (piece->kind == PIECE_XDR && piece->len % WEIR_XDR_UNIT != 0)
			return -EINVAL;
		if (plan->reduced & 1u << i)
			continue;
		stream += piece->len;
		if (piece->kind != PIECE_XDR)
			stream += weir_xdr_pad(piece->len);
	}
	header = header_bytes(in->call);
	if (header > in->reply_inline_bytes)
		return -EMSGSIZE;
	plan->form = plan->reduced ? REDUCE_CHUNKED : REDUCE_SHORT;
	plan->inline_bytes = (uint32_t)stream;
	if (header + stream > in->reply_inline_bytes) {
		plan->form = REDUCE_LONG;
		plan->inline_bytes = 0;
		rc = fill_reply_chunk(in, &list, plan->reduced);
		if (rc != 0)
			return rc;
	}
	write_header(in, plan, stream, &w, buf, size);
	if (w.failed)
		return -ENOSPC;
	plan->header_bytes = rdma1_writer_len(&w);
	plan->nxfers = list.n;
	return 0;
}

static uint32_t saturate(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Returns whether a chunk is too short for 'need' bytes. On entry, *segment is the number of the
 * chunk's first segment. If the chunk is too short, *segment becomes the number of its last
 * segment, and *bytes the length that this segment would need. Otherwise *segment becomes the
 * number after that of the last segment. */
static bool chunk_lacks(struct rdma1_segment_iter chunk, uint64_t need, uint32_t *segment,
			uint32_t *bytes)
{
	struct rdma1_segment seg = {0};
	uint64_t sum = 0;

	*segment += chunk.left;
	while (rdma1_segments_next(&chunk, &seg))
		sum += seg.length;
	if (sum >= need)
		return false;
	*segment -= 1;
	*bytes = saturate(seg.length + (need - sum));
	return true;
}

void reduce_reply_lack(const struct reduce_reply_in *in, uint32_t *segment, uint32_t *bytes)
{
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	uint32_t i = next_item(in, 0), reduced = 0;
	uint64_t stream = 0;

	*segment = 1;
	rdma1_writes_begin(in->call, &chunks);
	while (rdma1_writes_next(&chunks, &segments)) {
		bool is_used = in->may_reduce && i < in->npieces && segments.left > 0;

		if (chunk_lacks(segments, is_used ? in->pieces[i].len : 0, segment, bytes))
			return;
		reduced |= is_used ? 1u << i : 0;
		i = next_item(in, i + 1);
	}
	for (i = 0; i < in->npieces; i++)
		if (!(reduced & 1u << i))
			stream += in->pieces[i].len + (in->pieces[i].kind == PIECE_XDR
							       ? 0
							       : weir_xdr_pad(in->pieces[i].len));
	rdma1_reply_begin(in->call, &segments);
	if (segments.left > 0 && chunk_lacks(segments, stream, segment, bytes))
		return;
	*segment = 0;
	*bytes = saturate(stream);
}
