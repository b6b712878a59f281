/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path of a call, for calls of a shape (lib/proto/shape.h): each event is handled in one
 * pass. If a function can't handle an event, it calls the general path, which can handle any event
 * and has the same effect.
 *
 * Submission. The fast path submits a call if all of these conditions are met. call.c does all
 * other submissions.
 *
 * - The connection can send the call at once.
 * - No other call is queued.
 * - There is a credit.
 * - There are not so many free receives that they must be posted first.
 * - The engine does not measure stages.
 *
 * Reply. The fast path handles a reply that is accepted, and has no chunks or the Write chunk that
 * the call offered. call.c handles all other messages.
 *
 * Reuse. While 'done' runs, the call that ends still has its slot, and its buffer with the RPC
 * header. weir_call_reuse() therefore only gives the same object another XID. If the next call is
 * on another connection, the object gets a slot of that connection. In these cases the next call is
 * another object, to which the RPC header is copied:
 *
 * - The device still reads the buffer of the call that ends.
 * - The call that ends holds other buffers until 'done' returns.
 *
 * If another call that began in 'done' has taken the buffer of the call that ends, the reuse fails
 * with ENOBUFS.
 */
#include <errno.h>

#include "call_complete.h"
#include "call_pool.h"
#include "call_read_reply.h"
#include "call_shape.h"
#include "compiler.h"
#include "owner.h"
#include "probe.h"
#include "wire.h"

/* Returns whether the call can be submitted by the fast path. */
static inline bool may_submit_direct(const struct weir_call *call, const struct weir_conn *conn,
				     const struct requester *req, uint64_t blockers)
{
	return call->state == CALL_BUILDING && !call->out.failed &&
	       conn->ep.blockers.sending == blockers && conn->srq->nfree <= conn->srq->slack &&
	       TAILQ_EMPTY(&req->queue) && req->credits.granted > req->credits.in_flight;
}

/* Submits a call by the general path, because the driver could not send it at once. First undoes
 * the changes that submit_shape() has made to the state and the counters. Returns what
 * weir_call_submit() returns. */
static out_of_line int submit_after_all(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct engine_counters *stats = &conn->ep.engine->stats;
	struct requester *req = requester_of(conn);
	enum shape shape = SHAPE_INLINE;

	if (call->nitems != 0)
		shape = SHAPE_ONE_READ;
	else if (call->nresults != 0)
		shape = SHAPE_ONE_WRITE;
	conn->bytes_sent -= call_message_bytes(call, shape_header_bytes(shape));
	if (shape == SHAPE_ONE_READ)
		conn->rdma_bytes_sent -= call->pieces[1].len;
	stats->write_chunks -= call->expected_reply == EXPECTED_REPLY_ONE_WRITE;
	stats->read_chunks -= call->nitems;
	stats->calls_sent--;
	req->nactive--;
	req->ncalls--;
	req->credits.in_flight--;
	call->is_send_done = false;
	call->state = CALL_BUILDING;
	return call_submit_any(call);
}

/* Submits a call as 'shape', or by the general path. Returns what weir_call_submit() returns. All
 * state is set before send_direct() of the driver, which most likely sends the message. Thus no
 * value has to be kept until send_direct() returns. */
static hot_inline int submit_shape(struct weir_call *call, struct weir_conn *conn,
				   struct requester *req, enum shape shape)
{
	const uint8_t *msg = call->out.start - shape_header_bytes(shape);
	uint32_t bytes = call_message_bytes(call, shape_header_bytes(shape));
	struct weir_engine *engine = conn->ep.engine;

	if (unlikely(!call_encode_shape(call, conn, shape, 0)))
		return call_submit_any(call);
	call_set_deadline(call, engine);
	PROBE3(call_sent, conn->id, call->xid, call->proc);
	engine->stats.calls_sent++;
	req->nactive++;
	req->ncalls++;
	credit_take(&req->credits);
	call_note_shape(call, engine, shape, CALL_SENT, true);
	conn->bytes_sent += bytes;
	if (shape == SHAPE_ONE_READ)
		conn->rdma_bytes_sent += call->pieces[1].len;
	if (likely(conn->ops->send_direct(conn->qp, msg, bytes)))
		return 0;
	return submit_after_all(call);
}

/* The functions for the shapes with a chunk are out of line, so that the code for SHAPE_INLINE
 * needs no stack frame. */
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

/* Submits a call that cannot take the fast path, or whose engine measures times. Such a call can
 * take the fast path after the clock was read. This is apart from weir_call_submit(), which keeps
 * no value over the reading of the clock. */
static out_of_line int submit_timed(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);

	if (!may_submit_direct(call, conn, req, ENGINE_TIMED))
		return call_submit_any(call);
	if (call->procedure)
		call->times.begin_ns = engine_clock_ns(conn->ep.engine);
	if (call->nitems != 0)
		return submit_one_read(call, conn, req);
	if (call->nresults != 0)
		return submit_one_write(call, conn, req);
	return submit_shape(call, conn, req, SHAPE_INLINE);
}

int weir_call_submit(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);

	if (OTHER_THREAD(call->conn->ep.engine))
		return -EPERM;
	if (unlikely(!may_submit_direct(call, conn, req, 0)))
		return submit_timed(call);
	/* Each member is tested by its own load, because it was just written by its own store. One
	 * load of both would wait for the two stores. */
	if (call->nitems != 0)
		return submit_one_read(call, conn, req);
	if (call->nresults != 0)
		return submit_one_write(call, conn, req);
	return submit_shape(call, conn, req, SHAPE_INLINE);
}

