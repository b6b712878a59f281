/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_READ_ONE_H
#define REQUEST_READ_ONE_H

/* The step request_read_one() and its parts. The step reads the item of a call in one pass, if the
 * call has to wait for nothing. The call has one Read chunk of one segment, which is neither empty
 * nor at Position Zero. */

#include "request.h"
#include "xdr_ref.h"

/* Lists the only Read chunk 'seg' of a call, as request_list_chunks() would do. The transport
 * header has header_bytes. */
static inline void request_list_one(struct weir_request *req, const struct rdma1_read_segment *seg,
				    uint32_t header_bytes)
{
	req->chunks[0] = (struct reassemble_chunk){.position = seg->position,
						   .len_bytes = seg->target.length};
	req->nchunks = 1;
	req->has_asked = false;
	req->is_reading = false;
	req->stream = req->msg->data + header_bytes;
	req->stream_bytes = req->msg_bytes - header_bytes;
}

/* Returns the pool from which the buffer for an item is taken. If the item could have been sent
 * inline and more than half of the send buffers are free, this is the pool of send buffers, which
 * usually has more buffers than the bulk pool. Thus a program that answers short calls late can
 * hold about as many of them at a time as if their items were inline. */
static inline struct mem_pool *request_pool_for(const struct weir_engine *engine,
						uint32_t len_bytes)
{
	const uint64_t headers = RDMA1_HEADER_MIN + WEIR_RPC_CALL_HEADER_MIN;
	const struct mem_pool *pool = engine->send_pool;

	return len_bytes + headers <= engine->msg_bytes && pool->in_use < pool->count / 2
		       ? engine->send_pool
		       : engine->bulk_pool;
}

/* Finds the memory for the item, for a request that can be admitted without a count because no
 * other call is being pulled. Returns 0, 1 if request_read_stage() has to admit the request or to
 * find the memory, or -EINVAL if the program's memory is not valid. */
static inline int request_place_one(struct weir_request *req)
{
	const struct responder *responder = req->responder;
	const struct weir_engine *engine = responder->engine;
	struct reassemble_chunk *chunk = &req->chunks[0];
	struct mem_pool *pool = request_pool_for(engine, chunk->len_bytes);
	int rc = 1;

	if (engine->pulling_bytes > 0)
		return 1;
	if (req->program->arg_sink)
		rc = request_place_item(req, 0);
	req->has_asked = rc >= 0;
	if (rc <= 0)
		return rc;
	if (chunk->len_bytes > engine->profile.bulk_buffer_bytes || pool->in_use == pool->count ||
	    (engine->nblocking | responder->wait_queue.nwaiting) > 0 ||
	    (pool == engine->bulk_pool && !request_may_take_bulk(responder, pool)))
		return 1;
	req->chunk_bufs[0] = mem_pool_get(pool);
	chunk->dst = req->chunk_bufs[0]->data;
	chunk->lkey = req->chunk_bufs[0]->lkey;
	if (pool == engine->bulk_pool)
		request_count_one_bulk(req);
	return 0;
}

/* Reads the item by a direct operation, and sets the decoder to the arguments, which begin at
 * 'args'. Returns true. Returns false if the item has to be pulled by request_read_stage(), because
 * the driver cannot read it at once, it is within the RPC header, or reassemble_one() does not list
 * it. */
static inline bool request_read_direct(struct weir_request *req, const struct rdma1_segment *seg,
				       const uint8_t *args)
{
	const struct reassemble_chunk *chunk = &req->chunks[0];
	const struct fabric_sge sge = {chunk->dst, chunk->len_bytes, chunk->lkey};

	/* The RPC header was decoded on the assumption that the item and the count word before it
	 * are not part of the header. */
	if (args > req->stream + chunk->position - WEIR_XDR_UNIT)
		return false;
	req->nparts = reassemble_one(req->stream, req->stream_bytes, chunk, req->parts);
	if (req->nparts == 0 ||
	    !conn_read_direct(req->responder->conn, sge, seg->handle, seg->offset))
		return false;
	xdr_in_init_at(&req->args, req->parts, req->nparts, req->stream_bytes, args);
	return true;
}

/* This step reads the item of a call in the state PULL_ITEMS. Returns GO_ON if all arguments have
 * arrived, PULL_ON if request_read_stage() has to read the item, or the answer to the call:
 * CANT_PULL or SYSTEM_ERROR. */
static hot_inline enum request_next request_read_one(struct weir_request *req,
						     const struct rdma1_read_segment *seg)
{
	/* saved, because the program's arg_sink can move the decoder */
	const uint8_t *args = req->args.p;
	int rc = request_place_one(req);

	if (unlikely(rc < 0))
		return request_cant_pull(req, rc);
	if (likely(rc == 0 && request_read_direct(req, &seg->target, args))) {
		req->responder->engine->stats.read_chunks++;
		return REQUEST_GO_ON;
	}
	req->nparts = 0;
	/* the length of the item, whatever memory it is read to */
	req->pull_bytes = seg->target.length;
	return REQUEST_PULL_ON;
}

#endif
