/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives back all that a request holds. This file makes no decisions, because request.c acts on the
 * consequences of a release. */
#include "request.h"

#include "compiler.h"

/* Gives back the buffers that only some requests have. */
static out_of_line void put_extra(struct weir_request *req)
{
	request_put_buf(&req->header_buf);
	request_put_buf(&req->spill);
	if (req->extension != 0)
		req->responder->protocol->release_request(req);
	if (req->nchunks > 0)
		request_put_chunks(req);
}

void request_put_bufs(struct weir_request *req)
{
	request_put_buf(&req->reply);
	if (unlikely(req->header_buf || req->spill || req->extension != 0 || req->nchunks > 0))
		put_extra(req);
}

/* Calls 'fn' for each receive of a chain. 'fn' can change the link to the next receive. */
static void each_receive(struct mem_buf *chain, void (*fn)(void *arg, struct mem_buf *buf),
			 void *arg)
{
	while (chain) {
		struct mem_buf *next = conn_chain_next(chain);

		fn(arg, chain);
		chain = next;
	}
}

static void keep_receive(void *conn, struct mem_buf *buf)
{
	conn_keep_message(conn, buf);
}

/* Gives back a receive that a request without a connection has kept. */
static void put_receive(void *responder, struct mem_buf *buf)
{
	const struct responder *its = responder;

	conn_put_kept(its->engine, its->account, buf);
}

void request_put_message(struct weir_request *req)
{
	if (req->has_chain)
		each_receive(req->msg, put_receive, req->responder);
	else
		put_receive(req->responder, req->msg);
}

void request_keep_message(struct weir_request *req, struct weir_conn *conn)
{
	if (req->has_chain)
		each_receive(req->msg, keep_receive, conn);
	else
		conn_keep_message(conn, req->msg);
}

/* Ends the wait of a duplicate or of a reply. A duplicate is in the list of a cache entry that
 * belongs to another request, possibly of another connection. */
static void end_wait(struct weir_request *req)
{
	if (req->state == REQUEST_DUPLICATE)
		LIST_REMOVE(req, duplicate);
	req->wait_ns = 0;
}

/* Clears the state of a reply that was not finished, because the request object will later serve
 * other connections. */
static void forget_reply(struct weir_request *req)
{
	req->must_plan = false;
	req->error_bytes = 0;
	req->xfers_done = 0;
	req->xfers_after = 0;
	req->nparts = 0;
}

/* Gives back the receives of a request that is released before its reply is sent. When a reply is
 * sent, it gives back the receives itself. */
static out_of_line void release_message(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	if (!conn)
		request_put_message(req);
	else if (req->has_chain)
		conn_chain_done(conn, req->msg);
	else
		conn_recv_done(conn, req->msg);
	req->msg = NULL;
}

/* Removes a request from all lists and queues in which it waits. */
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

void request_give_back(struct weir_request *req)
{
	if (req->msg)
		release_message(req);
	request_put_bufs(req);
	if (req->any_counted)
		request_count_none(req);
	stop_waiting(req);
	forget_reply(req);
	if (req->outstanding.le_prev)
		request_delist(req);
}
