/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests by the extension: Transmit Request with its continuations
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 9.2 and 9.4), and their replies, Transmit
 * Response (9.3).
 *
 * The request object of a group's first transmission gathers the others (GATHER); those of the
 * others are given back at once. When the group is whole, its payload is read where it lies: the
 * decoder goes from one receive to the next. Only an opaque that crosses from one to the next and
 * is wanted in one piece is put together, in a bulk buffer, which the request may have to wait for
 * (JOIN). From there on it is a request like others, but for its reply.
 */
#include <errno.h>

#include "request_ext.h"
#include "rtr_place.h"
#include "rtr_reduce.h"
#include "rtr_stream.h"
#include "xdr_ref.h"

void request_drop_group(struct responder *responder)
{
	struct weir_request *req = responder->gathering;

	responder->gathering = NULL;
	if (req)
		request_release(req);
}

void request_group_tick(struct responder *responder, uint64_t now_ns)
{
	if (conn_group_is_late(responder->conn, now_ns))
		request_drop_group(responder);
}

void request_group_break(struct responder *responder)
{
	if (conn_group_break(responder->conn))
		request_drop_group(responder);
}

/* ---- coming in ---- */

/* Where the arguments begin of a call with so many bytes of payload, of which that many are behind
 * its RPC header: nothing is taken out of that. Without any, at its last byte: a position behind
 * that is in no range, not even in that of the whole call. */
static uint32_t args_at(uint32_t bytes, uint32_t left)
{
	return bytes - (left > 0 ? left : 1);
}

/* The same of a first transmission. What is no call finds its answer later. */
static uint32_t find_args(const struct rtr_header *rtr, const uint8_t *msg)
{
	struct weir_rpc_call_header rpc;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, rtr_payload(rtr, msg), rtr->pslen);
	if (rpc_call_decode(&in, &rpc) != 0)
		return 0;
	return args_at(rtr->pslen, (uint32_t)weir_xdr_remaining(&in));
}

/* A first transmission: what the header says of the call. */
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
	/* With items it is one to be pulled, even where nothing has to be read for that. */
	req->hdr.nread_chunks = req->hdr.nread_segments = (uint16_t)rtr->nitems;
}

static struct rtr_header header_of(const struct weir_request *req)
{
	return (struct rtr_header){
		.xid = req->hdr.xid,
		.direction = RDMA1_CALL,
		.base = req->extension,
		.count = RTR_TRANSMISSIONS_MAX,
		.nitems = req->lists.nitems,
		.items = req->lists.items,
		.nsets = req->lists.nsets,
		.sets = req->lists.sets,
	};
}

/* Whether items are not where the Sends of all transmissions, which are here, should have placed
 * them: then that is reported. */
