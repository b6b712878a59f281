/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path of a call: one pass, for calls of a shape (lib/proto/shape.h). Each function falls
 * back to the general path, whose result would be the same.
 *
 * Submission needs all of these conditions. call.c does all other submissions.
 *
 * - The connection can send the call at once.
 * - No other call is queued.
 * - There is a credit.
 * - Nothing else has to be done first.
 *
 * A reply must be accepted, and have no chunks or the Write chunk that the call offered. call.c
 * handles all other messages.
 *
 * Reuse: while 'done' runs, the call that ends still has its slot, and its buffer with the RPC
 * header. The next call is the same object with another XID. If the next call is on another
 * connection, it gets a slot of that connection. Another object gets a copy of the header if the
 * device still uses the buffer, or if the call holds more than its buffer until 'done' returns.
 */
#include <errno.h>

#include "call_complete.h"
#include "call_pool.h"
#include "call_read_reply.h"
#include "call_shape.h"
#include "compiler.h"
#include "wire.h"

/* Returns whether the call can be submitted by the fast path. */
static inline bool may_submit_direct(const struct weir_call *call, const struct weir_conn *conn,
				     const struct requester *req)
{
	return call->state == CALL_BUILDING && !call->out.failed && conn_can_send_direct(conn) &&
	       conn->srq->nfree <= conn->srq->slack && TAILQ_EMPTY(&req->queue) &&
	       req->credits.granted > req->credits.in_flight;
}

/* Submits a call by the general path after the driver could not send it. The counters and the state
 * assumed that it would. */
static out_of_line int submit_after_all(struct weir_call *call)
{
	struct weir_engine_stats *stats = &call->conn->ep.engine->stats;
	struct requester *req = requester_of(call->conn);

	stats->write_chunks -= call->expected_reply == EXPECTED_REPLY_ONE_WRITE;
	stats->read_chunks -= call->nitems;
	stats->calls_sent--;
	req->nactive--;
	req->credits.in_flight--;
	call->is_send_done = false;
	call->state = CALL_BUILDING;
	return call_submit_any(call);
}

/* Submits a call of a shape. All state is set before the driver's call, which most likely sends the
 * message. Thus no value has to be kept for the time after that call. */
static hot_inline int submit_shape(struct weir_call *call, struct weir_conn *conn,
				   struct requester *req, enum shape shape)
{
	const uint8_t *msg = call->out.start - shape_header_bytes(shape);
	uint32_t bytes = call_message_bytes(call, shape_header_bytes(shape));
	struct weir_engine *engine = conn->ep.engine;

	if (unlikely(!call_encode_shape(call, conn, shape, 0)))
		return call_submit_any(call);
	call_set_deadline(call, engine);
	engine->stats.calls_sent++;
	req->nactive++;
	credit_take(&req->credits);
	call_note_shape(call, engine, shape, CALL_SENT, true);
	if (likely(conn->ops->send_direct(conn->qp, msg, bytes)))
		return 0;
	return submit_after_all(call);
}

/* The shapes with a chunk are out of line, so that their stack frames do not burden SHAPE_INLINE.
 */
static out_of_line int submit_one_write(struct weir_call *call, struct weir_conn *conn,
					struct requester *req)
{
	return submit_shape(call, conn, req, SHAPE_ONE_WRITE);
}

static out_of_line int submit_one_read(struct weir_call *call, struct weir_conn *conn,
				       struct requester *req)
{
	return submit_shape(call, conn, req, SHAPE_ONE_READ);
}

int weir_call_submit(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);

	if (unlikely(!may_submit_direct(call, conn, req)))
		return call_submit_any(call);
	/* These are two loads, because each member was just written by its own store. */
	if (call->nitems != 0)
		return submit_one_read(call, conn, req);
	if (call->nresults != 0)
		return submit_one_write(call, conn, req);
	return submit_shape(call, conn, req, SHAPE_INLINE);
}

/* Handles a reply of a shape to a call that expects this reply and holds nothing else. Returns
 * false if the message is no such reply. Then nothing was done. The message has at least
 * shape_reply_bytes(SHAPE_INLINE) bytes. */
static hot_inline bool take_shape(struct weir_conn *conn, struct requester *req, const uint8_t *msg,
				  uint32_t len, enum shape shape)
{
	bool has_chunk = shape == SHAPE_ONE_WRITE;
	struct call_view *view = &req->pool->view;
	const struct call_slot *slot;
	struct weir_call *call;
	uint32_t xid;

	if (!shape_match_reply(msg, len, shape, &conn->ep.engine->limits))
		return false;
	xid = wire_get_u32(msg);
	slot = call_slot_of(req, xid);
	call = slot->call;
	/* A call that expects a reply of a shape has no valid keys. */
	if (slot->xid != xid ||
	    !call_expects(call, has_chunk ? EXPECTED_REPLY_ONE_WRITE : EXPECTED_REPLY_INLINE))
		return false;
	if (has_chunk) {
		struct rdma1_segment seg = rdma1_decode_one_write(msg);

		if (!call_is_one_offered(call, &seg))
			return false;
		view->item_bytes = seg.length;
	}
	conn->active_since_tick = conn->got_message = true;
	if (!credit_reply(&req->credits, wire_get_u32(msg + 8)))
		conn->ep.engine->stats.zero_grants++;
	view->result.nitems = has_chunk;
	rpc_view_plain_reply(msg + shape_header_bytes(shape), msg + len, xid, &view->in,
			     &view->reply);
	call_complete_reusable(conn->ep.engine, req, call, &view->result);
	requester_go_on(req);
	return true;
}

