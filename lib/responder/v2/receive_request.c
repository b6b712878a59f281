/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives requests by the extension: Transmit Request and its continuations
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 9.2 and 9.4). All sections in this file are of
 * this draft.
 *
 * The request object of the first transmission of a group gathers the other transmissions, in the
 * state GATHER. The request objects of the other transmissions are released at once. When the group
 * is complete, its payload is read from the receives without a copy: the decoder continues from one
 * receive to the next. Only an opaque that crosses from one receive to the next, and that must be
 * contiguous, is copied to a bulk buffer. The request possibly has to wait for this buffer, in the
 * state JOIN. After that, the request is processed like other requests, except for its reply.
 */
#include <errno.h>

#include "request_ext.h"
#include "rtr_place.h"
#include "xdr_ref.h"

/* Returns the offset of the arguments in a call with 'bytes' bytes of payload, of which 'left'
 * bytes follow the RPC header. The RPC header contains no items, so that its length is the
 * difference. If there are no arguments, returns the offset of the last byte of the call, because a
 * larger offset would not be inside the call. */
static uint32_t args_at(uint32_t bytes, uint32_t left)
{
	return bytes - (left > 0 ? left : 1);
}

/* Returns the offset of the arguments in a call whose first transmission is 'msg'. Returns 0 if the
 * message is not a call. A later step then finds the answer. */
static uint32_t find_args(const struct rtr_header *rtr, const uint8_t *msg)
{
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, rtr_payload(rtr, msg), rtr->pslen);
	if (rpc_call_decode(&in, &rpc) != 0)
		return 0;
	return args_at(rtr->pslen, (uint32_t)weir_xdr_remaining(&in));
}

/* Stores in the request what the header of a first transmission says about the call. */
static void note_first(struct weir_request *req, const struct rtr_header *rtr)
{
	const struct weir_profile *profile = &req->responder->engine->profile;
	uint32_t most =
		profile->extension & WEIR_EXTENSION_CONTINUATION ? profile->transmissions : 1;

	conn_chain_end(req->msg, req->msg_bytes, rtr->header_bytes, rtr->pslen);
	req->hdr.header_bytes = rtr->header_bytes;
	req->msg_bytes = rtr->header_bytes + rtr->pslen;
	req->inv_handle = 0;
	req->extension = rtr->base;
	req->op = 0;
	req->reply_count_max = rtr->rsbuf < most ? rtr->rsbuf : most;
	req->lists = (struct request_lists){
		rtr->items, rtr->sets, rtr->nitems, rtr->nsets, find_args(rtr, req->msg->data),
	};
	/* A call with items passes the stages of a pull, even if no item has to be read. */
	req->hdr.nread_chunks = req->hdr.nread_segments = (uint16_t)rtr->nitems;
}

/* Runs when all transmissions of a group have arrived. Returns whether items are not in the targets
 * in which the Sends of the transmissions should have placed them. If so, reports that to the
 * requester. */
static bool is_group_misplaced(const struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;
	struct rtr_received received[RTR_TRANSMISSIONS_MAX];
	uint32_t n = conn_chain_received(req->msg, received);
	const struct rtr_header rtr = request_rtr_header(req);
	struct rtr_report report;
	int rc;

	if (rtr.nitems == 0)
		return false;
	rc = rtr_place(&rtr, &conn->v2->mine, received, n, NULL, 0, &report);
	if (rc >= 0)
		return false;
	conn->ep.engine->stats.groups_broken++;
	if (rc == -EBADMSG)
		(void)conn_send_report(conn, &report, req->extension,
				       conn_first_grant(conn, req->hdr.credit));
	return true;
}

enum request_next request_begin_group(struct weir_request *req)
{
	struct responder *responder = req->responder;

	if (is_group_misplaced(req))
		return REQUEST_END;
	responder->conn->got_message = true;
	responder->engine->stats.requests_received++;
	responder->ncalls++;
	req->nparts = conn_chain_parts(req->msg, req->parts, &req->stream_bytes);
	if (req->lists.nitems > 0) {
		/* The payload is processed as if it were a Position Zero chunk, because it is not
		 * contiguous either. */
		req->hdr.has_position_zero = true;
		return REQUEST_PULL;
	}
	req->nchunks = 1; /* the bulk buffer for joined data is held as the buffer of a chunk */
	req->chunks[0] = (struct reassemble_chunk){.len_bytes = req->stream_bytes};
	req->chunk_bufs[0] = NULL;
	req->pull_bytes = 0;
	return REQUEST_JOIN_GROUP;
}

void request_read_sections(struct weir_request *req)
{
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in in;

	req->nparts = conn_chain_parts(req->msg, req->parts, &req->stream_bytes);
	weir_xdr_in_init_parts(&req->args, req->parts, req->nparts);
	xdr_in_join(&req->args, req->chunk_bufs[0]->data, req->chunk_bufs[0]->size_bytes);
	in = req->args;
	if (rpc_call_decode(&in, &rpc) == 0)
		req->lists.args_at = args_at(req->stream_bytes, (uint32_t)weir_xdr_remaining(&in));
}

/* Gives the receive of a transmission to the request that gathers the group. */
static void give_to_gathering(struct weir_request *req, const struct rtr_header *rtr)
{
	struct mem_buf *buf = req->msg;

	conn_chain_end(buf, req->msg_bytes, rtr->header_bytes, rtr->pslen);
	conn_chain_add(req->responder->gathering->msg, buf);
	req->msg = NULL;
}

/* Takes an accepted transmission: keeps its receive in the request of its group. Returns
 * GROUP_BEGUN for the first of several transmissions, GROUP_DONE for the last one, END for those
 * between them, and BEGIN for a call in one transmission. */
