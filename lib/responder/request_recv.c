/* SPDX-License-Identifier: BSD-3-Clause */
/* A message came: judged once and in full (RFC 8166 section 4.5), then pulled, dispatched, answered
 * or dropped. */
#include "responder.h"

#include "compiler.h"

/* Behind those that wait already: their order is kept. */
static void put_in_backlog(struct responder *responder, struct mem_buf *buf, uint32_t len)
{
	struct mem_buf **end = &responder->backlog;

	if (responder->hold == 0)
		TAILQ_INSERT_TAIL(&responder->pool->waiting, responder, waiting);
	responder->hold |= RESPONDER_BACKLOG;
	while (*end)
		end = (struct mem_buf **)&(*end)->user[0];
	buf->user[0] = 0;
	buf->user[1] = len;
	*end = buf;
}

void responder_drop_backlog(struct responder *responder)
{
	if (responder->hold == RESPONDER_BACKLOG)
		TAILQ_REMOVE(&responder->pool->waiting, responder, waiting);
	responder->hold &= ~(uint32_t)RESPONDER_BACKLOG;
	responder->backlog = NULL;
}

static bool is_limit(uint32_t reason)
{
	return reason == RDMA1_R_TOO_MANY_READS || reason == RDMA1_R_TOO_MANY_WRITES ||
	       reason == RDMA1_R_TOO_MANY_SEGMENTS || reason == RDMA1_R_TOO_LARGE;
}

void request_count_refused(struct weir_engine *engine, uint32_t reason)
{
	engine->stats.limits_exceeded += is_limit(reason);
}

static inline void count(struct weir_conn *conn)
{
	conn->got_message = true;
	conn->ep.engine->stats.requests_received++;
}

void request_begin(struct weir_request *req)
{
	struct rdma1_read_segment seg;

	count(req->responder->conn);
	if (req->hdr.nread_segments == 0)
		request_dispatch_inline(req, req->hdr.header_bytes, 0);
	else if (rdma1_is_one_read(&req->hdr, &seg) && seg.target.length > 0)
		request_pull_one(req, &seg);
	else
		request_pull(req);
}

/* One with chunks, or of another form. */
static out_of_line void receive_listed(struct weir_request *req, struct weir_engine *engine)
{
	enum rdma1_verdict verdict;
	enum rdma1_reason reason;

	verdict = rdma1_decode_chunked(req->msg->data, req->msg_bytes, RDMA1_CALL, &engine->limits,
				       &req->hdr, &reason);
	if (likely(verdict == RDMA1_V_OK)) {
		req->flags.is_plain = true;
		request_begin(req);
		return;
	}
	request_count_refused(engine, reason);
	if (verdict == RDMA1_V_DROP) {
		engine->stats.dropped++;
		request_release(req);
	} else {
		request_reply_transport_error(req, verdict);
	}
}

/* The call of a READ has a Write chunk, and no Read list; that of a WRITE has one. */
static out_of_line void receive_chunked(struct weir_request *req, struct weir_engine *engine)
{
	const uint8_t *msg = req->msg->data;

	if (req->msg_bytes < RDMA1_HEADER_MIN || wire_raw_u32(msg + RDMA1_FIXED_SIZE) != 0 ||
	    !rdma1_is_one_write_msg(msg, req->msg_bytes, RDMA1_CALL, &engine->limits)) {
		receive_listed(req, engine);
		return;
	}
	rdma1_take_one_write_msg(msg, &req->hdr);
	req->flags.is_plain = true;
	count(req->responder->conn);
	request_dispatch_inline(req, RDMA1_ONE_WRITE_SIZE,
				request_shape(req->responder->programs, RDMA1_ONE_WRITE_SIZE));
}

static hot_inline void receive_v1(struct weir_request *req, struct weir_conn *conn)
{
	const uint8_t *msg = req->msg->data;

	if (unlikely(!rdma1_is_short(msg, req->msg_bytes, RDMA1_CALL))) {
		receive_chunked(req, conn->ep.engine);
		return;
	}
	rdma1_take_short(msg, &req->hdr);
	req->flags = (struct request_flags){.is_plain = true, .is_short = true};
	count(conn);
	request_dispatch_inline(req, RDMA1_HEADER_MIN,
				request_shape(req->responder->programs, RDMA1_HEADER_MIN));
}

/* On a connection where that may be of another version. */
static out_of_line void receive_any(struct weir_request *req, struct weir_conn *conn)
{
	if (!conn->protocol->receive_call(req))
		receive_v1(req, conn);
}

void request_receive(struct weir_request *req, struct weir_conn *conn, struct mem_buf *buf,
		     uint32_t len)
{
	req->msg = buf;
	req->msg_bytes = len;
	req->template.shape = 0;
	req->flags = (struct request_flags){0}; /* as its last one may have been */
	if (unlikely(conn->via_protocol))
		receive_any(req, conn);
	else
		receive_v1(req, conn);
	if (req->state != REQUEST_FREE)
		request_enlist(req);
}

/* All requests wait for their Sends, or are other connections', or the peer has to take replies
 * first. The receive stays taken: this is bounded. */
static out_of_line void receive_later(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	/* It can't be judged yet, which is not to be counted as its silence. */
	conn->got_message = true;
	put_in_backlog(responder_of(conn), buf, len);
}

void responder_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey)
{
	struct responder *responder = responder_of(conn);
	struct weir_request *req = NULL;

	(void)inv_rkey; /* a responder exposes no memory (RFC 8166 section 3.1) */
	if (likely(responder->hold == 0))
		req = request_take(responder);
	if (unlikely(!req))
		receive_later(conn, buf, len);
	else
		request_receive(req, conn, buf, len);
}

/* The next in turn that may have a request now. */
static struct responder *next_waiting(struct request_pool *pool)
{
	struct responder *responder;

	TAILQ_FOREACH(responder, &pool->waiting, waiting)
	if (conn_can_send(responder->conn))
		break;
	return request_pool_is_empty(pool) ? NULL : responder;
}

void request_pool_serve(struct request_pool *pool)
{
	struct responder *responder;

	/* A request that is answered at once is released in here: a loop, so that the stack does
	 * not grow with the backlog. */
	if (pool->is_serving)
		return;
	pool->is_serving = true;
	while ((responder = next_waiting(pool))) {
		struct mem_buf *buf = responder->backlog;
		struct weir_request *req = request_take(responder);

		responder->backlog = (struct mem_buf *)buf->user[0];
		TAILQ_REMOVE(&pool->waiting, responder, waiting);
		if (responder->backlog)
			TAILQ_INSERT_TAIL(&pool->waiting, responder, waiting);
		else
			responder->hold = 0;
		request_receive(req, responder->conn, buf, (uint32_t)buf->user[1]);
	}
	pool->is_serving = false;
}