static inline bool take_any_shape(struct weir_conn *conn, const uint8_t *msg, uint32_t len)
{
	struct requester *req = requester_of(conn);

	if (len < shape_reply_bytes(SHAPE_INLINE))
		return false;
	return shape_has_chunk(msg) ? take_shape(conn, req, msg, len, SHAPE_ONE_WRITE)
				    : take_shape(conn, req, msg, len, SHAPE_INLINE);
}

void requester_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey)
{
	if (inv_rkey == 0 && !conn->via_protocol && take_any_shape(conn, buf->data, len))
		conn_recv_done(conn, buf);
	else
		requester_on_reply(conn, buf, len, inv_rkey);
}

/* The two functions are out of line, so that neither stack frame burdens the other shape. */
static out_of_line bool deliver_inline(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				       const uint8_t *msg)
{
	return take_shape(conn, requester_of(conn), msg, len, SHAPE_INLINE) ||
	       conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
}

static out_of_line bool deliver_one_write(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
					  const uint8_t *msg)
{
	return take_shape(conn, requester_of(conn), msg, len, SHAPE_ONE_WRITE) ||
	       conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
}

/* The driver calls this function to deliver a message. If it returns true, the driver has its
 * receive back. conn_can_deliver_direct() is true for version 1 only. */
bool requester_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;
	const uint8_t *msg = buf->data;

	if (unlikely(!conn_can_deliver_direct(conn) || len < shape_reply_bytes(SHAPE_INLINE)))
		return conn_deliver(receiver, wr_id, len);
	if (shape_has_chunk(msg))
		return deliver_one_write(conn, buf, len, msg);
	return deliver_inline(conn, buf, len, msg);
}

/* Makes the call BUILDING, with its RPC header written. Only the XID of the header changes. */
static inline void begin_anew(struct weir_call *call, uint32_t xid)
{
	uint8_t *start = call->out.start;

	call->out.p = start + call->args_at;
	wire_put_u32(start, xid);
	call->out.failed = false;
	call_set_building(call);
}

static inline struct weir_call *begin_same(struct weir_call *call, struct requester *req)
{
	uint32_t xid = call->xid + req->slot_mask + 1;

	call->xid = xid;
	req->slots[call->slot].xid = xid;
	begin_anew(call, xid);
	return call;
}

/* Begins the call itself again, in a slot of another connection. */
static struct weir_call *begin_moved(struct weir_call *call, struct weir_conn *conn)
{
	struct requester *from = requester_of(call->conn), *to = requester_of(conn);

	if (unlikely(to->free_slot == CALL_NO_SLOT)) {
		errno = EAGAIN;
		return NULL;
	}
	call_leave_slot(from, call);
	call_enter_slot(conn, to, call);
	begin_anew(call, call->xid);
	return call;
}

static struct weir_call *begin_copy(const struct weir_call *call, struct weir_conn *conn)
{
	const struct mem_buf *from = call->args;
	struct weir_call *copy;
	struct mem_buf *args;

	if (requester_of(conn)->free_slot == CALL_NO_SLOT) {
		errno = EAGAIN;
		return NULL;
	}
	/* The new buffer may be the same one, because mem_pool_get() may reclaim it. */
	args = from ? mem_pool_get(from->pool) : NULL;
	copy = args ? call_take(conn, args) : NULL;
	if (!copy) {
		if (args)
			mem_pool_put(args);
		errno = ENOBUFS;
		return NULL;
	}
	memmove(copy->out.start, call->out.start, call->args_at);
	copy->args_at = call->args_at;
	copy->may_reduce = call->may_reduce;
	copy->timeout_ns = call->timeout_ns;
	copy->done = call->done;
	copy->arg = call->arg;
	copy->ulb = call->ulb;
	copy->proc = call->proc;
	copy->reply_max_bytes = call->reply_max_bytes;
	begin_anew(copy, copy->xid);
	return copy;
}

static out_of_line struct weir_call *again_otherwise(struct weir_call *call, struct weir_conn *conn)
{
	/* The state is checked first: a call that is over may have outlived its connection. */
	if (call->state < CALL_ZOMBIE || conn->ep.engine != call->conn->ep.engine) {
		errno = EINVAL;
		return NULL;
	}
	if (!conn_accepts_calls(conn)) {
		errno = ENOTCONN;
		return NULL;
	}
	if (call->state != CALL_COMPLETING_REUSABLE)
		return begin_copy(call, conn);
	return conn == call->conn ? begin_same(call, requester_of(conn)) : begin_moved(call, conn);
}

struct weir_call *weir_call_reuse(struct weir_call *call, struct weir_conn *conn)
{
	if (unlikely(call->state != CALL_COMPLETING_REUSABLE || conn->state != CONN_OPEN))
		return again_otherwise(call, conn);
	if (conn == call->conn)
		return begin_same(call, requester_of(conn));
	if (unlikely(conn->ep.engine != call->conn->ep.engine))
		return again_otherwise(call, conn);
	return begin_moved(call, conn);
}
