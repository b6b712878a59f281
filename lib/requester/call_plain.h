/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_PLAIN_H
#define CALL_PLAIN_H

/*
 * What most calls are, told without a plan, which would be the same: short ones without chunks;
 * those that one result may be written of, to one segment; and those of which one item is to be
 * read. What is not in a chunk lies in one piece, with the header in front of it. Each
 * call_encode_...() writes that header; false: the call is another, and nothing was written.
 */

#include "compiler.h"
#include "requester.h"

static inline bool call_fits(const struct weir_call *call, const struct weir_conn *conn,
			     uint32_t header_bytes, uint32_t bytes)
{
	return bytes <= conn->send_inline &&
	       header_bytes + call->reply_max_bytes <= conn->recv_inline;
}

/* How long the message is. */
static inline uint32_t call_plain_bytes(const struct weir_call *call, uint32_t header_bytes)
{
	return header_bytes + (uint32_t)weir_xdr_out_len(&call->out);
}

/* 'extra' bytes are left in front of a header of version 1, for conn_protocol.finish_header() to
 * write over; a constant, here and below, so that version 1 does not pay for it. */
static hot_inline bool call_encode_short(struct weir_call *call, const struct weir_conn *conn,
					 uint32_t extra)
{
	uint32_t header_bytes = RDMA1_HEADER_MIN + extra,
		 bytes = call_plain_bytes(call, header_bytes);
	uint8_t *header = call->out.start - header_bytes;

	if (!call_fits(call, conn, header_bytes, bytes))
		return false;
	if (extra == 0)
		rdma1_encode_short_msg(header, call->xid, requester_of(conn)->credits.wanted);
	else
		rdma1_encode_short(header + extra, call->xid, requester_of(conn)->credits.wanted);
	return true;
}

static hot_inline bool call_encode_one_write(struct weir_call *call, const struct weir_conn *conn,
					     uint32_t extra)
{
	const struct remote_buf *target = &call->results[0].target;
	const struct rdma1_segment seg = {target->rkey, target->len, target->raddr};
	uint32_t header_bytes = RDMA1_ONE_WRITE_SIZE + extra,
		 bytes = call_plain_bytes(call, header_bytes);
	uint8_t *header = call->out.start - header_bytes;

	if (call->nresults != 1 || target->len == 0 || !call->may_reduce || call->window_bindings ||
	    !call_fits(call, conn, header_bytes, bytes))
		return false;
	if (extra == 0)
		rdma1_encode_one_write_msg(header, call->xid, requester_of(conn)->credits.wanted,
					   &seg);
	else
		rdma1_encode_one_write(header + extra, call->xid,
				       requester_of(conn)->credits.wanted, &seg);
	return true;
}

static hot_inline bool call_encode_one_read(struct weir_call *call, const struct weir_conn *conn)
{
	const struct piece *item = &call->pieces[1];
	uint32_t left_bytes = (uint32_t)weir_xdr_out_len(&call->out);
	struct rdma1_read_segment read;

	/* An empty item is no piece. */
	if (call->nitems != 1 || call->npieces != 2 || call->nresults > 0 ||
	    item->kind != PIECE_ITEM || item->rkey == 0 || !call->may_reduce ||
	    call->window_bindings || conn->via_protocol)
		return false;
	if (!reduce_is_one_read(call->pieces[0].len, left_bytes, item->len, conn->send_inline,
				conn->ep.engine->chunk_bytes, call->reply_max_bytes,
				conn->recv_inline))
		return false;
	read = (struct rdma1_read_segment){call->pieces[0].len,
					   {item->rkey, item->len, item->raddr}};
	rdma1_encode_one_read_msg(call->out.start - RDMA1_ONE_READ_SIZE, call->xid,
				  requester_of(conn)->credits.wanted, &read);
	return true;
}

/* Its state, and what it awaits: one word. */
static hot_inline void call_set_plain(struct weir_call *call, bool writes_result, bool reads_item,
				      enum call_state state, bool is_send_done)
{
	call->state = (uint8_t)state;
	call->expected_reply = writes_result ? EXPECTED_REPLY_ONE_WRITE : EXPECTED_REPLY_INLINE;
	call->is_send_done = is_send_done;
	call->is_exposed = writes_result || reads_item;
}

/* What a plan would say of such a call, whose header is written; 'state' is the call's from then
 * on. */
static hot_inline void call_plan_plain(struct weir_call *call, uint32_t header_bytes,
				       bool writes_result, bool reads_item, enum call_state state,
				       bool is_send_done)
{
	call->header = call->out.start - header_bytes;
	call->header_bytes = header_bytes;
	call->plan.form = reads_item ? REDUCE_CHUNKED : REDUCE_SHORT;
	call->plan.reduced = reads_item ? 1u << 1 : 0;
	call->plan.use_write_list = writes_result;
	call->plan.need_reply_chunk = false;
	call_set_plain(call, writes_result, reads_item, state, is_send_done);
}

static inline void call_set_deadline(struct weir_call *call, const struct weir_engine *engine)
{
	call->deadline_ns = engine->now_ns + call->timeout_ns;
}

#endif
