/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and responders come and go. */
#include "responder.h"

#include "alloc.h"
#include "compiler.h"

/* Requests for each receive: those whose replies are on their way no longer hold one. */
#define REQUESTS_PER_RECEIVE 2u

/* Stands for an engine that is gone, so that who makes replies needs no check: it has no buffer for
 * any. */
static struct weir_engine no_engine;

struct weir_engine *responder_engine(const struct responder *responder)
{
	return responder->engine == &no_engine ? NULL : responder->engine;
}

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

/* One that was never used; NULL: there is none left. */
static struct weir_request *pool_next(struct request_pool *pool)
{
	struct weir_request *req;

	if (pool->nused == pool->nrequests)
		return NULL;
	req = &pool->requests[pool->nused++];
	req->tx.done = request_on_tx;
	req->tx_waiter.on_room = request_on_room;
	req->buf_waiter.on_buffers = request_on_buffers;
	return req;
}

/* The engine's, with the first connection, where receives are shared; else one for this connection.
 */
static struct request_pool *pool_get(struct weir_engine *engine, uint32_t nrequests)
{
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

static void pool_put(struct request_pool *pool)
{
	if (--pool->refs > 0)
		return;
	if (pool->engine)
		pool->engine->requests = NULL;
	mem_unreserve(pool->requests, pool->nrequests * sizeof(pool->requests[0]));
	mem_free(pool);
}

/* Programs that are gone may have left templates behind, and others come where they were: these
 * have a higher serial than all that were there before. */
static void forget_templates(struct request_pool *pool, const struct program_table *programs)
{
	if (programs->serial <= pool->newest_programs)
		return;
	pool->newest_programs = programs->serial;
	for (uint32_t i = 0; i < pool->nused; i++)
		pool->requests[i].template.shape = 0;
}

struct responder *responder_create(struct weir_engine *engine, const struct conn_protocol *protocol,
				   uint32_t credits, struct program_table *programs,
				   struct drc *drc, struct engine_peer *account)
{
	struct responder *responder = mem_zalloc(sizeof(*responder));

	if (!responder)
		return NULL;
	responder->pool = pool_get(engine, engine_recvs(credits) * REQUESTS_PER_RECEIVE);
	if (!responder->pool) {
		mem_free(responder);
		return NULL;
	}
	if (!protocol->begin_responder(engine)) {
		pool_put(responder->pool);
		mem_free(responder);
		return NULL;
	}
	TAILQ_INIT(&responder->wait_queue.waiters);
	TAILQ_INIT(&responder->reserve_queue.waiters);
	responder->reserve_queue.is_reserve = true;
	responder->account = engine_peer_ref(account);
	responder->wait_queue.peer = account;
	responder->engine = engine;
	responder->protocol = protocol;
	responder->keeps = true;
	responder->credits.limit = credits;
	responder->programs = programs;
	forget_templates(responder->pool, programs);
	responder->drc = drc;
	programs->refs++;
	return responder;
}

/* No report of a reply can come any more. */
static void forget_kept(struct responder *responder)
{
	if (responder->keeps)
		responder->protocol->end_responder(responder->engine, responder);
	responder->keeps = false;
}

void responder_free(struct responder *responder)
{
	forget_kept(responder);
	if (responder->is_orphan)
		TAILQ_REMOVE(&responder->engine->orphans, &responder->orphan, entry);
	engine_peer_put(responder->engine, responder->account);
	program_table_put(responder->programs);
	pool_put(responder->pool);
	mem_free(responder);
}

struct weir_request *request_take(struct responder *responder)
{
	struct weir_request *req = responder->pool->free;

