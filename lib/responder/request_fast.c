/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path of a request: one pass from the delivery of its message to its reply. What is not
 * covered here takes the general path (request.c).
 *
 * Most calls have the shape that their request object had before: they go to the same program, with
 * the same transport header but for XID, credits and segment, with AUTH_NONE. All of that is
 * compared; what is equal was checked and decoded then, and stands. The general path leaves behind
 * what the next call is compared with.
 *
 * Most replies are sent in one go: the request has waited for nothing, the connection is clear
 * (conn.h), and the reply has no chunks or one item for the one Write chunk of one segment.
 */
#include "request.h"
#include "shape.h"

#include "compiler.h"

/* ---- replies ---- */

/* Whether the reply changes no account: it grants what the one before did, its call's receive is
 * shown (conn.h), and nobody waits for what is released by it. Most are so, which leaves to send
 * it, and to release the request. */
static inline bool grant_unchanged(const struct weir_request *req,
				   const struct responder *responder, const struct weir_conn *conn)
{
	const struct engine_srq *srq = conn->srq;

	return req->msg == srq->delivering && srq->nfree <= srq->slack &&
	       TAILQ_EMPTY(&responder->pool->waiting) &&
	       credit_share_is_unchanged(&srq->credits, &conn->share, req->hdr.credit);
}

/* request_release() of such a one, whose receive was given back. 'grant_unchanged' and 'is_short'
 * are constants, here and below. */
