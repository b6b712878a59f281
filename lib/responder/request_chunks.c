/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the Read chunks of a call, before the data are pulled, and calls the program's arg_sink for
 * the memory of the data. */
#include "request.h"

#include <errno.h>

int request_list_read_chunks(struct weir_request *req)
{
	return reassemble_chunks(&req->hdr, req->chunks, REASSEMBLE_CHUNKS_MAX);
}

enum request_next request_list_chunks(struct weir_request *req)
{
	int rc;

	req->has_asked = false;
	req->is_reading = false;
	rc = req->responder->protocol->list_chunks(req);
	if (rc < 0)
		return REQUEST_CANT_PULL;
	req->nchunks = (uint32_t)rc;
	req->pull_bytes = 0;
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (!req->chunks[i].dst) /* otherwise a Send has placed the data at chunks[i].dst */
			req->pull_bytes += req->chunks[i].len_bytes;
	return REQUEST_GO_ON;
}

int request_place_item(struct weir_request *req, uint32_t i)
{
	const struct weir_program *program = req->program;
	struct reassemble_chunk *chunk = &req->chunks[i];
	struct weir_arg_sink sink = {NULL, NULL};
	const struct mem_keys *keys;

	/* If it is possible that the call proves to be a duplicate, arg_sink is not called, because
	 * a duplicate must not write to the memory of the program. */
	if (!program->arg_sink ||
	    (program->non_idempotent && program->non_idempotent[req->rpc.proc]) ||
	    program->arg_sink(req, i - req->hdr.has_position_zero, chunk->len_bytes, &sink,
			      program->arg) != 0)
		return 1;
	keys = engine_keys(req->responder->engine, sink.region);
	if (keys->lkey == 0 || !mem_region_covers(sink.region, sink.data, chunk->len_bytes))
		return -EINVAL;
	if (req->chunk_bufs[i]) {
		mem_pool_put(req->chunk_bufs[i]);
		req->chunk_bufs[i] = NULL;
		request_count_bulk(req, -1);
	}
	chunk->dst = sink.data;
	chunk->lkey = keys->lkey;
	return 0;
}

int request_place_items(struct weir_request *req)
{
	for (uint32_t i = req->hdr.has_position_zero; i < req->nchunks && !req->has_asked; i++) {
		int rc = request_place_item(req, i);

		if (rc < 0)
			return rc;
	}
	req->has_asked = true;
	return 0;
}
