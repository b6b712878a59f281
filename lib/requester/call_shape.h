/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_SHAPE_H
#define CALL_SHAPE_H

/*
 * Calls of a shape (lib/proto/shape.h). These calls have a shape:
 *
 * - short calls without chunks
 * - calls with one result for one Write segment
 * - calls with one item that the responder reads
 *
 * All data that are not in the chunk are contiguous, after the header. Such a call needs no plan of
 * the reducer, whose result would be the same.
 *
 * The shape is a constant in each use. So is 'extra', the bytes before a header of version 1 that
 * stay free for v2/protocol.c to write over. Version 1 thus has no cost for it.
 */

#include "compiler.h"
#include "requester.h"
#include "shape.h"

static inline uint32_t call_message_bytes(const struct weir_call *call, uint32_t header_bytes)
{
	return header_bytes + (uint32_t)weir_xdr_out_len(&call->out);
}

static inline bool call_fits(const struct weir_call *call, const struct weir_conn *conn,
			     uint32_t header_bytes)
{
	return call_message_bytes(call, header_bytes) <= conn->send_inline &&
	       header_bytes + call->reply_max_bytes <= conn->recv_inline;
}

static inline bool call_writes_one(const struct weir_call *call)
{
	return call->nresults == 1 && call->results[0].remote.len != 0 && call->may_reduce &&
	       !call->window_bindings;
}

static inline bool call_reads_one(const struct weir_call *call, const struct weir_conn *conn)
{
	const struct piece *item = &call->pieces[1];

	/* An empty item is no piece. */
	if (call->nitems != 1 || call->npieces != 2 || call->nresults > 0 ||
	    item->kind != PIECE_ITEM || item->rkey == 0 || !call->may_reduce ||
	    call->window_bindings || conn->via_protocol)
		return false;
	return reduce_is_one_read(call->pieces[0].len, (uint32_t)weir_xdr_out_len(&call->out),
				  item->len, conn->send_inline, conn->ep.engine->chunk_bytes,
				  call->reply_max_bytes, conn->recv_inline);
}

/* A call with neither items nor results may be INLINE, a call with results may be ONE_WRITE, and a
 * call with items may be ONE_READ. */
static hot_inline bool call_has_shape(const struct weir_call *call, const struct weir_conn *conn,
				      enum shape shape, uint32_t extra)
{
	if (shape == SHAPE_ONE_READ)
		return call_reads_one(call, conn);
	return (shape == SHAPE_INLINE || call_writes_one(call)) &&
	       call_fits(call, conn, shape_header_bytes(shape) + extra);
}

static inline struct rdma1_segment call_chunk(const struct weir_call *call, enum shape shape)
{
	const struct remote_buf *remote = &call->results[0].remote;
	const struct piece *item = &call->pieces[1];

	if (shape == SHAPE_INLINE)
		return (struct rdma1_segment){0};
	return shape == SHAPE_ONE_WRITE
		       ? (struct rdma1_segment){remote->rkey, remote->len, remote->raddr}
		       : (struct rdma1_segment){item->rkey, item->len, item->raddr};
}

/* Writes the header before the message. Returns false if the call does not have the shape. Nothing
 * is then written. */
static hot_inline bool call_encode_shape(const struct weir_call *call, const struct weir_conn *conn,
					 enum shape shape, uint32_t extra)
{
	struct rdma1_segment seg;

	if (!call_has_shape(call, conn, shape, extra))
		return false;
	seg = call_chunk(call, shape);
	shape_encode(call->out.start - shape_header_bytes(shape), shape, call->xid,
		     requester_of(conn)->credits.wanted,
		     shape == SHAPE_ONE_READ ? call->pieces[0].len : 0, &seg);
	return true;
}

/* Records what the reply and the end of a call need to know, and sets the call's state. The header
 * must be written. The members that are set are in one word, so that one store is enough. */
static hot_inline void call_note_shape(struct weir_call *call, struct weir_engine *engine,
				       enum shape shape, enum call_state state, bool is_send_done)
{
	engine->stats.write_chunks += shape == SHAPE_ONE_WRITE;
	engine->stats.read_chunks += shape == SHAPE_ONE_READ;
	call->plan.use_write_list = shape == SHAPE_ONE_WRITE;
	call->state = (uint8_t)state;
	call->expected_reply =
		shape == SHAPE_ONE_WRITE ? EXPECTED_REPLY_ONE_WRITE : EXPECTED_REPLY_INLINE;
	call->is_send_done = is_send_done;
	call->is_exposed = shape != SHAPE_INLINE;
}

/* Writes the header of a call that may be queued, and records what a plan would say. Returns the
 * same as call_encode_shape(). */
static hot_inline bool call_lay_out_shape(struct weir_call *call, enum shape shape, uint32_t extra)
{
	if (!call_encode_shape(call, call->conn, shape, extra))
		return false;
	call->header_bytes = shape_header_bytes(shape) + extra;
	call->header = call->out.start - call->header_bytes;
	call->plan.form = shape == SHAPE_ONE_READ ? REDUCE_CHUNKED : REDUCE_SHORT;
	call->plan.reduced = shape == SHAPE_ONE_READ ? 1u << 1 : 0;
	call->plan.need_reply_chunk = false;
	call_note_shape(call, call_engine(call), shape, CALL_BUILDING, false);
	return true;
}

static inline void call_set_deadline(struct weir_call *call, const struct weir_engine *engine)
{
	call->deadline_ns = engine->now_ns + call->timeout_ns;
}

#endif
