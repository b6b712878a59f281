/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path of a call: what most calls are (call_plain.h), with nothing in the way. Each
 * function here falls back to the general path, which would come to the same.
 *
 * Submission: by a connection that can send the call at once: nothing is queued, there is a credit,
 * and nothing else is to be done. Any other call is call.c's.
 *
 * Replies: accepted, without chunks or with the Write chunk that was offered. Any other message is
 * call.c's.
 *
 * Reuse: the call that ends has its slot still, and its buffer, with the RPC header: it begins anew
 * as it is, under another XID; on another connection in a slot of that. Where this can't be, as a
 * device is not out of the buffer, or as it holds more than that until 'done' returns, another call
 * gets a copy of the header.
 */
#include <errno.h>

#include "call_complete.h"
#include "call_plain.h"
#include "call_pool.h"
#include "call_read_reply.h"
#include "compiler.h"
#include "shape.h"
#include "wire.h"

/* Whether nothing stands in the way of a call that is about to be submitted. */
static inline bool may_submit_now(const struct weir_call *call, const struct weir_conn *conn,
				  const struct requester *req)
{
	return call->state == CALL_BUILDING && !call->out.failed && conn_can_send_direct(conn) &&
	       conn->srq->nfree <= conn->srq->slack && TAILQ_EMPTY(&req->queue) &&
	       req->credits.granted > req->credits.in_flight;
}

/* The driver could not send it now, which was taken for granted. */
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

/* Its message is written, all of it. All there is to do comes before the driver's call, which most
 * likely sends the message: nothing is needed again behind it then. Of its plan the reply asks for
 * no more than that. */
static hot_inline int submit_now(struct weir_call *call, struct weir_conn *conn,
				 struct requester *req, const uint8_t *msg, uint32_t bytes,
				 bool writes_result, bool reads_item)
{
	struct weir_engine *engine = conn->ep.engine;

	call_set_deadline(call, engine);
	engine->stats.calls_sent++;
	engine->stats.write_chunks += writes_result;
	engine->stats.read_chunks += reads_item;
	req->nactive++;
	credit_take(&req->credits);
	call->plan.use_write_list = writes_result;
	call_set_plain(call, writes_result, reads_item, CALL_SENT, true);
	if (likely(conn->ops->send_direct(conn->qp, msg, bytes)))
		return 0;
	return submit_after_all(call);
}

/* Each of those with more to it apart, so that it does not burden the others with its stack frame.
 */
static out_of_line int submit_one_write(struct weir_call *call, struct weir_conn *conn,
					struct requester *req)
{
	const uint8_t *msg = call->out.start - RDMA1_ONE_WRITE_SIZE;
	uint32_t bytes = call_plain_bytes(call, RDMA1_ONE_WRITE_SIZE);

	if (!call_encode_one_write(call, conn, 0))
		return call_submit_any(call);
	return submit_now(call, conn, req, msg, bytes, true, false);
}

static out_of_line int submit_one_read(struct weir_call *call, struct weir_conn *conn,
				       struct requester *req)
{
	const uint8_t *msg = call->out.start - RDMA1_ONE_READ_SIZE;
	uint32_t bytes = call_plain_bytes(call, RDMA1_ONE_READ_SIZE);

	if (!call_encode_one_read(call, conn))
		return call_submit_any(call);
	return submit_now(call, conn, req, msg, bytes, false, true);
}

int weir_call_submit(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);
	const uint8_t *msg = call->out.start - RDMA1_HEADER_MIN;
	uint32_t bytes = call_plain_bytes(call, RDMA1_HEADER_MIN);

	if (unlikely(!may_submit_now(call, conn, req)))
		return call_submit_any(call);
	/* One by one: each was written by itself, and of late. */
	if (call->nitems != 0)
		return submit_one_read(call, conn, req);
	if (call->nresults != 0)
		return submit_one_write(call, conn, req);
	if (unlikely(!call_encode_short(call, conn, 0)))
		return call_submit_any(call);
	return submit_now(call, conn, req, msg, bytes, false, false);
}

/* The reply that most calls get, to one that holds and awaits nothing else: accepted, without
 * chunks, or with the Write chunk that was offered; 'header_bytes' is a constant that says which;
 * both headers were found to be such ones, of version 1. True: it is dealt with. Of
 * any other nothing was done; and what is done here, the general way would do. */
