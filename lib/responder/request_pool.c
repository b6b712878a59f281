/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of request objects, and the backlogs of messages that wait for a request object. */
#include "request.h"

#include "alloc.h"

/* The number of request objects for each receive. It is more than 1, because a request whose reply
 * is being sent holds no receive. */
#define REQUESTS_PER_RECEIVE 2u

static struct request_pool *pool_create(uint32_t nrequests)
{
	struct request_pool *pool = mem_zalloc(sizeof(*pool));

	if (!pool)
		return NULL;
	pool->requests = mem_reserve(nrequests * sizeof(pool->requests[0]));
	if (!pool->requests) {
		mem_free(pool);
		return NULL;
	}
	TAILQ_INIT(&pool->waiting);
	pool->nrequests = nrequests;
	return pool;
}

struct weir_request *request_pool_next(struct request_pool *pool)
{
	return pool->nused == pool->nrequests ? NULL : &pool->requests[pool->nused++];
}

struct request_pool *request_pool_get(struct weir_engine *engine, uint32_t credits)
{
	uint32_t nrequests = engine_recvs(credits) * REQUESTS_PER_RECEIVE;
	struct request_pool *pool = engine->requests;

	if (!pool) {
		pool = pool_create(engine->srq
					   ? engine->srq->nbufs * REQUESTS_PER_RECEIVE + nrequests
					   : nrequests);
		if (!pool)
			return NULL;
		if (engine->srq) {
			pool->engine = engine;
			engine->requests = pool;
		}
	}
	pool->refs++;
	return pool;
}

void request_pool_put(struct request_pool *pool)
{
	if (--pool->refs > 0)
		return;
	if (pool->engine)
		pool->engine->requests = NULL;
	mem_unreserve(pool->requests, pool->nrequests * sizeof(pool->requests[0]));
	mem_free(pool);
}

void request_pool_forget_templates(struct request_pool *pool, const struct program_table *programs)
{
	if (programs->serial <= pool->newest_programs)
		return;
	pool->newest_programs = programs->serial;
	for (uint32_t i = 0; i < pool->nused; i++)
		pool->requests[i].template.shape = 0;
}

/* ---- messages that have no request yet ---- */

/* Runs when all request objects are in use, or when the connection has as many pending replies as
 * it may have (request_pending.c). The message keeps its receive, so that the number of receives
 * limits the length of the backlog. */
out_of_line void responder_put_in_backlog(struct responder *responder, struct mem_buf *buf,
					  uint32_t len)
{
	struct mem_buf **end = &responder->backlog;

	/* The message cannot be checked yet. But it counts as a sign of activity, so that the
	 * connection is not ended as idle. */
	responder->conn->got_message = true;
	if (responder->deferred_by == 0)
		TAILQ_INSERT_TAIL(&responder->pool->waiting, responder, waiting);
	responder->deferred_by |= RESPONDER_BACKLOG;
	while (*end)
		end = (struct mem_buf **)&(*end)->user[0];
	buf->user[0] = 0;
	buf->user[1] = len;
	*end = buf;
}

void responder_drop_backlog(struct responder *responder)
{
	if (responder->deferred_by == RESPONDER_BACKLOG)
		TAILQ_REMOVE(&responder->pool->waiting, responder, waiting);
	responder->deferred_by &= ~(uint32_t)RESPONDER_BACKLOG;
	responder->backlog = NULL;
}

struct responder *request_pool_waiting(struct request_pool *pool)
{
	struct responder *responder;

	TAILQ_FOREACH(responder, &pool->waiting, waiting)
	if (conn_can_send(responder->conn))
		break;
	return request_pool_is_empty(pool) ? NULL : responder;
}

struct mem_buf *responder_take_from_backlog(struct responder *responder)
{
	struct request_pool *pool = responder->pool;
	struct mem_buf *buf = responder->backlog;

	responder->backlog = (struct mem_buf *)buf->user[0];
	TAILQ_REMOVE(&pool->waiting, responder, waiting);
	if (responder->backlog)
		TAILQ_INSERT_TAIL(&pool->waiting, responder, waiting);
	else
		responder->deferred_by = 0;
	return buf;
}
