/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and responders come and go. */
#include "responder.h"

#include "alloc.h"

/* Requests for each receive: those whose replies are on their way no longer hold one. */
#define REQUESTS_PER_RECEIVE 2u

struct responder *responder_create(struct weir_engine *engine, uint32_t credits,
				   struct program_table *programs)
{
	uint32_t nrequests = (credits + CONN_RECV_RESERVE) * REQUESTS_PER_RECEIVE;
	struct responder *responder = mem_zalloc(sizeof(*responder));

	if (!responder)
		return NULL;
	responder->requests = mem_zalloc(nrequests * sizeof(responder->requests[0]));
	if (!responder->requests) {
		mem_free(responder);
		return NULL;
	}
	responder->engine = engine;
	responder->credits.limit = credits;
	responder->programs = programs;
	programs->refs++;
	TAILQ_INIT(&responder->free);
	TAILQ_INIT(&responder->busy);
	for (uint32_t i = 0; i < nrequests; i++) {
		struct weir_request *req = &responder->requests[i];

		req->responder = responder;
		req->tx.done = request_on_tx;
		req->tx_waiter.on_room = request_on_room;
		req->buf_waiter.on_buffers = request_on_buffers;
		TAILQ_INSERT_TAIL(&responder->free, req, entry);
	}
	return responder;
}

void responder_free(struct responder *responder)
{
	program_table_put(responder->programs);
	mem_free(responder->requests);
	mem_free(responder);
}

/* The latest used first: it is in the cache. */
struct weir_request *request_take(struct responder *responder)
{
	struct weir_request *req = TAILQ_FIRST(&responder->free);

	if (__builtin_expect(!req, 0))
		return NULL;
	TAILQ_REMOVE(&responder->free, req, entry);
	TAILQ_INSERT_TAIL(&responder->busy, req, entry);
	return req;
}

static void put_buf(struct mem_buf **buf)
{
	if (*buf) {
		mem_pool_put(*buf);
		*buf = NULL;
	}
}

void request_release(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;
	void (*on_sent)(void *) = req->on_sent;

	if (req->msg && conn)
		conn_recv_done(conn, req->msg);
	else if (req->msg)
		mem_pool_put(req->msg);
	req->msg = NULL;
	put_buf(&req->reply);
	put_buf(&req->header_buf);
	put_buf(&req->spill);
	for (uint32_t i = 0; i < req->nchunks; i++)
		put_buf(&req->chunk_bufs[i]);
	req->nchunks = 0;
	req->ulb = NULL;
	req->user = NULL;
	req->on_sent = NULL;
	req->state = REQUEST_FREE;
	if (conn)
		conn_wait_cancel(conn, &req->tx_waiter);
	engine_wait_cancel(responder->engine, &req->buf_waiter);
	TAILQ_REMOVE(&responder->busy, req, entry);
	TAILQ_INSERT_HEAD(&responder->free, req, entry);
	if (on_sent)
		on_sent(req->on_sent_arg);
	if (conn && responder->backlog && conn_can_send(conn))
		responder_take_backlog(responder);
	else if (!conn && TAILQ_EMPTY(&responder->busy))
		responder_free(responder);
}

void request_on_tx(struct conn_tx *tx, int error)
{
	struct weir_request *req = (struct weir_request *)tx;

	if (error != 0 || req->state == REQUEST_SENT)
		request_release(req);
	else
		request_on_read(req);
}

/* An orphan keeps the message that its arguments are in: it is no longer the connection's to give back. */
static void keep_message(struct weir_conn *conn, const struct mem_buf *msg)
{
	for (uint32_t i = 0; i < conn->nrecvs; i++) {
		if (conn->recvs[i] == msg) {
			conn->recvs[i] = conn->recvs[--conn->nrecvs];
			return;
		}
	}
}

void responder_on_lost(struct weir_conn *conn, int error)
{
	struct responder *responder = responder_of(conn);
	struct weir_request *req, *next;

	(void)error;
	responder->backlog = NULL;
	for (req = TAILQ_FIRST(&responder->busy); req; req = next) {
		next = TAILQ_NEXT(req, entry);
		if (req->state == REQUEST_HANDLING)
			keep_message(conn, req->msg);
		else
			request_release(req);
	}
	responder->conn = NULL;
	conn->role_data = NULL;
	if (TAILQ_EMPTY(&responder->busy))
		responder_free(responder);
}
