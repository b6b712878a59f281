/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends replies. The program has encoded its results and named its items (request_results.c). The
 * reducer then decides how each part is sent. The Writes are queued first and the Send after them,
 * all for one post. The receive of the call is given back before the post, so that a receive exists
 * for the credit that the reply grants (RFC 8166 section 3.3.1). */
#include "request_shape.h"

#include <errno.h>

#include "compiler.h"
#include "probe.h"
#include "request_stages.h"
#include "reserve.h"
#include "wire.h"

/* Lists in 'sges' the elements from which the Send is gathered: the transport header and, unless
 * the reply is Long, the pieces that are inline, with their padding. Returns the number of
 * elements, and sets *bytes to the length of the message. */
static uint32_t gather_reply(struct weir_request *req, struct fabric_sge *sges, uint32_t *bytes)
{
	struct weir_engine *engine = req->responder->engine;
	struct mem_buf *header_buf = req->header_buf ? req->header_buf : req->reply;
	uint32_t n = conn_gather(sges, 0, req->header, req->header_bytes, header_buf->lkey);

	*bytes = req->header_bytes;
	for (uint32_t i = 0; !req->is_long && i < req->npieces; i++) {
		struct piece *piece = &req->pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : weir_xdr_pad(piece->len);

		if (req->reduced & 1u << i || piece->len == 0)
			continue;
		n = conn_gather(sges, n, piece->base, piece->len, piece->lkey);
		if (pad)
			n = conn_gather(sges, n, engine->zeros->data, pad, engine->zeros->lkey);
		*bytes += piece->len + pad;
	}
	return n;
}

/* Gives back the receives of the call, if this was not done yet, and counts the grant of the reply
 * as sent. */
static inline void give_back_receive(struct weir_request *req, struct weir_conn *conn)
{
	if (!req->msg) {
		if (conn->srq)
			credit_share_goes(
				/* the receive was given back before, when the reply could not be
				 * sent */
				&conn->share);
		return;
	}
	if (unlikely(req->has_chain))
		conn_chain_done(conn, req->msg);
	else
		conn_recv_done(conn, req->msg);
	req->msg = NULL;
	if (conn->srq)
		credit_share_sent(&conn->srq->credits, &conn->share, req->credit);
}

/* Sends a reply that has a shape (shape.h) by direct operations: its Write, then the message, which
 * is contiguous. Returns true if the reply was sent. Returns false if its Send, and its Write
 * unless that was done, must be queued. */
static inline bool send_shape(struct weir_request *req, struct weir_conn *conn)
{
	uint32_t bytes = request_message_bytes(req, req->header_bytes);

	if (unlikely(conn->remote_invalidation))
		return false; /* the Send might have to invalidate a key */
	if (req->nxfers == 1) {
		const struct reduce_xfer *xfer = &req->xfers[0];
		const struct fabric_sge sge = {xfer->local, xfer->len, xfer->lkey};

		if (!conn_write_direct(conn, sge, xfer->handle, xfer->offset))
			return false;
		req->nxfers = 0;
	}
	give_back_receive(req, conn);
	if (!conn_send_direct(conn, req->header, bytes)) {
		if (conn->srq)
			credit_share_waits(&conn->share);
		return false;
	}
	return true;
}

struct reduce_reply_in request_reply_in(struct weir_request *req)
{
	const struct mem_buf *zeros = req->responder->engine->zeros;

	return (struct reduce_reply_in){
		.call = &req->hdr,
		.pieces = req->pieces,
		.npieces = req->npieces,
		.reply_inline_bytes = req->responder->conn->send_inline,
		.zeros = {.base = zeros->data, .len = ENGINE_ZEROS, .lkey = zeros->lkey},
		.credit = request_grant_of(req, req->responder->conn),
		.may_reduce = !rpc_auth_forbids_reduction(&req->rpc.cred),
	};
}

/* Sets the number of listed Writes, and of those that follow them. 'total' is the number of all
 * Writes of the reply. */
static void note_xfers(struct weir_request *req, uint32_t total)
{
	uint32_t left = total - req->xfers_done;

	req->nxfers = left < REQUEST_XFERS_MAX ? left : REQUEST_XFERS_MAX;
	req->xfers_after = left - req->nxfers;
}

/* Queues the listed Writes. */
static void post_writes(struct weir_request *req)
{
	for (uint32_t i = 0; i < req->nxfers; i++) {
		const struct reduce_xfer *xfer = &req->xfers[i];
		const struct fabric_sge sge = {xfer->local, xfer->len, xfer->lkey};

		conn_write(req->responder->conn, &sge, xfer->handle, xfer->offset, NULL);
	}
}

