/* SPDX-License-Identifier: BSD-3-Clause */
/* The items of calls by the extension: items that are read, and items that a Send has placed in
 * targets. This file also lists the parts of the arguments, which contain the items. */
#include <errno.h>

#include "request_ext.h"
#include "rtr_stream.h"

int request_list_items(struct weir_request *req)
{
	const struct rtr_header rtr = request_rtr_header(req);
	struct rtr_item item;
	struct rtr_iter it;
	int n = 0;

	if (rtr.nitems + req->has_chain > REASSEMBLE_CHUNKS_MAX)
		return -E2BIG;
	if (req->has_chain)
		req->chunks[n++] = (struct reassemble_chunk){.len_bytes = req->stream_bytes};
	/* The items are in the order of their positions. */
	rtr_items_begin(&rtr, &it);
	while (rtr_items_next(&it, &item)) {
		struct reassemble_chunk *chunk = &req->chunks[n++];
		struct rdma1_segment seg;

		*chunk = (struct reassemble_chunk){.position = item.disp};
		while (rdma1_segments_next(&item.segments, &seg))
			chunk->len_bytes += seg.length;
		if (item.type != RTR_TBSN)
			continue;
		chunk->len_bytes = item.length;
		chunk->dst = conn_find_placed(req->responder->conn, &item, req->msg);
		req->has_asked = true;
	}
	return n;
}

/* Lists the parts of a call in several transmissions: sections of its transmissions, and the items
 * between them. Returns their number, or a negative value if they are not consistent. */
static int list_sections(struct weir_request *req)
{
	const struct rtr_header rtr = request_rtr_header(req);
	struct rtr_stream_item items[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part sections[RTR_TRANSMISSIONS_MAX];
	uint32_t nsections, bytes, n = 0;
	struct rtr_item item;
	struct rtr_iter it;

	nsections = conn_chain_parts(req->msg, sections, &bytes);
	rtr_items_begin(&rtr, &it);
	for (; rtr_items_next(&it, &item); n++) /* entry 0 of req->chunks is the payload */
		items[n] = (struct rtr_stream_item){item.disp, item.length, req->chunks[n + 1].dst};
	return rtr_stream_parts(sections, nsections, items, n, req->parts, REQUEST_PARTS_MAX);
}

int request_collect_items(struct weir_request *req, uint32_t *nread)
{
	const struct rtr_header rtr = request_rtr_header(req);
	uint32_t i = req->has_chain, placed = 0;
	struct rtr_item item;
	struct rtr_iter it;

	rtr_items_begin(&rtr, &it);
	for (; rtr_items_next(&it, &item); i++) {
		placed += item.type == RTR_TBSN;
		if (item.type == RTR_TBSN && req->chunk_bufs[i])
			conn_copy_placed(req->responder->conn, &item, req->msg, req->chunks[i].dst);
	}
	req->responder->engine->stats.placed_received += placed;
	*nread = req->lists.nitems - placed;
	return req->has_chain ? list_sections(req)
			      : reassemble_parts(req->stream, req->stream_bytes, req->chunks,
						 req->nchunks, req->parts, REASSEMBLE_PARTS_MAX);
}