static bool is_group_misplaced(const struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;
	struct rtr_received received[RTR_TRANSMISSIONS_MAX];
	uint32_t n = conn_chain_received(req->msg, received);
	const struct rtr_header rtr = header_of(req);
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

/* All of its payload is here, in several receives. */
static void begin_group(struct weir_request *req)
{
	struct responder *responder = req->responder;
	uint64_t now_ns = responder->engine->now_ns;

	if (is_group_misplaced(req)) {
		request_release(req);
		return;
	}
	responder->conn->got_message = true;
	responder->engine->stats.requests_received++;
	req->nparts = conn_chain_parts(req->msg, req->parts, &req->stream_bytes);
	if (req->lists.nitems > 0) {
		req->hdr.has_position_zero =
			true; /* the payload is no more contiguous than if it were one */
		req->state = REQUEST_FREE;
		request_pull(req);
		return;
	}
	req->nchunks = 1; /* the bulk buffer is held as one that a chunk is pulled to */
	req->chunks[0] = (struct reassemble_chunk){.len_bytes = req->stream_bytes};
	req->chunk_bufs[0] = NULL;
	req->pull_bytes = 0;
	req->pull_since_ns = now_ns ? now_ns : 1;
	req->is_pulling = false;
	responder->npulling++;
	req->state = REQUEST_JOIN;
	request_join(req);
}

void request_join(struct weir_request *req)
{
	int rc = request_own_buffers(req, 1);

	if (rc == -EAGAIN)
		return;
	if (rc != 0) {
		request_reply_error_v2(req, RDMA2_ERR_SYSTEM, 0, 0);
		return;
	}
	request_pull_end(req);
	request_read_parts(req);
	if (!request_find_program(req, &req->args))
		return;
	request_note_args(req, &req->args);
	request_dispatch(req, 0);
}

void request_note_args(struct weir_request *req, const struct weir_xdr_in *in)
{
	req->lists.args_at = args_at(req->stream_bytes, (uint32_t)weir_xdr_remaining(in));
}

void request_read_sections(struct weir_request *req, struct weir_xdr_in *in)
{
	req->nparts = conn_chain_parts(req->msg, req->parts, &req->stream_bytes);
	weir_xdr_in_init_parts(in, req->parts, req->nparts);
	xdr_in_join(in, req->chunk_bufs[0]->data, req->chunk_bufs[0]->size_bytes);
}

int request_list_sections(struct weir_request *req)
{
	const struct rtr_header rtr = header_of(req);
	struct rtr_stream_item items[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part sections[RTR_TRANSMISSIONS_MAX];
	uint32_t nsections, bytes, n = 0;
	struct rtr_item item;
	struct rtr_iter it;

	nsections = conn_chain_parts(req->msg, sections, &bytes);
	rtr_items_begin(&rtr, &it);
	for (; rtr_items_next(&it, &item); n++) /* behind the payload's place in the list */
		items[n] = (struct rtr_stream_item){item.disp, item.length, req->chunks[n + 1].dst};
	return rtr_stream_parts(sections, nsections, items, n, req->parts, REQUEST_PARTS_MAX);
}

/* Its buffer is the gathering request's from here on. */
static void give_to_gathering(struct weir_request *req, const struct rtr_header *rtr)
{
	struct mem_buf *buf = req->msg;

	conn_chain_end(buf, req->msg_bytes, rtr->header_bytes, rtr->pslen);
	conn_chain_add(req->responder->gathering->msg, buf);
	req->msg = NULL;
	request_release(req);
}

static void take(struct weir_request *req, const struct rtr_header *rtr, enum rtr_take how)
{
	struct responder *responder = req->responder;
	bool is_first = rtr->op == RTR_XMTREQ;

	if (is_first) {
		note_first(req, rtr);
		if (how == RTR_TAKE_LAST) {
			request_begin(req);
			return;
		}
		req->is_group = true;
		req->state = REQUEST_GATHER;
		responder->gathering = req;
		return;
	}
	give_to_gathering(req, rtr);
	if (how != RTR_TAKE_LAST)
		return;
	req = responder->gathering;
	responder->gathering = NULL;
	begin_group(req);
}

/* The requester could not make sense of a reply: it is sent again where it is kept. One that was
 * continued has no Reply chunk to go to: that call ends (section 5.4). */
static void on_report(struct weir_request *req, const struct rdma2_header *hdr,
		      const struct rtr_report *report)
{
	struct weir_engine *engine = req->responder->engine;

	bool is_of_reply = report->bad.direction == RDMA1_REPLY && hdr->direction == RDMA1_CALL;

	engine->stats.reports_received++;
	if (is_of_reply && report->bad.xid == hdr->lists.xid && request_resend(req))
		return;
	if (is_of_reply)
		conn_send_error(req->responder->conn, hdr, RDMA2_ERR_SYSTEM);
	else
		engine->stats.dropped++;
	request_release(req);
}

/* What is not done here: a whole call that is to be read. The requester is to go by the base
 * protocol. */
static bool is_beyond(const struct rtr_header *rtr)
{
	return rtr->op == RTR_XMTREQ && rtr->is_whole;
}

/* Items of a request that are placed by Sends: in targets that this side has told of, and there;
 * the latter of the first of several transmissions is not known yet. */
static bool is_misplaced(const struct weir_request *req, const struct rtr_header *rtr,
			 struct rtr_report *report)
{
	const struct rtr_received received = {req->msg_bytes, rtr->header_bytes + rtr->pslen};

	if (rtr->op != RTR_XMTREQ || rtr->nitems == 0)
		return false;
	return rtr_place(rtr, &req->responder->conn->v2->mine, rtr->count > 1 ? NULL : &received, 1,
			 NULL, 0, report) < 0;
}

/* What a call may list is bounded as chunks are. */
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

bool request_receive_rtr(struct weir_request *req, const struct rdma2_header *hdr)
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
		return false;
	if (hdr->lists.proc == RDMA2_OPTIONAL) {
		verdict = rtr_decode(req->msg->data, req->msg_bytes, hdr, &limits, &rtr, &reason);
		has_op = verdict == RDMA2_V_OK && rtr.op != RTR_XMTRESP;
	}
	if (conn->credits < count_max)
		count_max = conn->credits;
	conn_group_receive(conn, hdr, has_op ? &rtr : NULL, count_max,
			   conn_first_grant(conn, hdr->lists.credit), &step);
	if (step.drops_group)
		request_drop_group(responder);
	if (step.take == RTR_TAKE_DISCARD || (verdict == RDMA2_V_OK && rtr.op == RTR_XMTRESP) ||
	    verdict == RDMA2_V_DROP) {
		responder->engine->stats.dropped++;
		request_release(req);
	} else if (hdr->lists.proc != RDMA2_OPTIONAL) {
		return false;
	} else if (!has_op) {
		request_count_refused_v2(responder->engine, reason);
		request_reply_error_v2(req, rdma2_verdict_err(verdict), 0, 0);
	} else if (rtr.op == RTR_REPTERR) {
		on_report(req, hdr, &rtr.report);
	} else if (is_beyond(&rtr)) {
		(void)conn_group_break(conn); /* what follows is discarded */
		request_reply_error_v2(req, RDMA2_ERR_INVAL_OPTION, 0, 0);
	} else if (is_misplaced(req, &rtr, &report)) {
		(void)conn_group_break(conn);
		(void)conn_send_report(conn, &report, rtr.base,
				       conn_first_grant(conn, hdr->lists.credit));
		request_release(req);
	} else {
		take(req, &rtr, step.take);
	}
	return true;
}

/* ---- items ---- */

int request_list_items(struct weir_request *req)
{
	const struct rtr_header rtr = header_of(req);
	struct rtr_item item;
	struct rtr_iter it;
	int n = 0;

	if (rtr.nitems + req->is_group > REASSEMBLE_CHUNKS_MAX)
		return -E2BIG;
	if (req->is_group)
		req->chunks[n++] = (struct reassemble_chunk){.len_bytes = req->stream_bytes};
	/* They are in their order. */
	rtr_items_begin(&rtr, &it);
	while (rtr_items_next(&it, &item)) {
		struct reassemble_chunk *chunk = &req->chunks[n++];
		struct rdma1_segment seg;

		*chunk = (struct reassemble_chunk){.position = item.disp};
		while (rdma1_segments_next(&item.segments, &seg))
			chunk->len_bytes += seg.length;
		if (item.type != RTR_TBSN)
			continue;
		chunk->len_bytes = item.length;
		chunk->dst = conn_find_placed(req->responder->conn, &item, req->msg);
		req->has_asked = true;
	}
	return n;
}

uint32_t request_collect_items(struct weir_request *req)
{
	const struct rtr_header rtr = header_of(req);
	uint32_t i = req->is_group, placed = 0;
	struct rtr_item item;
	struct rtr_iter it;

	rtr_items_begin(&rtr, &it);
	for (; rtr_items_next(&it, &item); i++) {
		placed += item.type == RTR_TBSN;
		if (item.type == RTR_TBSN && req->chunk_bufs[i])
			conn_copy_placed(req->responder->conn, &item, req->msg, req->chunks[i].dst);
	}
	req->responder->engine->stats.placed_received += placed;
	return placed;
}

/* ---- going out ---- */

/* A reply with directions has a header of its own, which is made with its plan. */
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
	req->is_apart = false;
	req->header_bytes = RTR_XMTRESP_SIZE;
	req->lead_bytes = req->responder->conn->send_inline;
	group = group_of(req, credit);
	group.count = rtr_split_count(&group.split);
	if (group.count == 0 || group.count > req->reply_count_max)
		return -EMSGSIZE;
	req->nsends = group.count;
	req->is_apart = group.count > 1;
	if (group.count == 1) {
		req->header = req->out.start - RTR_XMTRESP_SIZE;
		conn_put_first(&group, (uint32_t)bytes, req->header);
		return 0;
	}
	req->apart_sges = conn_group_sges(req->responder->conn, &group);
	return request_take_group(req, credit);
}

