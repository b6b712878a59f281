/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call like one that ends. That has its slot still, and its buffer, with the RPC header: it
 * begins anew as it is, under another XID; on another connection in a slot of that. Where this
 * can't be, as a device is not out of the buffer, or as it holds more than that until 'done'
 * returns, another call gets a copy of the header.
 */
#include <errno.h>

#include "call_pool.h"
#include "compiler.h"
#include "wire.h"

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
