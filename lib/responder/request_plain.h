/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REQUEST_PLAIN_H
#define REQUEST_PLAIN_H

/* Replies with nothing to plan, in the general way: what is short enough for one message, without
 * chunks or with the one that it fills. */

#include "request.h"

/* Where receives are shared: decided once, as it is accounted for. */
static inline uint32_t request_grant_share(struct weir_request *req, struct weir_conn *conn)
{
	if (req->credit == 0)
		req->credit = credit_share_grant(&conn->srq->credits, &conn->share, req->hdr.credit,
						 req->responder->credits.limit);
	return req->credit;
}

/* What the reply grants. 'conn' is the request's, here and below: what is written through pointers
 * to bytes would have it looked up anew each time. */
static inline uint32_t request_grant_of(struct weir_request *req, struct weir_conn *conn)
{
	if (conn->srq)
		return request_grant_share(req, conn);
	return credit_grant(&req->responder->credits, req->hdr.credit);
}

/* A reply without chunks, or with one item for the one Write chunk of one segment: nothing to plan.
 * 'extra' bytes are left in front of a header of version 1; a constant, so that version 1 does not
 * pay for it. */
static hot_inline bool request_plan_plain(struct weir_request *req, struct weir_conn *conn,
					  uint32_t extra)
{
	uint32_t room = conn->send_inline;
	struct rdma1_segment seg;

	if (req->nitems == 0 && req->hdr.nwrite_chunks == 0 && !req->hdr.has_reply_chunk &&
	    RDMA1_HEADER_MIN + extra + weir_xdr_out_len(&req->out) <= room) {
		req->header_bytes = RDMA1_HEADER_MIN + extra;
		req->header = req->out.start - req->header_bytes;
		req->reduced = 0;
		req->nxfers = 0;
		rdma1_encode_short(req->header + extra, req->hdr.xid, request_grant_of(req, conn));
	} else if (req->npieces == 2 && req->pieces[1].kind == PIECE_ITEM &&
		   weir_xdr_out_len(&req->out) == req->pieces[0].len &&
		   rdma1_is_one_write(&req->hdr, &seg) && req->pieces[1].len > 0 &&
		   req->pieces[1].len <= seg.length &&
		   RDMA1_ONE_WRITE_SIZE + extra + req->pieces[0].len <= room &&
		   !rpc_auth_forbids_reduction(&req->rpc.cred)) {
		req->xfers[0] = (struct reduce_xfer){req->pieces[1].base, req->pieces[1].lkey,
						     req->pieces[1].len, seg.handle, seg.offset};
		req->header_bytes = RDMA1_ONE_WRITE_SIZE + extra;
		req->header = req->out.start - req->header_bytes;
		req->reduced = 1u << 1;
		req->nxfers = 1;
		seg.length = req->pieces[1].len;
		rdma1_encode_one_write(req->header + extra, req->hdr.xid,
				       request_grant_of(req, conn), &seg);
		req->responder->engine->stats.write_chunks++;
	} else {
		return false;
	}
	req->is_long = false;
	return true;
}

#endif