static enum request_next take(struct weir_request *req, const struct rtr_header *rtr,
			      enum rtr_action how)
{
	if (rtr->op != RTR_XMTREQ) {
		give_to_gathering(req, rtr);
		return how == RTR_ACTION_LAST ? REQUEST_GROUP_DONE : REQUEST_END;
	}
	note_first(req, rtr);
	if (how == RTR_ACTION_LAST)
		return REQUEST_BEGIN;
	req->has_chain = true;
	return REQUEST_GROUP_BEGUN;
}

/* Processes a report that the requester could not use a reply. If the report is about a reply to
 * the XID of the report, returns RESEND: the reply is sent again if it was kept. A reply in several
 * transmissions is not kept, because there is no Reply chunk for it (section 5.4). If the report is
 * not about a reply, returns DROP. Otherwise, sends an error that ends the call, and returns
 * END. */
static enum request_next on_report(struct weir_request *req, const struct rdma2_header *hdr,
				   const struct rtr_report *report)
{
	bool is_of_reply = report->bad.direction == RDMA1_REPLY && hdr->direction == RDMA1_CALL;

	req->responder->engine->stats.reports_received++;
	if (is_of_reply && report->bad.xid == hdr->lists.xid)
		return REQUEST_RESEND;
	if (!is_of_reply)
		return REQUEST_DROP;
	conn_send_error(req->responder->conn, hdr, RDMA2_ERR_SYSTEM);
	return REQUEST_END;
}

/* Returns whether this side does not support a call by the extension, because the entire payload of
 * the call would have to be read. The requester must use the base protocol instead. */
static bool is_beyond(const struct rtr_header *rtr)
{
	return rtr->op == RTR_XMTREQ && rtr->is_whole;
}

/* Returns whether items that a Send places are misplaced, and sets *report in this case. The items
 * must be in targets that this side has offered, and their data must have arrived there. The second
 * condition is not checked for the first of several transmissions, because the other transmissions
 * have not arrived yet. */
static bool is_misplaced(const struct weir_request *req, const struct rtr_header *rtr,
			 struct rtr_report *report)
{
	const struct rtr_received received = {req->msg_bytes, rtr->header_bytes + rtr->pslen};

	if (rtr->op != RTR_XMTREQ || rtr->nitems == 0)
		return false;
	return rtr_place(rtr, &req->responder->conn->v2->mine, rtr->count > 1 ? NULL : &received, 1,
			 NULL, 0, report) < 0;
}

/* Returns the limits of the lists in the header of a call by the extension. They are the limits of
 * the profile for chunks in the base protocol, with two exceptions: there are at most
 * REASSEMBLE_CHUNKS_MAX items, which is the length of req->chunks, and the number of sets has the
 * default limit of the extension. */
static struct rtr_limits limits_of(const struct weir_engine *engine)
{
	const struct rdma1_limits *base = &engine->limits;

	return (struct rtr_limits){
		.items_max = base->read_chunks_max < REASSEMBLE_CHUNKS_MAX ? base->read_chunks_max
									   : REASSEMBLE_CHUNKS_MAX,
		.sets_max = rtr_limits_default.sets_max,
		.set_items_max = base->write_chunks_max,
		.segments_max = base->segments_per_chunk_max,
		.read_bytes_max = base->read_bytes_max,
		.write_bytes_max = base->write_bytes_max,
	};
}

enum request_next request_receive_rtr(struct weir_request *req, const struct rdma2_header *hdr,
				      bool *breaks_group)
{
	struct responder *responder = req->responder;
	struct weir_conn *conn = responder->conn;
	const struct rtr_limits limits = limits_of(responder->engine);
	uint32_t reason = 0, count_max = responder->engine->group_max;
	enum rdma2_verdict verdict = RDMA2_V_ERR_INVAL_OPTION;
	struct rtr_header rtr = {0};
	struct rtr_report report;
	struct rtr_step step;
	bool has_op = false;

	if (hdr->lists.proc != RDMA2_OPTIONAL && !conn->v2->group.is_open)
		return REQUEST_GO_ON;
	if (hdr->lists.proc == RDMA2_OPTIONAL) {
		verdict = rtr_decode(req->msg->data, req->msg_bytes, hdr, &limits, &rtr, &reason);
		has_op = verdict == RDMA2_V_OK && rtr.op != RTR_XMTRESP;
	}
	if (conn->credits < count_max)
		count_max = conn->credits;
	conn_group_receive(conn, hdr, has_op ? &rtr : NULL, count_max,
			   conn_first_grant(conn, hdr->lists.credit), &step);
	*breaks_group |= step.drops_group;
	if (step.action == RTR_ACTION_DISCARD || (verdict == RDMA2_V_OK && rtr.op == RTR_XMTRESP) ||
	    verdict == RDMA2_V_DROP)
		return REQUEST_DROP;
	if (hdr->lists.proc != RDMA2_OPTIONAL)
		return REQUEST_GO_ON;
	if (!has_op) {
		request_note_invalid_v2(req, reason);
		return request_refuse_v2(req, rdma2_verdict_err(verdict), 0, 0);
	}
	if (rtr.op == RTR_REPTERR)
		return on_report(req, hdr, &rtr.report);
	if (is_beyond(&rtr)) {
		(void)conn_group_break(conn); /* later transmissions are discarded */
		return request_refuse_v2(req, RDMA2_ERR_INVAL_OPTION, 0, 0);
	}
	if (is_misplaced(req, &rtr, &report)) {
		(void)conn_group_break(conn);
		(void)conn_send_report(conn, &report, rtr.base,
				       conn_first_grant(conn, hdr->lists.credit));
		return REQUEST_END;
	}
	return take(req, &rtr, step.action);
}
