/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path of a request: one pass from the delivery of its message to its reply. Requests that
 * this file does not cover take the general path (request.c).
 *
 * Most calls have AUTH_NONE, and the same shape (lib/proto/shape.h) and the same program as the
 * previous call of their request object. This file compares a call with the template of its request
 * object (struct request_template), which request.c stores. The equal parts of the call were
 * checked and decoded for the previous call. Therefore, they are not stored again.
 *
 * This file sends a reply if its request has waited for nothing, the connection can send by a
 * direct operation (conn_can_send_direct()), and the reply has a shape (request_shape.h).
 */
#include "request_shape.h"

#include "compiler.h"
#include "owner.h"
#include "probe.h"
#include "request_stages.h"

/* ---- replies ---- */

/*
 * Returns whether the reply changes none of the counts of credits, receives and waiting
 * messages. This is true if all of these conditions hold:
 * - the reply grants the same credits as the previous reply
 * - the driver is still delivering the receive of the call (conn.h)
 * - no message waits for the request object that is released
 *
 * Most replies meet these conditions, and then only the Send and the release have to be done.
 */
static inline bool grant_unchanged(const struct weir_request *req,
				   const struct responder *responder, const struct weir_conn *conn)
{
	const struct engine_srq *srq = conn->srq;

	return req->msg == srq->delivering && srq->nfree <= srq->slack &&
	       TAILQ_EMPTY(&responder->pool->waiting) &&
	       credit_share_is_unchanged(&srq->credits, &conn->share, req->hdr.credit);
}

/* Does what request_release() does, for a request whose receive was given back. If 'is_short' is
 * true, the call had no chunks. In this function and those below, 'is_short' and 'grant_unchanged'
 * are constants in each use, so that the compiler removes the code for the other cases. */
static inline void release(struct weir_request *req, bool is_short, bool grant_unchanged)
{
	struct responder *responder;
	struct request_pool *pool;

	/* This is first, so that no other value has to be kept over it. */
	request_note_time(req);
	responder = req->responder;
	pool = responder->pool;
	if (!grant_unchanged && unlikely(!TAILQ_EMPTY(&pool->waiting))) {
		request_release(req);
		return;
	}
	mem_pool_put(req->reply);
	if (!is_short && req->nchunks > 0)
		request_put_chunks(req);
	if (!grant_unchanged && unlikely(req->outstanding.le_prev != NULL))
		request_delist(req);
	responder->nbusy--;
	req->reply = NULL;
	req->user = NULL;
	req->state = REQUEST_FREE;
	req->next_free = pool->free;
	pool->free = req;
}

/* Returns the credits that the reply grants. */
static inline uint32_t fast_reply_grant(const struct weir_request *req, struct responder *responder,
					struct weir_conn *conn, bool grant_unchanged)
{
	if (grant_unchanged)
		return req->hdr.credit;
	return credit_share_grant(&conn->srq->credits, &conn->share, req->hdr.credit,
				  responder->credits.limit);
}

/* Queues the Send of a reply that the driver cannot send at the moment. The receive was given back,
 * the item was written, and the reply was counted as sent. */
static out_of_line void queue(struct weir_request *req, uint32_t header_bytes, bool has_chunk)
{
	request_note_shape(req, header_bytes, has_chunk);
	req->credit = wire_get_u32(req->header + 8);
	req->responder->conn->bytes_sent -= request_message_bytes(req, header_bytes);
	credit_share_waits(&req->responder->conn->share);
	request_close_piece(req);
	request_send(req);
}

/* Writes the item of the reply to its Write chunk, and returns true. If the driver cannot do that
 * at the moment, the function does nothing and returns false. */
static inline bool write_item(const struct weir_request *req, struct weir_conn *conn,
			      const struct rdma1_segment *seg)
{
	const struct piece *item = &req->pieces[1];
	const struct fabric_sge sge = {item->base, item->len, item->lkey};

	if (!conn->ops->write_direct(conn->qp, sge, seg->handle, seg->offset))
		return false;
	conn->rdma_bytes_sent += item->len;
	return true;
}

/*
 * Sends a reply that has a shape, and releases the request. If the driver cannot send the reply at
 * the moment, it is queued.
 *
 * The header is made before the item is written. The driver reads the message with loads that are
 * wider than the stores of the header, and these loads wait until the stores have reached the
 * cache. If the header were stored after the item, its stores would have to wait for those of the
 * item in the store buffer of the processor.
 *
 * After it has called the driver, the function uses as few earlier values as possible, because such
 * values would have to be kept in a stack frame.
 */
static hot_inline void reply_shape(struct weir_request *req, struct weir_conn *conn,
				   enum shape shape, bool is_short, bool grant_unchanged)
{
	uint32_t header_bytes = shape_header_bytes(shape);
	uint32_t bytes = request_message_bytes(req, header_bytes);
	uint8_t *header = req->out.start - header_bytes;
	uint32_t granted = fast_reply_grant(req, req->responder, conn, grant_unchanged);
	struct rdma1_segment seg = request_chunk(req, shape);

