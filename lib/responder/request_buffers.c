/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a request: buffers for its reply and for the data that it pulls, and memory of the
 * program that its arg_sink gives for such data. */
#include "request.h"

#include <errno.h>

/* Returns whether quotas allow that a request takes a bulk buffer for a long reply. 'free' buffers
 * of the pool are free. A request that already holds bulk buffers cannot wait for another one,
 * because other requests might wait for the buffers that it holds. Therefore, the peer of such a
 * request may hold up to three quarters of the pool. */
static bool may_take_reply(const struct weir_request *req, uint64_t free)
{
	const struct responder *responder = req->responder;
	uint64_t peer = responder->account ? responder->account->used.n[ENGINE_QUOTA_BULK] : 0;

	if (free == 0 || req->nbulk == 0)
		return free > 0 && request_may_take(responder, ENGINE_QUOTA_BULK, free, 1);
	return peer == req->nbulk || peer + 1 <= 3 * (free - 1);
}

/* Takes a buffer of 'pool' for the reply. Returns false if the pool is empty, or if the connection
 * or its peer may not take a buffer at present. In the latter case, sets waits_for_quota. */
static bool take_reply(struct weir_request *req, struct mem_pool *pool)
{
	bool is_bulk = pool == req->responder->engine->bulk_pool;
	uint32_t left = pool->count - pool->in_use;

	if (is_bulk)
		req->waits_for_quota = left > 0 && !may_take_reply(req, left);
	else
		req->waits_for_quota = req->responder->deferred_by & RESPONDER_FULL;
	if (req->waits_for_quota)
		return false;
	req->reply = mem_pool_get(pool);
	if (req->reply && is_bulk) {
		request_count(req->responder, ENGINE_QUOTA_BULK, 1);
		req->is_bulk_reply = true;
		req->flags.can_reply_fast = false; /* request_release() must subtract it */
	}
	return req->reply != NULL;
}

bool request_take_buffer(struct weir_request *req, uint64_t bytes)
{
	struct weir_engine *engine = req->responder->engine;
	struct mem_pool *pool = engine->send_pool;

	if (bytes > engine->msg_bytes)
		pool = engine->bulk_pool;
	if (bytes + ENGINE_HEADROOM > engine->profile.bulk_buffer_bytes &&
	    pool == engine->bulk_pool) {
		req->may_wait = false;
		return false;
	}
	if (req->reply && bytes > req->reply->size_bytes - ENGINE_HEADROOM)
		return false;
	if (!req->reply && !take_reply(req, pool)) {
		req->may_wait = true;
		return false;
	}
	request_begin_results(req);
	return true;
}

/* Returns whether a request may take 'need' bulk buffers at present. If not, sets is_own of its
 * waiter: true if the request must wait for buffers that its own connection or peer holds, false if
 * it must wait for those of others. */
static bool may_take_bulk(struct weir_request *req, uint32_t need)
{
	const struct weir_engine *engine = req->responder->engine;
	struct mem_pool *pool = engine->bulk_pool;
	uint32_t left = pool->count - pool->in_use;

	req->buf_waiter.is_own = false;
	if (need > left) {
		/* If no buffer is left, other waiters would gain nothing from overtaking this
		 * request. */
		req->buf_waiter.is_own =
			left > 0 &&
			request_exceeds_quota(req->responder, ENGINE_QUOTA_BULK, pool->count, need);
		pool->empty++;
		return false;
	}
	if (engine_has_waiters(engine, &req->responder->wait_queue, &req->buf_waiter)) {
		req->buf_waiter.is_own =
			/* the request waits only for earlier waiters of its own connection */
			engine->nblocking == 0;
		return false;
	}
	/* If no buffer of the pool is in use, a call may take all of them. Otherwise, a call that
	 * needs most of them could never be pulled. */
	req->buf_waiter.is_own = pool->in_use > 0 &&
				 !request_may_take(req->responder, ENGINE_QUOTA_BULK, left, need);
	return !req->buf_waiter.is_own;
}

int request_own_buffers(struct weir_request *req, uint32_t which)
{
	struct weir_engine *engine = req->responder->engine;
	struct mem_pool *pool = engine->bulk_pool;
	uint32_t need = (uint32_t)__builtin_popcount(which);

	for (uint32_t i = 0; i < req->nchunks; i++)
		if (which >> i & 1 && req->chunks[i].len_bytes > engine->profile.bulk_buffer_bytes)
			return -EFBIG;
	if (need > pool->count)
		return -EFBIG;
	if (need > 0 && !may_take_bulk(req, need))
		return engine_wait_buffers(engine, &req->responder->wait_queue, &req->buf_waiter)
			       ? -EAGAIN
			       : -ENOBUFS;
	for (uint32_t i = 0; i < req->nchunks; i++) {
		if (!(which >> i & 1))
			continue;
		req->chunk_bufs[i] = mem_pool_get(pool);
		req->chunks[i].dst = req->chunk_bufs[i]->data;
		req->chunks[i].lkey = req->chunk_bufs[i]->lkey;
	}
	if (need > 0)
		request_count_bulk(req, need);
	return 0;
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