static hot_inline bool take_plain(struct weir_conn *conn, struct requester *req, const uint8_t *msg,
				  uint32_t len, uint32_t header_bytes)
{
	bool has_chunk = header_bytes == RDMA1_ONE_WRITE_SIZE;
	struct call_view *view = &req->pool->view;
	uint32_t xid = wire_get_u32(msg);
	const struct call_slot *slot = call_slot_of(req, xid);
	struct weir_call *call = slot->call;

	/* Keys are only valid of one that has more than its message. */
	if (slot->xid != xid ||
	    !call_expects(call, has_chunk ? EXPECTED_REPLY_ONE_WRITE : EXPECTED_REPLY_INLINE))
		return false;
	if (has_chunk) {
		struct rdma1_segment seg = rdma1_take_one_write(msg);

		if (!call_is_one_offered(call, &seg))
			return false;
		view->item_bytes = seg.length;
	}
	conn->active_since_tick = conn->got_message = true;
	if (!credit_reply(&req->credits, wire_get_u32(msg + 8)))
		conn->ep.engine->stats.zero_grants++;
	view->result.nitems = has_chunk;
	rpc_view_plain_reply(msg + header_bytes, msg + len, xid, &view->in, &view->reply);
	call_complete_reusable(conn->ep.engine, req, call, &view->result);
	return true;
}

/* Each apart from the others, so that none burdens them with its stack frame. */
static out_of_line void on_short(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	if (conn->via_protocol ||
	    !take_plain(conn, requester_of(conn), buf->data, len, RDMA1_HEADER_MIN)) {
		requester_on_reply(conn, buf, len, 0);
		return;
	}
	requester_go_on(requester_of(conn));
	conn_recv_done(conn, buf);
}

static out_of_line void on_one_write(struct weir_conn *conn, struct mem_buf *buf, uint32_t len)
{
	if (conn->via_protocol ||
	    !take_plain(conn, requester_of(conn), buf->data, len, RDMA1_ONE_WRITE_SIZE)) {
		requester_on_reply(conn, buf, len, 0);
		return;
	}
	requester_go_on(requester_of(conn));
	conn_recv_done(conn, buf);
}

void requester_on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			  uint32_t inv_rkey)
{
	if (inv_rkey == 0 && shape_is_inline_reply(buf->data, len))
		on_short(conn, buf, len);
	else if (inv_rkey == 0 &&
		 shape_is_one_write_reply(buf->data, len, &conn->ep.engine->limits))
		on_one_write(conn, buf, len);
	else
		requester_on_reply(conn, buf, len, inv_rkey);
}

/* The same of what the device shows, of SHAPE_INLINE_REPLY bytes or more: done with when it is
 * plain. 'msg' is what 'buf' has; conn_can_deliver_direct() leaves no other protocol. */
static out_of_line bool show_short(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				   const uint8_t *msg)
{
	struct requester *req = requester_of(conn);

	if (!shape_is_inline_reply_within(msg) ||
	    !take_plain(conn, req, msg, len, RDMA1_HEADER_MIN))
		return conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
	requester_go_on(req);
	return true;
}

static out_of_line bool show_one_write(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				       const uint8_t *msg)
{
	struct requester *req = requester_of(conn);

	if (!shape_is_one_write_reply(msg, len, &conn->ep.engine->limits) ||
	    !take_plain(conn, req, msg, len, RDMA1_ONE_WRITE_SIZE))
		return conn_deliver(&conn->ep.receiver, (uintptr_t)buf, len);
	requester_go_on(req);
	return true;
}

bool requester_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;
	const uint8_t *msg = buf->data;

	if (unlikely(!conn_can_deliver_direct(conn) || len < SHAPE_INLINE_REPLY))
		return conn_deliver(receiver, wr_id, len);
	if (shape_has_chunk(msg))
		return show_one_write(conn, buf, len, msg);
	return show_short(conn, buf, len, msg);
}

/* It is BUILDING: behind the RPC header, which is there but for its XID. */
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

/* The call itself, in a slot of another connection. */
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
	/* Which may be the same one. */
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
	/* First its state: one that is over may have outlived its connection. */
	if (call->state < CALL_ZOMBIE || conn->ep.engine != call->conn->ep.engine) {
		errno = EINVAL;
		return NULL;
	}
	if (!conn_takes_calls(conn)) {
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
