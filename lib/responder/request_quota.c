/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a connection and its peer hold of the pools that all connections share, and whether they may
 * take more (quota.h).
 *
 * Replies count from when they cannot be sent at once until their Sends complete. Each holds a
 * request, a buffer, and what the program keeps for it. If a connection has as many of them as it
 * may have, its later messages wait in their receives, and credits bound those. It goes on when the
 * peer has taken some: what is counted per peer cannot stop a connection that has none.
 */
#include "request.h"

bool request_exceeds_quota(const struct responder *responder, enum engine_quota quota,
			   uint64_t count, uint64_t need)
{
	uint64_t conn = responder->used.n[quota];
	uint64_t peer = responder->account ? responder->account->used.n[quota] : conn;

	return peer > 0 && (peer > count || !engine_quota_allows(conn, peer, count - peer, need));
}

bool request_may_take_reply(const struct weir_request *req, uint64_t free)
{
	const struct responder *responder = req->responder;
	uint64_t peer = responder->account ? responder->account->used.n[ENGINE_QUOTA_BULK] : 0;

	if (free == 0 || req->nbulk == 0)
		return free > 0 && request_may_take(responder, ENGINE_QUOTA_BULK, free, 1);
	return peer == req->nbulk || peer + 1 <= 3 * (free - 1);
}

/* Replies that may yet be queued: they leave a request for each receive, and send buffers. */
static uint64_t pending_left(const struct responder *responder)
{
	const struct weir_engine *engine = responder->engine;
	const struct mem_pool *pool = engine->send_pool;
	uint64_t left = pool->count - pool->in_use;
	uint64_t most = responder->pool->nrequests / 2;

	if (!engine->srq)
		return left;
	most = engine->npending < most ? most - engine->npending : 0;
	return left < most ? left : most;
}

void request_begin_pending(struct weir_request *req)
{
	struct responder *responder = req->responder;

	request_enlist(req);
	req->is_pending = true;
	responder->engine->npending++;
	request_count(responder, ENGINE_QUOTA_REPLIES, 1);
	if ((responder->deferred_by & RESPONDER_FULL) ||
	    request_may_take(responder, ENGINE_QUOTA_REPLIES, pending_left(responder), 1))
		return;
	if (responder->deferred_by == RESPONDER_BACKLOG)
		TAILQ_REMOVE(&responder->pool->waiting, responder, waiting);
	responder->deferred_by |= RESPONDER_FULL;
}

/* Its messages get requests when the one whose reply is out has been released. */
static void go_on(struct responder *responder)
{
	responder->deferred_by &= ~(uint32_t)RESPONDER_FULL;
	if (responder->deferred_by == RESPONDER_BACKLOG)
		TAILQ_INSERT_TAIL(&responder->pool->waiting, responder, waiting);
}

void request_end_pending(struct weir_request *req)
{
	struct responder *responder = req->responder;

	req->is_pending = false;
	responder->engine->npending--;
	request_count(responder, ENGINE_QUOTA_REPLIES, -1);
	if ((responder->deferred_by & RESPONDER_FULL) &&
	    (responder->used.n[ENGINE_QUOTA_REPLIES] == 0 ||
	     engine_quota_allows(responder->used.n[ENGINE_QUOTA_REPLIES],
				 responder->account->used.n[ENGINE_QUOTA_REPLIES],
				 pending_left(responder), 1)))
		go_on(responder);
}

void request_count_none(struct weir_request *req)
{
	if (req->nbulk > 0)
		request_count_no_chunks(req);
	if (req->is_bulk_reply)
		request_count(req->responder, ENGINE_QUOTA_BULK, -1);
	req->is_bulk_reply = false;
	if (req->is_pending)
		request_end_pending(req);
}