/* Elements that the results in targets take, behind one for all else of their transmission, which
 * can be put into one buffer; or all elements of several transmissions. False: the device gathers
 * fewer. */
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

/* What the reducer has made of it; or, with rc other than 0, nothing. False: it can't be sent so.
 */
static bool note_form(struct weir_request *req, int rc, const struct reduce_reply_plan *plan,
		      const struct rtr_reduce_form *form)
{
	req->nsends = rc == 0 ? form->count : 0;
	req->placed = rc == 0 ? form->placed : 0;
	req->is_apart = req->nsends > 1 || req->placed != 0;
	if (!req->is_apart)
		return true;
	req->reduced = plan->reduced;
	req->header_bytes = plan->header_bytes;
	req->lead_bytes = form->split.send_bytes_max;
	return can_gather(req, plan);
}

int request_reduce_rtr(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		       uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan)
{
	const struct rtr_header rtr = header_of(req);
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
	/* Without results in targets a device gathers anything. */
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
		/* Who waits holds none. */
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
	req->state = REQUEST_REPLYING;
	conn_wait_tx(conn, &req->tx_waiter, req->nxfers + req->nsends);
	return false;
}

void request_send_group(struct weir_request *req)
{
	const struct conn_group_out group = group_of(req, req->credit);

	conn_send_group(req->responder->conn, &group);
}
