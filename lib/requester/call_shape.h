/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_SHAPE_H
#define CALL_SHAPE_H

/*
 * Calls of a shape (lib/proto/shape.h). These calls have a shape:
 *
 * - SHAPE_INLINE: a call without chunks
 * - SHAPE_ONE_WRITE: a call with one result, for which it offers a Write chunk of one segment
 * - SHAPE_ONE_READ: a call with one item, which goes by a Read chunk of one segment
 *
 * The rest of the call, and the rest of the longest reply, must fit inline.
 *
 * All data that are not in the chunk are contiguous, after the header. Such a call needs no plan of
 * the reducer (lib/proto/reduce_call.c), because the plan would have the same form.
 *
 * In these functions, 'extra' is the number of bytes that stay free before a header of version 1.
 * v2/protocol.c writes a header of version 2 over them. The shape and 'extra' are constants in each
 * use. Therefore 'extra' costs nothing in version 1, where it is 0.
 */

#include "compiler.h"
#include "requester.h"
#include "shape.h"

/* Returns the length of the Send of a call: the header with 'header_bytes', and the message. */
static inline uint32_t call_message_bytes(const struct weir_call *call, uint32_t header_bytes)
{
	return header_bytes + (uint32_t)weir_xdr_out_len(&call->out);
}

/* Returns whether the call, with a header of 'header_bytes', and its longest reply fit inline. */
static inline bool call_fits(const struct weir_call *call, const struct weir_conn *conn,
			     uint32_t header_bytes)
{
	return call_message_bytes(call, header_bytes) <= conn->send_inline &&
	       header_bytes + call->reply_max_bytes <= conn->recv_inline;
}

/* Returns whether the only result of the call goes by a Write chunk, without a window. */
static inline bool call_writes_one(const struct weir_call *call)
{
	return call->nresults == 1 && call->results[0].remote.len != 0 && call->may_reduce &&
	       !call->window_bindings;
}

/* Returns whether the call can be sent as SHAPE_ONE_READ: its only item goes by a Read chunk,
 * without a window, and everything else fits inline. */
static inline bool call_reads_one(const struct weir_call *call, const struct weir_conn *conn)
{
	const struct piece *item = &call->pieces[1];

	/* npieces is checked, too, because an empty item is not a piece. */
	if (call->nitems != 1 || call->npieces != 2 || call->nresults > 0 ||
	    item->kind != PIECE_ITEM || item->rkey == 0 || !call->may_reduce ||
	    call->window_bindings || conn->via_protocol)
		return false;
	return reduce_is_one_read(call->pieces[0].len, (uint32_t)weir_xdr_out_len(&call->out),
				  item->len, conn->send_inline, conn->ep.engine->chunk_bytes,
				  call->reply_max_bytes, conn->recv_inline);
}

/* Returns whether the call can be sent with the header of 'shape', after 'extra' free bytes. The
 * caller must choose the shape by what the call has, which this function does not check:
 *
 * - SHAPE_INLINE only for a call with neither items nor results
 * - SHAPE_ONE_WRITE only for a call without items */
static hot_inline bool call_has_shape(const struct weir_call *call, const struct weir_conn *conn,
				      enum shape shape, uint32_t extra)
{
	if (shape == SHAPE_ONE_READ)
		return call_reads_one(call, conn);
	return (shape == SHAPE_INLINE || call_writes_one(call)) &&
	       call_fits(call, conn, shape_header_bytes(shape) + extra);
}

/* Returns the segment in the header of a call of the shape. It is zero for SHAPE_INLINE. */
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

/* Writes the header of the shape directly before the message. Returns false, and writes nothing, if
 * the call can't be sent with that header (call_has_shape()). */
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

/* Sets the state of a call of a shape, and the members that its reply and its end need. Counts its
 * chunk. The header must be written. 'state' and the three members after it are in one word, so
 * that the compiler can set them by one store. */
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

/* Writes the header of a call for which the general path can be needed: the call might be queued.
 * Therefore also sets call->header, call->header_bytes and call->plan as the reducer would. The
 * call stays BUILDING. Returns false, and changes nothing, if the call can't be sent with the
 * header of the shape (call_has_shape()). */
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

/* Sets the time at which the call times out. It is called at the submission. */
static inline void call_set_deadline(struct weir_call *call, const struct weir_engine *engine)
{
	call->deadline_ns = engine->now_ns + call->timeout_ns;
}

/* Writes the number of wanted credits into the header of a queued call. The header can have been
 * written long before. If it requested the number of that time, the grant would not grow with the
 * demand. In each version of the header, the credits are the third word. */
static inline void call_renew_credits(struct weir_call *call, const struct requester *req)
{
	if (likely(call->more == 0))
		wire_put_u32(call->header + 8, req->credits.wanted);
}

#endif