	shape_encode(header, shape, req->hdr.xid, granted, 0, &seg);
	if (shape == SHAPE_ONE_WRITE && unlikely(!write_item(req, conn, &seg))) {
		if (!grant_unchanged)
			/* so that the general path does not count the grant again */
			req->credit = granted;
		request_reply(req, conn);
		return;
	}
	if (grant_unchanged) {
		conn->srq->delivering = NULL;
	} else {
		conn_put_shared(conn, req->msg);
		credit_share_sent(&conn->srq->credits, &conn->share, granted);
		engine_srq_top_up(conn->srq);
	}
	req->msg = NULL;
	conn->bytes_sent += bytes;
	conn->ep.engine->stats.write_chunks += shape == SHAPE_ONE_WRITE;
	conn->ep.engine->stats.replies_sent++;
	PROBE3(request_replied, conn->id, req->hdr.xid, req->rpc.proc);
	if (likely(conn->ops->send_direct(conn->qp, header, bytes)))
		release(req, is_short, grant_unchanged);
	else
		queue(req, header_bytes, shape == SHAPE_ONE_WRITE);
}

/* Each of the following functions is out of line, so that none of them adds its stack frame to
 * another one. The two with "regrant" are for replies that change counts (grant_unchanged()). */
static out_of_line void reply_inline_regrant(struct weir_request *req, struct weir_conn *conn)
{
	reply_shape(req, conn, SHAPE_INLINE, false, false);
}

static out_of_line void reply_one_write_regrant(struct weir_request *req, struct weir_conn *conn)
{
	reply_shape(req, conn, SHAPE_ONE_WRITE, false, false);
}

/* Sends a reply without chunks, if the call had chunks or the reply changes counts. */
static out_of_line void reply_inline(struct weir_request *req, struct weir_conn *conn)
{
	if (request_message_bytes(req, RDMA1_HEADER_MIN) > conn->send_inline)
		request_reply(req, conn);
	else if (grant_unchanged(req, req->responder, conn))
		reply_shape(req, conn, SHAPE_INLINE, false, true);
	else
		reply_inline_regrant(req, conn);
}

/* Sends a reply with one item, which fills the only Write chunk of the call. All other replies with
 * items take the general path. */
static out_of_line void reply_one_write(struct weir_request *req, struct weir_conn *conn)
{
	if (!request_fills_chunk(req, conn, 0))
		request_reply(req, conn);
	else if (grant_unchanged(req, req->responder, conn))
		reply_shape(req, conn, SHAPE_ONE_WRITE, false, true);
	else
		reply_one_write_regrant(req, conn);
}

/* Returns whether the connection can send at once, and the results are complete. */
static inline bool can_reply_direct(const struct weir_request *req, const struct weir_conn *conn)
{
	return conn_can_send_direct(conn) && req->reply && !req->out.failed;
}

/* Sends a reply by the general path, if stages are measured. */
static out_of_line void reply_with_stage(struct weir_request *req, struct weir_conn *conn)
{
	request_begin_stage(req, WEIR_STAGE_PUSHED);
	request_reply(req, conn);
}

/* Sends a reply that is not of the most common kind. This function is separate from
 * weir_request_reply(), so that the most common replies do not pay for its stack frame. */
static out_of_line void fast_reply_other(struct weir_request *req, struct weir_conn *conn)
{
	if (!req->flags.can_reply_fast || !can_reply_direct(req, conn)) {
		if (unlikely(engine_measures_stages(req->responder->engine)))
			reply_with_stage(req, conn);
		else
			request_reply(req, conn);
	} else if (req->nitems > 0) {
		reply_one_write(req, conn);
	} else if (request_has_no_chunks(req)) {
		reply_inline(req, conn);
	} else {
		request_reply(req, conn);
	}
}

void weir_request_reply(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;

	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	if (likely(request_can_reply_short(req) && can_reply_direct(req, conn) &&
		   request_message_bytes(req, RDMA1_HEADER_MIN) <= conn->send_inline &&
		   grant_unchanged(req, responder, conn)))
		reply_shape(req, conn, SHAPE_INLINE, true, true);
	else
		fast_reply_other(req, conn);
}

/* ---- messages that the device delivers ---- */

/* Stores the values of a call that differ from those of the previous call of its request object,
 * with the same result as request_receive(). Returns false if the procedure does not exist; the
 * call was then answered. */