	if (unlikely(!req)) {
		req = pool_next(responder->pool);
		if (!req)
			return NULL;
	} else {
		responder->pool->free = req->next_free;
	}
	responder->nbusy++;
	req->responder = responder;
	return req;
}

void request_enlist(struct weir_request *req)
{
	if (!req->outstanding.le_prev)
		LIST_INSERT_HEAD(&req->responder->outstanding, req, outstanding);
}

void request_delist(struct weir_request *req)
{
	LIST_REMOVE(req, outstanding);
	req->outstanding.le_prev = NULL;
}

/* Those that only some requests have. */
static out_of_line void put_extra(struct weir_request *req)
{
	request_put_buf(&req->header_buf);
	request_put_buf(&req->spill);
	if (req->extension != 0)
		req->responder->protocol->release_request(req);
	if (req->nchunks > 0)
		request_put_chunks(req);
}

static inline void put_bufs(struct weir_request *req)
{
	request_put_buf(&req->reply);
	if (unlikely(req->header_buf || req->spill || req->extension != 0 || req->nchunks > 0))
		put_extra(req);
}

/* Handlers that wait for buffers are called once more, to end their requests. */
static void end_waiting(struct responder *responder)
{
	struct weir_engine *engine = responder->engine;
	struct engine_waiter *waiter;

	responder->engine = &no_engine;
	responder->pool->engine = NULL;
	responder->nbusy++; /* they may be the last ones */
	while ((waiter = TAILQ_FIRST(&responder->wait_queue.waiters))) {
		engine_wait_cancel(engine, waiter);
		waiter->on_buffers(waiter);
	}
	if (--responder->nbusy == 0)
		responder_free(responder);
}

/* Each receive of a message that is one of several, by 'fn'. */
static void each_receive(struct mem_buf *chain, void (*fn)(void *arg, struct mem_buf *buf),
			 void *arg)
{
	while (chain) {
		struct mem_buf *next = conn_chain_next(chain);

		fn(arg, chain);
		chain = next;
	}
}

static void keep(void *conn, struct mem_buf *buf)
{
	conn_keep_message(conn, buf);
}

static void put_kept(void *engine, struct mem_buf *buf)
{
	conn_put_kept(engine, buf);
}

/* Its receive, or receives, when there is no connection to give them back to. */
static void put_message(struct weir_request *req, struct weir_engine *engine)
{
	if (req->is_group)
		each_receive(req->msg, put_kept, engine);
	else
		conn_put_kept(engine, req->msg);
}

/* The program still holds requests: all that they are made of is the engine's. */
static void on_engine_destroy(struct engine_orphan *orphan)
{
	struct responder *responder =
		(struct responder *)((char *)orphan - offsetof(struct responder, orphan));
	struct weir_request *req;

	responder->is_orphan = false;
	LIST_FOREACH(req, &responder->outstanding, outstanding)
	{
		put_message(req, responder->engine);
		req->msg = NULL;
		put_bufs(req);
		request_count_none(req);
		req->template.shape = 0;
		req->rpc.cred = req->rpc.verf = (struct weir_rpc_auth){0};
		req->npieces = req->nitems = req->piece_start = 0;
		weir_xdr_in_init(&req->args, NULL, 0);
		weir_xdr_out_init(&req->out, NULL, 0);
	}
	responder->wait_queue.peer = NULL;
	engine_peer_put(responder->engine, responder->account);
	responder->account = NULL;
	end_waiting(responder);
}

/* What it waited for is another's by now, maybe of another connection. */
static void end_wait(struct weir_request *req)
{
	if (req->state == REQUEST_DUPLICATE)
		LIST_REMOVE(req, duplicate);
	req->must_plan = false;
	req->error_bytes = 0;
	req->xfers_after = 0;
	req->wait_ns = 0;
}

/* Before its reply: later there is no message to give back any more. */
static out_of_line void release_message(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	if (!conn)
		put_message(req, req->responder->engine);
	else if (req->is_group)
		conn_chain_done(conn, req->msg);
	else
		conn_recv_done(conn, req->msg);
	req->msg = NULL;
}

/* It waited for something. */
static void stop_waiting(struct weir_request *req)
{
	struct responder *responder = req->responder;

	if (req->state == REQUEST_DUPLICATE || req->state == REQUEST_REPLYING)
		end_wait(req);
	if (req->tx_waiter.is_waiting && responder->conn)
		conn_wait_cancel(responder->conn, &req->tx_waiter);
	if (req->buf_waiter.is_waiting || responder->engine->waking == &req->buf_waiter)
		engine_wait_cancel(responder->engine, &req->buf_waiter);
}

/* Whether it has nothing but what a request takes that is answered at once, and ends for nobody. */
static inline bool has_little(const struct weir_request *req)
{
	const struct responder *responder = req->responder;
	uintptr_t more = (uintptr_t)req->msg | (uintptr_t)req->on_sent |
			 (uintptr_t)req->header_buf | (uintptr_t)req->spill | req->extension |
			 req->nchunks | req->any_counted | req->tx_waiter.is_waiting |
			 (uintptr_t)req->outstanding.le_prev | req->buf_waiter.is_waiting |
			 (uintptr_t)TAILQ_FIRST(&responder->pool->waiting);

	return more == 0 && responder->conn && req->state != REQUEST_DUPLICATE &&
	       req->state != REQUEST_REPLYING && responder->engine->waking != &req->buf_waiter;
}

static inline void put_free(struct weir_request *req)
{
	struct request_pool *pool = req->responder->pool;

	req->credit = 0;
	req->args_released = false;
	req->user = NULL;
	req->on_sent = NULL;
	req->state = REQUEST_FREE;
	req->next_free = pool->free;
	pool->free = req;
}

/* With all that it may have, and what its release leads to. */
static out_of_line void release_all(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;
	void (*on_sent)(void *) = req->on_sent;

	if (req->msg)
		release_message(req);
	put_bufs(req);
	request_count_none(req);
	stop_waiting(req);
	if (req->outstanding.le_prev)
		request_delist(req);
	put_free(req);
	if (on_sent)
		on_sent(req->on_sent_arg); /* which may end others: the one released still counts */
	responder->nbusy--;
	if (!TAILQ_EMPTY(&responder->pool->waiting))
		request_pool_serve(responder->pool);
	if (!conn && responder->nbusy == 0)
		responder_free(responder);
}

void request_release(struct weir_request *req)
{
	struct mem_buf *reply = req->reply;

	if (unlikely(!has_little(req))) {
		release_all(req);
		return;
	}
	req->responder->nbusy--;
	req->reply = NULL;
	put_free(req);
	if (reply)
		mem_pool_put(reply);
}

void request_on_tx(struct conn_tx *tx, int error)
{
	struct weir_request *req = (struct weir_request *)tx;

	if (error != 0 || req->state == REQUEST_SENT) {
		if (req->is_pending)
			request_end_pending(req);
		request_release(req);
	} else {
		request_on_read(req);
	}
}

void responder_on_lost(struct weir_conn *conn, int error)
{
	struct responder *responder = responder_of(conn);
	LIST_HEAD(, weir_request) ending = LIST_HEAD_INITIALIZER(ending);
	struct weir_request *req, *next;

	(void)error;
	forget_kept(responder);
	responder_drop_backlog(responder);
	for (req = LIST_FIRST(&responder->outstanding); req; req = next) {
		next = LIST_NEXT(req, outstanding);
		req->flags.is_plain = false;
		if (req->state != REQUEST_HANDLING) {
			req->msg = NULL; /* the connection gives it back */
			LIST_REMOVE(req, outstanding);
			LIST_INSERT_HEAD(&ending, req, outstanding);
		} else if (req->is_group) {
			each_receive(req->msg, keep, conn);
		} else {
			conn_keep_message(conn, req->msg); /* its arguments are in there */
		}
	}
	responder->conn = NULL;
	conn->role_data = NULL;
	responder->nbusy++; /* what is released in here may reply to what the program holds */
	while ((req = LIST_FIRST(&ending)))
		request_release(req);
	if (--responder->nbusy == 0) {
		responder_free(responder);
		return;
	}
	responder->orphan.on_destroy = on_engine_destroy;
	responder->is_orphan = true;
	TAILQ_INSERT_TAIL(&responder->engine->orphans, &responder->orphan, entry);
}