/* Queues the Writes of a reply with more Writes than can be listed at a time: queues the listed
 * Writes and lists the next ones, until the last list can be queued together with the Send. The
 * lists are made from the header of the call, which exists until the Send. Returns GO_ON, or WAIT
 * if the reply waits for room in the send queue or for the end of the connection. */
static enum request_next write_ahead(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	while (req->xfers_after > 0) {
		struct reduce_reply_in in = request_reply_in(req);
		struct reduce_reply_plan plan;

		if (!conn_tx_reserve(conn, req->nxfers, req->nxfers)) {
			conn_wait_tx(conn, &req->tx_waiter, req->nxfers);
			return REQUEST_WAIT;
		}
		post_writes(req);
		req->xfers_done += req->nxfers;
		in.first_xfer = req->xfers_done;
		/* This cannot fail, because the same header was written at the same address when
		 * the reply was laid out. */
		if (conn->protocol->reduce(req, &in, req->header, req->header_bytes, req->xfers,
					   &plan) != 0) {
			conn_fail(conn, -EIO);
			return REQUEST_WAIT;
		}
		note_xfers(req, plan.nxfers);
	}
	return REQUEST_GO_ON;
}

/* A call of version 1 has no field for the key to invalidate (RFC 8797 section 4.1). Therefore, the
 * first key in its chunk lists is taken. */
uint32_t request_key_to_end(const struct weir_request *req)
{
	const struct weir_conn *conn = req->responder->conn;
	struct rdma1_segment_iter segments;
	struct rdma1_read_segment read;
	struct rdma1_write_iter writes;
	struct rdma1_read_iter reads;
	struct rdma1_segment seg;

	if (!conn->remote_invalidation)
		return 0;
	rdma1_reads_begin(&req->hdr, &reads);
	if (rdma1_reads_next(&reads, &read))
		return read.target.handle;
	rdma1_writes_begin(&req->hdr, &writes);
	while (rdma1_writes_next(&writes, &segments))
		if (rdma1_segments_next(&segments, &seg))
			return seg.handle;
	rdma1_reply_begin(&req->hdr, &segments);
	return rdma1_segments_next(&segments, &seg) ? seg.handle : 0;
}

void request_wait_reserve(struct weir_request *req)
{
	struct responder *responder = req->responder;

	request_note_wait(req);
	engine_wait_unbounded(responder->engine, &responder->reserve_queue, &req->buf_waiter);
}

/* Reduces the number of elements to the number that the device can gather, by copying data to a
 * buffer. Returns false if the reply waits for this buffer. */
static bool coalesce_sges(struct weir_request *req, struct fabric_sge *sges, uint32_t *nsges)
{
	struct mem_buf **buf = req->header_buf ? &req->header_buf : &req->spill;

	if (conn_coalesce_sges(req->responder->conn, sges, nsges, buf,
			       &req->responder->reserve_queue, &req->buf_waiter) == 0)
		return true;
	request_note_wait(req);
	return false;
}

/* Queues the listed Writes and the Send of a reply. If 'places' is true, the Send also places
 * results in targets. Returns GO_ON, WAIT or END, as request_transmit() does. */
static hot_inline enum request_next send_reply(struct weir_request *req, const bool places)
{
	struct weir_conn *conn = req->responder->conn;
	struct fabric_sge sges[2 * REQUEST_PIECES_MAX + 1];
	const uint32_t apart = places ? req->apart_sges : 0;
	uint32_t nsges, bytes, rkey;

	if (unlikely(req->xfers_after > 0)) {
		enum request_next next = write_ahead(req);

		if (next != REQUEST_GO_ON)
			return next;
	}
	nsges = gather_reply(req, sges, &bytes);
	if (unlikely(!conn_tx_reserve(conn, req->nxfers + 1, req->nxfers + nsges + apart))) {
		conn_wait_tx(conn, &req->tx_waiter, req->nxfers + 1);
		return REQUEST_WAIT;
	}
	if (unlikely(nsges + apart > conn->max_sge) && !coalesce_sges(req, sges, &nsges))
		return REQUEST_WAIT;
	if (places) /* the plan has ensured that the device can gather these elements, too */
		nsges = conn->protocol->gather_placed(req, sges, nsges, &bytes);
	/* before give_back_receive(), after which the header of the call can be overwritten */
	rkey = conn->protocol->key_to_end(req);
	give_back_receive(req, conn);
	post_writes(req);
	req->wait_ns = 0;
	if (places)
		/* here, after all waits, so that it is called only once */
		conn->protocol->on_placed(req);
	if (rkey != 0)
		conn_send_inv(conn, sges, nsges, bytes, &req->tx, rkey);
	else
		conn_send(conn, sges, nsges, bytes, &req->tx, req->nxfers == 0);
	return REQUEST_GO_ON;
}