static hot_inline bool accept_call_of_shape(struct weir_request *req, struct weir_conn *conn,
					    const uint8_t *msg, uint32_t len, enum shape shape)
{
	const uint8_t *call = msg + shape_header_bytes(shape);
	uint32_t proc = wire_get_u32(call + 20);

	req->hdr.xid = req->rpc.xid = wire_get_u32(msg);
	req->hdr.credit = wire_get_u32(msg + 8);
	/* The members for empty lists are not set, because they are not read. */
	if (shape == SHAPE_ONE_WRITE) {
		req->hdr.writes = msg + RDMA1_FIXED_SIZE + 4;
		req->hdr.write_bytes = wire_get_u32(msg + 32);
	}
	req->rpc.proc = proc;
	req->args.p = call + WEIR_RPC_CALL_HEADER_MIN;
	req->args.end = msg + len;
	req->args.is_item = req->args.failed = false;
	/* because the program might have set the decoder to parts of its own */
	req->args.nparts = 0;
	req->args.later_bytes = 0;
	req->flags =
		(struct request_flags){.can_reply_fast = true, .is_short = shape == SHAPE_INLINE};
	conn->got_message = true;
	conn->ep.engine->stats.requests_received++;
	req->responder->ncalls++;
	if (unlikely(proc >= req->program->nprocs)) {
		req->template.shape = 0;
		req->template.procedures = NULL; /* it has no entry for this procedure */
		request_answer(req, REQUEST_NOT_FOUND);
		return false;
	}
	return true;
}

/* Processes a call that has the shape and the program of the previous call and no Read chunk, and
 * returns true. If the call is different, the function does nothing and returns false. */
static hot_inline bool receive_shape(struct weir_request *req, struct weir_conn *conn,
				     const uint8_t *msg, uint32_t len, enum shape shape)
{
	const struct weir_program *program = req->program;

	if (!shape_match_call(msg, len, shape, &conn->ep.engine->limits, req->template.prog_vers))
		return false;
	if (accept_call_of_shape(req, conn, msg, len, shape)) {
		req->state = REQUEST_HANDLING;
		PROBE3(request_begun, conn->id, req->hdr.xid, req->rpc.proc);
		program->handle(req, program->arg);
	}
	return true;
}

/* Does what receive_shape() does, for a call with one Read segment. */
static out_of_line bool receive_one_read(struct weir_request *req, struct weir_conn *conn,
					 const uint8_t *msg, uint32_t len)
{
	const struct rdma1_read_segment seg = {.position = wire_get_u32(msg + 20),
					       .target = rdma1_segment_at(msg + 24)};

	if (!shape_match_call(msg, len, SHAPE_ONE_READ, &conn->ep.engine->limits,
			      req->template.prog_vers))
		return false;
	req->hdr.reads = msg + RDMA1_FIXED_SIZE;
	req->hdr.read_bytes = seg.target.length;
	if (accept_call_of_shape(req, conn, msg, len, SHAPE_ONE_READ))
		request_pull_repeat(req, &seg);
	return true;
}

/* Processes a call that matches the previous call of its request object, and returns true. If the
 * call does not match, the function does nothing and returns false. */
static hot_inline bool receive_repeat(struct weir_request *req, struct responder *responder,
				      struct weir_conn *conn, const uint8_t *msg, uint32_t len)
{
	const struct program_table *programs = responder->programs;
	uintptr_t shape = req->template.shape;

	if (len < shape_call_bytes(SHAPE_INLINE))
		return false;
	if (!shape_has_chunk(msg))
		return shape == request_shape(programs, SHAPE_INLINE) &&
		       receive_shape(req, conn, msg, len, SHAPE_INLINE);
	if (shape == request_shape(programs, SHAPE_ONE_WRITE))
		return receive_shape(req, conn, msg, len, SHAPE_ONE_WRITE);
	return shape == request_shape(programs, SHAPE_ONE_READ) &&
	       receive_one_read(req, conn, msg, len);
}

/* Processes a call that does not match the previous call of its request object. */
static out_of_line void receive_first(struct weir_request *req)
{
	request_receive(req, req->responder->conn, req->msg, req->msg_bytes);
}

/* Keeps the receive of the delivered message, because the request has not given it back yet.
 * Returns false: the driver must not reuse the receive. */
static out_of_line bool hold_delivered(struct weir_conn *conn)
{
	struct weir_request *req = responder_of(conn)->pool->delivered;

	if (req->state != REQUEST_FREE)
		request_enlist(req);
	return conn_hold_delivered(conn);
}

bool responder_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;
	struct responder *responder = responder_of(conn);
	struct request_pool *pool = responder->pool;
	struct weir_request *req = pool->free;

	if (unlikely(!conn_can_deliver_direct(conn) || responder->deferred_by))
		return conn_deliver(receiver, wr_id, len);
	if (unlikely(!req))
		return conn_deliver(receiver, wr_id, len);
	conn_deliver_begin(conn, buf, len);
	pool->free = req->next_free;
	pool->delivered = req;
	responder->nbusy++;
	req->responder = responder;
	req->msg = buf;
	req->msg_bytes = len;
	if (!receive_repeat(req, responder, conn, buf->data, len))
		receive_first(req);
	return likely(!conn->srq->delivering) ? true : hold_delivered(conn);
}

bool responder_deliver_timed(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	const struct responder *responder = responder_of((struct weir_conn *)receiver);

	/* The request that gets the message, unless the message takes the general path. */
	if (responder->pool->free)
		responder->pool->free->stage_begin_ns[0] = engine_clock_ns(responder->engine);
	return responder_deliver(receiver, wr_id, len);
}