static inline void release(struct weir_request *req, bool is_short, bool grant_unchanged)
{
	struct responder *responder = req->responder;
	struct request_pool *pool = responder->pool;

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

static inline uint32_t fast_reply_grant(const struct weir_request *req, struct responder *responder,
					struct weir_conn *conn, bool grant_unchanged)
{
	if (grant_unchanged)
		return req->hdr.credit;
	return credit_share_grant(&conn->srq->credits, &conn->share, req->hdr.credit,
				  responder->credits.limit);
}

/* The driver can't send it now: it is queued. */
static out_of_line void queue(struct weir_request *req, uint32_t header_bytes, uint32_t reduced)
{
	req->header = req->out.start - header_bytes;
	req->header_bytes = header_bytes;
	req->reduced = reduced;
	req->nxfers = 0;
	req->is_long = false;
	req->credit = wire_get_u32(req->header + 8);
	credit_share_waits(&req->responder->conn->share);
	request_close_piece(req);
	request_send(req);
}

/* The header is made, and pieces in 'reduced', a bit each, are where they belong. Behind the call
 * of the driver as little as can be is needed again of what is known here: that is what makes a
 * stack frame. */
static hot_inline void send(struct weir_request *req, struct weir_conn *conn, uint8_t *header,
			    uint32_t header_bytes, uint32_t bytes, uint32_t reduced,
			    uint32_t granted, bool is_short, bool grant_unchanged)
{
	if (grant_unchanged) {
		conn->srq->delivering = NULL;
	} else {
		conn_put_shared(conn, req->msg);
		credit_share_sent(&conn->srq->credits, &conn->share, granted);
		engine_srq_top_up(conn->srq);
	}
	req->msg = NULL;
	conn->ep.engine->stats.replies_sent++;
	if (likely(conn->ops->send_direct(conn->qp, header, bytes)))
		release(req, is_short, grant_unchanged);
	else
		queue(req, header_bytes, reduced);
}

static inline uint32_t reply_bytes(const struct weir_request *req, uint32_t header_bytes)
{
	return header_bytes + (uint32_t)weir_xdr_out_len(&req->out);
}

/* Without chunks in the reply, of so many bytes, which fit; 'is_short': nor in the call. */
static hot_inline void reply_short(struct weir_request *req, struct weir_conn *conn, uint32_t bytes,
				   bool is_short, bool grant_unchanged)
{
	uint32_t granted = fast_reply_grant(req, req->responder, conn, grant_unchanged);
	uint8_t *header = req->out.start - RDMA1_HEADER_MIN;

	rdma1_encode_short_msg(header, req->hdr.xid, granted);
	send(req, conn, header, RDMA1_HEADER_MIN, bytes, 0, granted, is_short, grant_unchanged);
}

static out_of_line void reply_regrant(struct weir_request *req, struct weir_conn *conn)
{
	uint32_t bytes = reply_bytes(req, RDMA1_HEADER_MIN);

	if (likely(bytes <= conn->send_inline))
		reply_short(req, conn, bytes, false, false);
	else
		request_reply(req, conn);
}

/* Whether the reply has one item, for the one chunk, and then the chunk as it goes back. */
static inline bool fills_chunk(const struct weir_request *req, const struct weir_conn *conn,
			       struct rdma1_segment *seg)
{
	const struct piece *item = &req->pieces[1];

	if (req->npieces != 2 || item->kind != PIECE_ITEM || item->len == 0 ||
	    weir_xdr_out_len(&req->out) != req->pieces[0].len ||
	    reply_bytes(req, RDMA1_ONE_WRITE_SIZE) > conn->send_inline ||
	    !rdma1_is_one_write(&req->hdr, seg) || item->len > seg->length ||
	    (req->rpc.cred.flavor != WEIR_RPC_AUTH_NONE &&
	     rpc_auth_forbids_reduction(&req->rpc.cred)))
		return false;
	seg->length = item->len;
	return true;
}

/* False: it can't be done now, and was not. */
static inline bool write_item(const struct weir_request *req, const struct weir_conn *conn,
			      const struct rdma1_segment *seg)
{
	const struct piece *item = &req->pieces[1];
	const struct fabric_sge sge = {item->base, item->len, item->lkey};

	return conn->ops->write_direct(conn->qp, sge, seg->handle, seg->offset);
}

static inline void encode_chunk(const struct weir_request *req, const struct rdma1_segment *seg,
				uint32_t granted)
{
	rdma1_encode_one_write_msg(req->out.start - RDMA1_ONE_WRITE_SIZE, req->hdr.xid, granted,
				   seg);
}

static hot_inline void send_with_item(struct weir_request *req, struct weir_conn *conn,
				      uint32_t granted, bool grant_unchanged)
{
	conn->ep.engine->stats.write_chunks++;
	send(req, conn, req->out.start - RDMA1_ONE_WRITE_SIZE, RDMA1_ONE_WRITE_SIZE,
	     reply_bytes(req, RDMA1_ONE_WRITE_SIZE), 1u << 1, granted, false, grant_unchanged);
}

static out_of_line void reply_item_regrant(struct weir_request *req, struct weir_conn *conn)
{
	struct rdma1_segment seg;
	uint32_t granted;

	if (!fills_chunk(req, conn, &seg) || !write_item(req, conn, &seg)) {
		request_reply(req, conn);
		return;
	}
	granted = fast_reply_grant(req, req->responder, conn, false);
	encode_chunk(req, &seg, granted);
	send_with_item(req, conn, granted, false);
}

/* Whether a plain request's reply can be sent at once. */
static inline bool can_reply_direct(const struct weir_request *req, const struct weir_conn *conn)
{
	return conn_can_send_direct(conn) && req->reply && !req->out.failed;
}

/* What fills_chunk() says, of a call that was told to have the chunk as it came. */
static inline bool fills_one_write(const struct weir_request *req, const struct weir_conn *conn)
{
	const struct piece *item = &req->pieces[1];

	return req->flags.has_one_write && req->npieces == 2 && item->kind == PIECE_ITEM &&
	       item->len - 1 < (uint32_t)req->hdr.write_bytes &&
	       weir_xdr_out_len(&req->out) == req->pieces[0].len &&
	       reply_bytes(req, RDMA1_ONE_WRITE_SIZE) <= conn->send_inline;
}

/* Such a one, which is even. The header before the item: the message is sent by loads that are
 * wider than the stores which made it, and wait for these to reach the cache; behind the item's,
 * which fill the processor's store buffer, that takes a while. */
static out_of_line void reply_item(struct weir_request *req, struct weir_conn *conn)
{
	struct rdma1_segment seg = rdma1_segment_at(req->hdr.writes + 8);

	seg.length = req->pieces[1].len;
	encode_chunk(req, &seg, req->hdr.credit);
	if (likely(write_item(req, conn, &seg)))
		send_with_item(req, conn, req->hdr.credit, true);
	else
		request_reply(req, conn);
}

/* Without chunks, of a call with some. */
static out_of_line void reply_bare(struct weir_request *req, struct weir_conn *conn)
{
	uint32_t bytes = reply_bytes(req, RDMA1_HEADER_MIN);

	if (bytes <= conn->send_inline && grant_unchanged(req, req->responder, conn))
		reply_short(req, conn, bytes, false, true);
	else
		reply_regrant(req, conn);
}

/* Of a call with chunks, or with an item. */
static out_of_line void reply_chunked(struct weir_request *req, struct weir_conn *conn)
{
	if (!can_reply_direct(req, conn))
		request_reply(req, conn);
	else if (fills_one_write(req, conn) && grant_unchanged(req, req->responder, conn))
		reply_item(req, conn);
	else if ((req->nitems | req->hdr.nwrite_chunks | req->hdr.has_reply_chunk) == 0)
		reply_bare(req, conn);
	else
		reply_item_regrant(req, conn);
}

/* Not one of those that most are. */
static out_of_line void fast_reply_other(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	if (!req->flags.can_reply_fast || !can_reply_direct(req, conn))
		request_reply(req, conn);
	else
		reply_regrant(req, conn);
}

void weir_request_reply(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;

	if (likely(request_can_reply_short(req))) {
		uint32_t bytes = reply_bytes(req, RDMA1_HEADER_MIN);

		if (likely(can_reply_direct(req, conn) && bytes <= conn->send_inline &&
			   grant_unchanged(req, responder, conn))) {
			reply_short(req, conn, bytes, true, true);
			return;
		}
	} else if (req->flags.can_reply_fast) {
		reply_chunked(req, conn);
		return;
	}
	fast_reply_other(req);
}

/* ---- messages that the device delivers ---- */

/* What request_receive() does of a call of the kind that its request had, up to its procedure.
 * False: there is no such one, which was answered. */
static hot_inline bool take_repeat(struct weir_request *req, struct weir_conn *conn,
				   const uint8_t *msg, uint32_t len, uint32_t header_bytes,
				   bool has_one_write)
{
	const struct weir_program *program = req->program;
	const uint8_t *call = msg + header_bytes;
	uint32_t proc = wire_get_u32(call + 20);

	req->hdr.xid = req->rpc.xid = wire_get_u32(msg);
	req->hdr.credit = wire_get_u32(msg + 8);
	/* Nobody looks at lists that are empty. */
	if (has_one_write) {
		req->hdr.writes = msg + RDMA1_FIXED_SIZE + 4;
		req->hdr.write_bytes = wire_get_u32(msg + 32);
	}
	req->rpc.proc = proc;
	req->args.p = call + WEIR_RPC_CALL_HEADER_MIN;
	req->args.end = msg + len;
	req->args.is_item = req->args.failed = false;
	req->args.nparts = 0; /* and if the program has set it up with parts of its own */
	req->args.later_bytes = 0;
	req->flags = (struct request_flags){.can_reply_fast = true,
					    .is_short = header_bytes == RDMA1_HEADER_MIN,
					    .has_one_write = has_one_write};
	conn->got_message = true;
	conn->ep.engine->stats.requests_received++;
	if (unlikely(proc >= program->nprocs)) {
		request_answer(req, REQUEST_NOT_FOUND);
		return false;
	}
	return true;
}

static hot_inline void handle_repeat(struct weir_request *req, struct weir_conn *conn,
				     const uint8_t *msg, uint32_t len, uint32_t header_bytes)
{
	const struct weir_program *program = req->program;

	if (!take_repeat(req, conn, msg, len, header_bytes, header_bytes == RDMA1_ONE_WRITE_SIZE))
		return;
	req->state = REQUEST_HANDLING;
	program->handle(req, program->arg);
}

/* The same of one with a Read segment. False: as receive_repeat(). */
static out_of_line bool pull_repeat(struct weir_request *req, struct weir_conn *conn,
				    const uint8_t *msg, uint32_t len)
{
	const struct rdma1_read_segment seg = {.position = wire_get_u32(msg + 20),
					       .target = rdma1_segment_at(msg + 24)};

	if (!shape_is_one_read_call(msg, len, &conn->ep.engine->limits, req->template.target))
		return false;
	req->hdr.reads = msg + RDMA1_FIXED_SIZE;
	req->hdr.read_bytes = seg.target.length;
	if (take_repeat(req, conn, msg, len, RDMA1_ONE_READ_SIZE, false))
		request_pull_repeat(req, &seg);
	return true;
}

/* False: it is of another kind, and nothing was done. */
static hot_inline bool receive_repeat(struct weir_request *req, struct responder *responder,
				      struct weir_conn *conn, const uint8_t *msg, uint32_t len)
{
	const struct program_table *programs = responder->programs;
	const struct request_template *template = &req->template;

	if (len < SHAPE_INLINE_CALL)
		return false;
	if (!shape_has_chunk(msg)) {
		if (template->shape != request_shape(programs, RDMA1_HEADER_MIN) ||
		    !shape_is_inline_call(msg, len, template->target))
			return false;
		handle_repeat(req, conn, msg, len, RDMA1_HEADER_MIN);
		return true;
	}
	if (template->shape != request_shape(programs, RDMA1_ONE_WRITE_SIZE))
		return template->shape == request_shape(programs, REQUEST_SHAPE_ONE_READ) &&
		       pull_repeat(req, conn, msg, len);
	if (!shape_is_one_write_call(msg, len, &conn->ep.engine->limits, template->target))
		return false;
	handle_repeat(req, conn, msg, len, RDMA1_ONE_WRITE_SIZE);
	return true;
}

static out_of_line void receive_first(struct weir_request *req)
{
	request_receive(req, req->responder->conn, req->msg, req->msg_bytes);
}

/* The request is not done with its message. */
static out_of_line bool hold_shown(struct weir_conn *conn)
{
	struct weir_request *req = responder_of(conn)->pool->shown;

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
	conn_deliver_begin(conn, buf);
	pool->free = req->next_free;
	pool->shown = req;
	responder->nbusy++;
	req->responder = responder;
	req->msg = buf;
	req->msg_bytes = len;
	if (!receive_repeat(req, responder, conn, buf->data, len))
		receive_first(req);
	return likely(!conn->srq->delivering) ? true : hold_shown(conn);
}