/* Sends a reply that has several Sends, or results that its Send places. */
static out_of_line enum request_next send_apart(struct weir_request *req)
{
	const struct conn_protocol *protocol = req->responder->protocol;

	if (req->nsends <= 1)
		return send_reply(req, true);
	if (req->xfers_after > 0) {
		enum request_next next = write_ahead(req);

		if (next != REQUEST_GO_ON)
			return next;
	}
	if (!protocol->group_fits(req))
		return REQUEST_WAIT;
	if (req->placed)
		protocol->on_placed(req);
	give_back_receive(req, req->responder->conn);
	post_writes(req);
	req->wait_ns = 0;
	protocol->send_group(req);
	return REQUEST_GO_ON;
}

enum request_next request_transmit(struct weir_request *req)
{
	enum request_next next = unlikely(req->nsends > 1 || req->placed != 0)
					 ? send_apart(req)
					 : send_reply(req, false);

	if (likely(next == REQUEST_GO_ON))
		request_note_posted(req);
	return next;
}

int request_reduce_base(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
			uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan)
{
	(void)req;
	return reduce_reply(in, buf, size, xfers, REQUEST_XFERS_MAX, plan);
}

int request_reduce(struct weir_request *req)
{
	const struct conn_protocol *protocol = req->responder->protocol;
	struct reduce_reply_plan plan;
	struct reduce_reply_in in = request_reply_in(req);
	/* The header is written to 'scratch', because its length is not known before, and is then
	 * copied so that it ends where the message begins. */
	uint8_t scratch[ENGINE_HEADROOM];
	int rc = protocol->reduce(req, &in, scratch, sizeof(scratch), req->xfers, &plan);

	if (rc == 0) {
		req->header = req->out.start - plan.header_bytes;
		memcpy(req->header, scratch, plan.header_bytes);
	} else if (rc == -ENOSPC) {
		req->header_buf = engine_reserve_get(req->responder->engine, &req->buf_waiter);
		if (!req->header_buf)
			return -ENOBUFS;
		req->header = req->header_buf->data;
		rc = protocol->reduce(req, &in, req->header, req->header_buf->size_bytes,
				      req->xfers, &plan);
	}
	if (rc != 0)
		return rc;
	req->header_bytes = plan.header_bytes;
	req->reduced = plan.reduced;
	req->is_long = plan.form == REDUCE_LONG;
	req->xfers_done = 0;
	note_xfers(req, plan.nxfers);
	return 0;
}

enum request_next request_plan(struct weir_request *req)
{
	struct engine_counters *stats = &req->responder->engine->stats;
	int rc = req->responder->protocol->plan_reply(req);

	req->must_plan = rc == -ENOBUFS;
	if (req->must_plan)
		return REQUEST_WAIT_RESERVE;
	/* -ENOSPC: the entries of the reply's header can be longer than the entries of the call
	 * that they answer. */
	if (unlikely(rc == -EMSGSIZE || rc == -ENOSPC))
		return REQUEST_CANT_REPLY;
	if (unlikely(rc != 0))
		return REQUEST_SYSTEM_ERROR;
	stats->long_replies += req->is_long;
	stats->write_chunks += (uint32_t)__builtin_popcount(req->reduced);
	stats->replies_sent++;
	PROBE3(request_replied, req->responder->conn->id, req->hdr.xid, req->rpc.proc);
	return REQUEST_TRANSMIT;
}

bool request_plan_base_shape(struct weir_request *req)
{
	return request_plan_shape(req, req->responder->conn, 0);
}

enum request_next request_lay_out(struct weir_request *req, struct weir_conn *conn)
{
	bool has_shape = conn->protocol->plan_shape(req);

	if (likely(has_shape)) {
		req->responder->engine->stats.replies_sent++;
		PROBE3(request_replied, conn->id, req->hdr.xid, req->rpc.proc);
		if (likely(send_shape(req, conn))) {
			request_note_posted(req);
			request_note_sent(req);
			return REQUEST_END;
		}
	}
	request_close_piece(req); /* the next steps expect all results in pieces */
	return has_shape ? REQUEST_TRANSMIT : request_plan(req);
}
