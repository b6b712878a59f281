/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What most replies are, carried out in one go: of a request that has waited for nothing, by a quick connection (conn.h), without chunks or
 * with one item for the one Write chunk of one segment. What a reply is that goes the general way, it is here, too
 * (request_reply.c).
 */
#include "responder.h"

/* request_release() of such a one, whose receive was given back. */
static inline void release(struct weir_request *req, struct responder *responder, bool is_short)
{
	struct request_pool *pool = responder->pool;

	if (__builtin_expect(!TAILQ_EMPTY(&pool->waiting), 0)) {
		request_release(req);
		return;
	}
	mem_pool_put(req->reply);
	if (!is_short && req->nchunks > 0)
		request_put_chunks(req);
	responder->nbusy--;
	req->reply = NULL;
	req->user = NULL;
	req->is_plain = req->is_short = false;
	req->state = REQUEST_FREE;
	req->next_free = pool->free;
	pool->free = req;
}

static inline uint32_t grant(struct weir_request *req, struct responder *responder, struct weir_conn *conn)
{
	return credit_share_grant(&conn->shared->credits, &conn->share, req->hdr.credit,
				  responder->credits.limit);
}

/* The driver can't send it now: it is queued. */
static __attribute__((noinline)) void queue(struct weir_request *req, uint8_t *header, uint32_t reduced,
					    uint32_t granted)
{
	req->header = header;
	req->header_bytes = (uint32_t)(req->out.start - header);
	req->reduced = reduced;
	req->nxfers = 0;
	req->is_long = false;
	req->credit = granted;
	credit_share_waits(&req->responder->conn->share);
	request_close_piece(req);
	request_transmit(req);
}

/* The header is made, and pieces in 'reduced', a bit each, are where they belong. */
static inline void send(struct weir_request *req, struct responder *responder, struct weir_conn *conn,
			uint8_t *header, uint32_t bytes, uint32_t reduced, uint32_t granted, bool is_short)
{
	conn_put_shared(conn, req->msg);
	req->msg = NULL;
	credit_share_sent(&conn->shared->credits, &conn->share, granted);
	responder->engine->stats.replies_sent++;
	if (__builtin_expect(conn_send_quick(conn, header, bytes), 1))
		release(req, responder, is_short);
	else
		queue(req, header, reduced, granted);
}

/* Without chunks in the reply; 'is_short', a constant: nor in the call. */
static inline void reply_short(struct weir_request *req, struct responder *responder, struct weir_conn *conn,
			       bool is_short)
{
	uint8_t *header = req->out.start - RDMA1_HEADER_MIN;
	uint32_t bytes = (uint32_t)(req->out.p - header), granted;

	if (__builtin_expect(bytes > conn->send_inline, 0)) {
		request_reply_any(req, conn);
		return;
	}
	granted = grant(req, responder, conn);
	rdma1_encode_short(header, req->hdr.xid, granted);
	send(req, responder, conn, header, bytes, 0, granted, is_short);
}

/* Its item is written, then the rest. False: it is another, or can't be written now, and nothing was done. */
static inline bool reply_with_item(struct weir_request *req, struct responder *responder,
				   struct weir_conn *conn)
{
	const struct piece *item = &req->pieces[1];
	const struct fabric_sge sge = {item->base, item->len, item->lkey};
	uint8_t *header = req->out.start - RDMA1_ONE_CHUNK_SIZE;
	uint32_t bytes = RDMA1_ONE_CHUNK_SIZE + req->pieces[0].len, granted;
	struct rdma1_segment seg;

	if (req->npieces != 2 || item->kind != PIECE_ITEM || item->len == 0 ||
	    weir_xdr_out_len(&req->out) != req->pieces[0].len || bytes > conn->send_inline ||
	    !conn->ops->rdma_now || !rdma1_is_one_chunk(&req->hdr, &seg) || item->len > seg.length ||
	    (req->rpc.cred.flavor != WEIR_RPC_AUTH_NONE && rpc_auth_forbids_reduction(&req->rpc.cred)))
		return false;
	if (!conn->ops->rdma_now(conn->qp, FABRIC_WRITE, &sge, seg.handle, seg.offset))
		return false;
	granted = grant(req, responder, conn);
	rdma1_encode_chunk_used(header, req->hdr.xid, granted, req->hdr.writes, item->len);
	responder->engine->stats.write_chunks++;
	send(req, responder, conn, header, bytes, 1u << 1, granted, false);
	return true;
}

/* Of a call with chunks, or with an item. */
static __attribute__((noinline)) void reply_chunked(struct weir_request *req, struct responder *responder,
						    struct weir_conn *conn)
{
	if ((req->nitems | req->hdr.nwrite_chunks | req->hdr.has_reply_chunk) == 0)
		reply_short(req, responder, conn, false);
	else if (!reply_with_item(req, responder, conn))
		request_reply_any(req, conn);
}

void weir_request_reply(struct weir_request *req)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;

	if (!(req->is_plain && conn && conn->is_quick && conn->nwrs == 0 && req->reply && !req->out.failed))
		request_reply_any(req, conn);
	else if (req->is_short)
		reply_short(req, responder, conn, true);
	else
		reply_chunked(req, responder, conn);
}
