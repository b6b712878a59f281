/* SPDX-License-Identifier: BSD-3-Clause */
/* Lays out and sends replies to requests by the extension: Transmit Response, in one transmission
 * or in several (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 section 9.3). */
#include <errno.h>

#include "request_ext.h"
#include "rtr_reduce.h"

/* Returns the description of the transmissions of a reply. A reply to a request with directions has
 * a header of its own, which was made when the reply was planned. */
static struct conn_group_out group_of(struct weir_request *req, uint32_t credit)
{
	const struct mem_buf *header_buf = req->header_buf ? req->header_buf : req->reply;

	return (struct conn_group_out){
		.xid = req->hdr.xid,
		.credit = credit,
		.direction = RDMA1_REPLY,
		.base = req->extension,
		.count = req->nsends,
		.split = {(uint32_t)piece_payload_bytes(req->pieces, req->npieces, req->reduced),
			  req->header_bytes, req->lead_bytes},
		.header = req->lists.nsets > 0 ? req->header : NULL,
		.header_lkey = header_buf->lkey,
		.pieces = req->pieces,
		.npieces = req->npieces,
		.reduced = req->reduced,
		.placed = req->placed,
		.bufs = req->group_bufs,
		.tx = &req->tx,
	};
}

int request_plan_rtr(struct weir_request *req, uint32_t credit)
{
	uint64_t bytes = piece_payload_bytes(req->pieces, req->npieces, 0);
	struct conn_group_out group;

	if (bytes > UINT32_MAX - 3)
		return -EMSGSIZE;
	if (bytes % WEIR_XDR_UNIT != 0)
		return -EINVAL;
	req->nxfers = 0;
	req->xfers_after = 0;
	req->reduced = 0;
	req->placed = 0;
	req->is_long = false;
	req->nsends = 0;
	req->header_bytes = RTR_XMTRESP_SIZE;
	req->lead_bytes = req->responder->conn->send_inline;
	group = group_of(req, credit);
	group.count = rtr_split_count(&group.split);
	if (group.count == 0 || group.count > req->reply_count_max)
		return -EMSGSIZE;
	req->nsends = group.count;
	if (group.count == 1) {
		req->header = req->out.start - RTR_XMTRESP_SIZE;
		conn_put_first(&group, (uint32_t)bytes, req->header);
		return 0;
	}
	req->apart_sges = conn_group_sges(req->responder->conn, &group);
	return request_take_group(req, credit);
}

/* Sets apart_sges. If the reply has one transmission, this is the number of elements (SGEs) of the
 * results in targets, in addition to one element for the rest of the transmission, which can be
 * copied to one buffer. If the reply has several transmissions, it is the number of the elements of
 * all transmissions. Returns false if the device cannot gather this number of elements. */
static bool can_gather(struct weir_request *req, const struct reduce_reply_plan *plan)
{
	const struct weir_conn *conn = req->responder->conn;
	const struct conn_placed placed = {req->pieces, req->npieces, req->placed, 1};
	uint32_t n, bytes = plan->header_bytes + plan->inline_bytes;
	struct fabric_sge sges[CONN_MSG_SGES] = {{0}};
	struct conn_group_out group;

	if (req->nsends > 1) {
		group = group_of(req, 0);
		req->apart_sges = conn_group_sges(conn, &group);
		return req->apart_sges != CONN_PLACE_NEVER;
	}
	n = conn_gather_placed(conn, sges, 1, conn->max_sge, &placed, 0, &bytes);
	req->apart_sges = n == CONN_PLACE_NEVER ? 0 : n - 1;
	return n != CONN_PLACE_NEVER;
}

/* Stores in the request the form that the reducer chose. If 'rc', the result of the reducer, is not
 * 0, stores that the reply has no such form. Returns false if the device cannot send the reply in
 * this form. */
static bool note_form(struct weir_request *req, int rc, const struct reduce_reply_plan *plan,
		      const struct rtr_reduce_form *form)
{
	req->nsends = rc == 0 ? form->count : 0;
	req->placed = rc == 0 ? form->placed : 0;
	if (req->nsends <= 1 && req->placed == 0)
		return true;
	req->reduced = plan->reduced;
	req->header_bytes = plan->header_bytes;
	req->lead_bytes = form->split.send_bytes_max;
	return can_gather(req, plan);
}

int request_reduce_rtr(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		       uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan)
{
	const struct rtr_header rtr = request_rtr_header(req);
	const struct conn_v2 *v2 = req->responder->conn->v2;
	struct rtr_reduce_reply reply = {
		.request = &rtr,
		.pieces = in->pieces,
		.npieces = in->npieces,
		.args_at = req->lists.args_at,
		.inline_bytes = req->responder->conn->send_inline,
		.credit = in->credit,
		.may_reduce = in->may_reduce,
		.first_xfer = in->first_xfer,
		.targets = v2->places ? &v2->peer.buffer : NULL,
		.count_max = req->reply_count_max,
	};
	struct rtr_reduce_form form;
	int rc = rtr_reduce_reply(&reply, buf, size, xfers, REQUEST_XFERS_MAX, plan, &form);

	if (note_form(req, rc, plan, &form))
		return rc;
	/* The reply is planned again without results in targets, because the device can gather any
	 * such reply. */
	reply.targets = NULL;
	rc = rtr_reduce_reply(&reply, buf, size, xfers, REQUEST_XFERS_MAX, plan, &form);
	(void)note_form(req, rc, plan, &form);
	return rc;
}

int request_take_group(struct weir_request *req, uint32_t credit)
{
	const struct conn_group_out group = group_of(req, credit);

	if (!conn_group_take_bufs(req->responder->conn, &group, &req->buf_waiter,
				  &req->group_bufs)) {
		/* A request that waits for buffers of the reserve must not hold one. */
		if (req->header_buf)
			mem_pool_put(req->header_buf);
		req->header_buf = NULL;
		return -ENOBUFS;
	}
	req->credit = credit;
	req->responder->engine->stats.continued_replies++;
	return 0;
}

bool request_group_fits(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	if (conn_tx_reserve(conn, req->nxfers + req->nsends, req->nxfers + req->apart_sges))
		return true;
	conn_wait_tx(conn, &req->tx_waiter, req->nxfers + req->nsends);
	return false;
}

void request_send_group(struct weir_request *req)
{
	const struct conn_group_out group = group_of(req, req->credit);

	conn_send_group(req->responder->conn, &group);
}
