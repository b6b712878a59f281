/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_SHAPE_H
#define REQUEST_SHAPE_H

/*
 * Replies that have a shape (lib/proto/shape.h). Such a reply has no chunks, or it has one item
 * that is written to the only Write segment of the call. It needs no plan of the reducer, whose
 * result would be the same.
 *
 * The shape is a constant in each use of these functions. 'extra' is a constant in each use, too.
 * It is the number of bytes that a header of version 2 has more than one of version 1. This number
 * of bytes remains free before a header of version 1, so that a header of version 2 can be written
 * over it. For version 1, 'extra' is the constant 0 and costs nothing.
 *
 * 'conn' is the connection of the request. It is an argument, because the compiler would otherwise
 * load it from the request again after each store through a pointer to bytes.
 */

#include "request.h"

/* Returns the credits that the reply grants, if receives are shared. They are computed only once
 * for each reply, because credit_share_grant() counts them. */
static inline uint32_t request_grant_share(struct weir_request *req, struct weir_conn *conn)
{
	if (req->credit == 0)
		req->credit = credit_share_grant(&conn->srq->credits, &conn->share, req->hdr.credit,
						 req->responder->credits.limit);
	return req->credit;
}

/* Returns the credits that the reply grants. */
static inline uint32_t request_grant_of(struct weir_request *req, struct weir_conn *conn)
{
	if (conn->srq)
		return request_grant_share(req, conn);
	return credit_grant(&req->responder->credits, req->hdr.credit);
}

/*
 * Returns the length of a message with a header of header_bytes, followed by all that is encoded.
 */
static inline uint32_t request_message_bytes(const struct weir_request *req, uint32_t header_bytes)
{
	return header_bytes + (uint32_t)weir_xdr_out_len(&req->out);
}

/* Returns whether the call offers no memory for results, and the reply has no item. */
static inline bool request_has_no_chunks(const struct weir_request *req)
{
	return (req->nitems | req->hdr.nwrite_chunks | req->hdr.has_reply_chunk) == 0;
}

/* Returns whether the reply has one item and nothing after it, the call has one Write chunk of one
 * segment and no other chunk, the item fits in this segment, and the message without the item fits
 * inline. */
static inline bool request_fills_chunk(const struct weir_request *req, const struct weir_conn *conn,
				       uint32_t extra)
{
	const struct piece *item = &req->pieces[1];
	struct rdma1_segment seg;

	return req->npieces == 2 && item->kind == PIECE_ITEM && item->len > 0 &&
	       weir_xdr_out_len(&req->out) == req->pieces[0].len &&
	       request_message_bytes(req, RDMA1_ONE_WRITE_SIZE + extra) <= conn->send_inline &&
	       rdma1_is_one_write(&req->hdr, &seg) && item->len <= seg.length &&
	       (req->rpc.cred.flavor == WEIR_RPC_AUTH_NONE ||
		!rpc_auth_forbids_reduction(&req->rpc.cred));
}

/* Returns the segment of the Write chunk as the reply lists it, with the number of bytes that are
 * written. Without a Write chunk, returns zeros. */
static inline struct rdma1_segment request_chunk(const struct weir_request *req, enum shape shape)
{
	struct rdma1_segment seg = {0};

	if (shape == SHAPE_ONE_WRITE) {
		seg = rdma1_segment_at(req->hdr.writes + 8);
		seg.length = req->pieces[1].len;
	}
	return seg;
}

/* Stores the plan of a reply that has a shape, without Writes. The caller has already written the
 * item, or lists its Write afterwards. */
static inline void request_note_shape(struct weir_request *req, uint32_t header_bytes,
				      bool has_chunk)
{
	req->header_bytes = header_bytes;
	req->header = req->out.start - header_bytes;
	req->reduced = has_chunk ? 1u << 1 : 0;
	req->nxfers = 0;
	req->is_long = false;
}

/* Lays out a reply of a shape: stores its plan, lists the Write of its item, and encodes its
 * header. */
static hot_inline void request_lay_out_shape(struct weir_request *req, struct weir_conn *conn,
					     enum shape shape, uint32_t extra)
{
	const struct piece *item = &req->pieces[1];
	struct rdma1_segment seg = request_chunk(req, shape);

	request_note_shape(req, shape_header_bytes(shape) + extra, shape == SHAPE_ONE_WRITE);
	if (shape == SHAPE_ONE_WRITE) {
		req->xfers[0] = (struct reduce_xfer){item->base, item->lkey, item->len, seg.handle,
						     seg.offset};
		req->nxfers = 1;
		req->responder->engine->stats.write_chunks++;
	}
	shape_encode(req->header + extra, shape, req->hdr.xid, request_grant_of(req, conn), 0,
		     &seg);
}

/* Lays out a reply that has a shape, and returns true. The reply can then be sent or queued. If the
 * reply has no shape, the function does nothing and returns false. */
static hot_inline bool request_plan_shape(struct weir_request *req, struct weir_conn *conn,
					  uint32_t extra)
{
	if (request_has_no_chunks(req) &&
	    request_message_bytes(req, RDMA1_HEADER_MIN + extra) <= conn->send_inline)
		request_lay_out_shape(req, conn, SHAPE_INLINE, extra);
	else if (request_fills_chunk(req, conn, extra))
		request_lay_out_shape(req, conn, SHAPE_ONE_WRITE, extra);
	else
		return false;
	return true;
}

#endif
