/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending replies: they count from when they cannot be sent at once until their Sends complete.
 * Each holds a request, a buffer, and what the program keeps for it. If a connection has as many of
 * them as it may have, its later messages wait in their receives, and credits bound those. It goes
 * on when the peer has taken some: what is counted per peer cannot stop a connection that has none.
 */
#include "request.h"

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