/* Does call_complete_reusable() for a call that is measured. It is out of line, so that the fast
 * path has to keep no value over the reading of the clock. */
static out_of_line void complete_timed(struct requester *req, struct weir_call *call)
{
	call_note_times(call);
	call_complete_reusable(call_engine(call), req, call, &req->pool->view.result);
}

/* Ends a call by its reply, if the message is a reply of 'shape' to a call that expects this reply
 * (enum expected_reply). Returns false, and has done nothing, if it is not. The message must have
 * at least shape_reply_bytes(SHAPE_INLINE) bytes. 'is_counted' says whether the connection has
 * counted the bytes of the message. */
static hot_inline bool take_shape(struct weir_conn *conn, struct requester *req, const uint8_t *msg,
				  uint32_t len, enum shape shape, bool is_counted)
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
		conn->rdma_bytes_received += seg.length;
	}
	if (!is_counted)
		conn->bytes_received += len;
	conn->active_since_tick = conn->got_message = true;
	if (!credit_reply(&req->credits, wire_get_u32(msg + 8)))
		conn->ep.engine->stats.zero_grants++;
	view->result.nitems = has_chunk;
	rpc_view_plain_reply(msg + shape_header_bytes(shape), msg + len, xid, &view->in,
			     &view->reply);
	if (unlikely(call->procedure != NULL))
		complete_timed(req, call);
	else
		call_complete_reusable(conn->ep.engine, req, call, &view->result);
	requester_go_on(req);
	return true;
}

/* Ends a call by its reply, like take_shape(), if the message has any of the shapes of a reply. */
static inline bool take_any_shape(struct weir_conn *conn, const uint8_t *msg, uint32_t len)
{
	struct requester *req = requester_of(conn);

	if (len < shape_reply_bytes(SHAPE_INLINE))
		return false;
	return shape_has_chunk(msg) ? take_shape(conn, req, msg, len, SHAPE_ONE_WRITE, true)
				    : take_shape(conn, req, msg, len, SHAPE_INLINE, true);
}

void requester_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey)
{
	if (inv_rkey == 0 && !conn->via_protocol && take_any_shape(conn, buf->data, len))
		conn_recv_done(conn, buf);
	else
		requester_on_reply(conn, buf, len, inv_rkey);
}

/* These functions handle a delivered message of one shape each. They return what
 * requester_deliver() returns. They are out of line, so that the code for one shape does not need
 * the stack frame of the other. */
static out_of_line bool deliver_inline(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				       const uint8_t *msg)
{
	return take_shape(conn, requester_of(conn), msg, len, SHAPE_INLINE, false) ||
	       conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
}

static out_of_line bool deliver_one_write(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
					  const uint8_t *msg)
{
	return take_shape(conn, requester_of(conn), msg, len, SHAPE_ONE_WRITE, false) ||
	       conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
}

/* The driver calls this function to deliver a message. Returns true if the message was processed,
 * and the driver has the receive back. conn_can_deliver_direct() is true only for a connection that
 * speaks only version 1, so the version need not be checked. */
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

/* Makes a call BUILDING whose buffer has the RPC header of the previous call. Of the header, only
 * the XID changes. */
static inline void begin_anew(struct weir_call *call, uint32_t xid)
{
	uint8_t *start = call->out.start;

	call->out.p = start + call->args_at;
	wire_put_u32(start, xid);
	call->out.failed = false;
	call_set_building(call);
}

/* Begins the call again in its slot. Returns the call. */
static inline struct weir_call *begin_same(struct weir_call *call, struct requester *req)
{
	uint32_t xid = call->xid + req->slot_mask + 1;

	call->xid = xid;
	req->slots[call->slot].xid = xid;
	begin_anew(call, xid);
	return call;
}

/* Begins the call again in a slot of another connection. Returns the call, or NULL with EAGAIN if
 * that connection has no free slot. */
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

/* Begins another call with the parameters and the RPC header of 'call'. Returns that call, or NULL
 * with EAGAIN if the connection has no free slot, or ENOBUFS if there is no buffer or no call. */
static struct weir_call *begin_copy(const struct weir_call *call, struct weir_conn *conn)
{
	const struct mem_buf *from = call->args;
	struct weir_call *copy;
	struct mem_buf *args;

	if (requester_of(conn)->free_slot == CALL_NO_SLOT) {
		errno = EAGAIN;
		return NULL;
	}
	/* 'args' can be the buffer 'from', because mem_pool_get() calls reclaim_args() if the pool
	 * is empty. Therefore the header is copied by memmove(). */
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
	copy->procedure = call->procedure;
	copy->reply_max_bytes = call->reply_max_bytes;
	begin_anew(copy, copy->xid);
	return copy;
}

/* Does weir_call_reuse() for the cases that are rare or invalid. */
static out_of_line struct weir_call *again_otherwise(struct weir_call *call, struct weir_conn *conn)
{
	/* The state is checked first, because the connection of a call that is over might have been
	 * freed. */
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
	if (OTHER_THREAD(call->conn->ep.engine))
		return NULL;
	if (unlikely(call->state != CALL_COMPLETING_REUSABLE || conn->state != CONN_OPEN))
		return again_otherwise(call, conn);
	if (conn == call->conn)
		return begin_same(call, requester_of(conn));
	if (unlikely(conn->ep.engine != call->conn->ep.engine))
		return again_otherwise(call, conn);
	return begin_moved(call, conn);
}
