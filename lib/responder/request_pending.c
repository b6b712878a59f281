/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending replies. A reply that cannot be sent at once is pending until its Send completes. Each
 * pending reply holds a request object, a buffer, and the data that the program keeps for the
 * reply. When the pending replies of a connection reach the limit of its quota, later messages of
 * the connection wait in their receives, whose number credits limit. The connection continues when
 * the peer has received some of the replies. A connection without pending replies always continues,
 * whatever the count of its peer is.
 */
#include "request_stages.h"

/* Returns how many more replies are allowed to be pending on the engine. The limit leaves a request
 * object for each receive, and some send buffers. */
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

/* Makes a connection continue. The messages of the connection get request objects after the request
 * of the completed reply was released. */
static void go_on(struct responder *responder)
{
	responder->deferred_by &= ~(uint32_t)RESPONDER_FULL;
	if (responder->deferred_by == RESPONDER_BACKLOG)
		TAILQ_INSERT_TAIL(&responder->pool->waiting, responder, waiting);
}

void request_end_pending(struct weir_request *req)
{
	struct responder *responder = req->responder;

	/* If the connection has failed, it is not known when the Send was complete. */
	if (responder->conn && conn_can_send(responder->conn))
		request_note_sent(req);
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
