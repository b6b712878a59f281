/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that can use version 2 (a table of operations), and the choice of the
 * table for a new connection. */
#include <errno.h>

#include "request_ext.h"
#include "request_shape.h"

_Static_assert(sizeof(struct rtr_read_iter) <= sizeof(union request_reads), "REQUEST_READS_WORDS");

static void v2_on_tick(struct weir_conn *conn, uint64_t now_ns)
{
	if (conn_group_is_late(conn, now_ns))
		request_drop_group(responder_of(conn));
}

/* Drops the open group, whose call has not arrived completely. */
static void v2_on_drain(struct weir_conn *conn)
{
	if (conn_group_break(conn))
		request_drop_group(responder_of(conn));
}

/* Lays a reply out again, because the requester has reported an error about it. Returns REPLY. If
 * the reply was not kept, sends an error for the call to which the report belongs, and returns
 * END. */
static enum request_next resend(struct weir_request *req, const struct rdma2_header *hdr)
{
	if (request_resend(req))
		return REQUEST_REPLY;
	conn_send_error(req->responder->conn, hdr, RDMA2_ERR_SYSTEM);
	return REQUEST_END;
}

/* Runs the steps that check a message, and returns the result of the last one. */
static enum request_next v2_receive_call(struct weir_request *req)
{
	struct responder *responder = req->responder;
	bool breaks_group = false;
	struct rdma2_header hdr;
	enum request_next next = request_judge_v2(req, &hdr, &breaks_group);

	if (next == REQUEST_GO_ON && conn_has_extension(responder->conn))
		next = request_receive_rtr(req, &hdr, &breaks_group);
	if (next == REQUEST_GO_ON)
		next = request_accept_v2(req, &hdr);
	if (next == REQUEST_RESEND)
		next = resend(req, &hdr);
	else if (next == REQUEST_REFUSED)
		/* before the group is dropped, so that the grant of the error is computed while the
		 * group holds its receives */
		next = request_error_v2(req);
	if (breaks_group)
		request_drop_group(responder);
	return next == REQUEST_BASE ? request_judge(req) : next;
}

/* Returns the answer to a request that is refused for the reason 'why': the error of its version,
 * or GARBAGE_ARGS for items that a call by the extension must not list. */
static enum request_next v2_refuse(struct weir_request *req, enum request_next why)
{
	struct reduce_reply_in in;
	uint32_t segment, bytes;

	if (why == REQUEST_BAD_ITEMS)
		return req->extension != 0 ? REQUEST_GARBAGE_ARGS : REQUEST_ERR_CHUNK;
	if (why != REQUEST_REFUSED && req->hdr.vers != RDMA2_VERSION)
		return REQUEST_ERR_CHUNK;
	/* The header of such a call can be parsed, so that the error is not RDMA2_ERR_BAD_XDR. */
	if (why == REQUEST_CANT_PULL)
		(void)request_refuse_v2(req, RDMA2_ERR_SYSTEM, 0, 0);
	if (why == REQUEST_CANT_REPLY) {
		in = request_reply_in(req);
		in.reply_inline_bytes -= RDMA2_EXTRA;
		reduce_reply_lack(&in, &segment, &bytes);
		(void)request_refuse_v2(req, RDMA2_ERR_REPLY_RESOURCE, segment, bytes);
	}
	return request_error_v2(req);
}

/* Releases what the request holds because of the extension, and clears the members for it, because
 * the next request of the object might belong to a connection without the extension. */
static void v2_release_request(struct weir_request *req)
{
	conn_group_put_bufs(&req->group_bufs);
	req->extension = 0;
	req->nsends = 0;
	req->placed = 0;
	req->has_chain = false;
	req->lists = (struct request_lists){0};
}

/* ---- items ---- */

static int v2_list_chunks(struct weir_request *req)
{
	return req->lists.nitems > 0 ? request_list_items(req)
				     : responder_version1.list_chunks(req);
}

static void v2_open_stream(struct weir_request *req)
{
	if (req->has_chain)
		request_read_sections(req);
	else
		request_open_stream(req);
}

static void v2_reads_begin(const struct weir_request *req, union request_reads *it)
{
	const struct rtr_header rtr = {.items = req->lists.items, .nitems = req->lists.nitems};

	if (req->lists.nitems > 0)
		rtr_reads_begin(&rtr, (struct rtr_read_iter *)it->items);
	else
		responder_version1.reads_begin(req, it);
}

static bool v2_reads_next(const struct weir_request *req, union request_reads *it,
			  struct rdma1_read_segment *seg)
{
	return req->lists.nitems > 0 ? rtr_reads_next((struct rtr_read_iter *)it->items, seg)
				     : responder_version1.reads_next(req, it, seg);
}

static int v2_collect_args(struct weir_request *req)
{
	uint32_t nread;
	int nparts;

	if (req->lists.nitems == 0)
		return responder_version1.collect_args(req);
	nparts = request_collect_items(req, &nread);
	req->responder->engine->stats.read_chunks += nread;
	return nparts;
}

/* ---- replies ---- */

/* Returns how many bytes longer the transport header of the reply is than that of version 1. */
static uint32_t extra_bytes(const struct weir_request *req)
{
	return req->hdr.vers == RDMA2_VERSION ? RDMA2_EXTRA : 0;
}

static bool v2_plan_shape(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;

	if (req->hdr.vers != RDMA2_VERSION)
		return request_plan_shape(req, conn, 0);
	/* A Send that invalidates a handle is not a plain Send, and a reply by the extension has
	 * another header. */
	if (req->inv_handle != 0 || req->extension != 0 ||
	    !request_plan_shape(req, conn, RDMA2_EXTRA))
		return false;
	rdma2_write_over(req->header, RDMA1_REPLY, 0);
	return true;
}

static int v2_reduce(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		     uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan)
{
	uint32_t extra = extra_bytes(req);
	struct reduce_reply_in shorter = *in;
	int rc;

	if (req->lists.nsets > 0)
		return request_reduce_rtr(req, in, buf, size, xfers, plan);
	shorter.reply_inline_bytes -= extra;
	rc = size < extra ? -ENOSPC
			  : reduce_reply(&shorter, buf + extra, size - extra, xfers,
					 REQUEST_XFERS_MAX, plan);
	if (rc != 0 || extra == 0)
		return rc;
	rdma2_write_over(buf, RDMA1_REPLY, 0);
	plan->header_bytes += extra;
	return 0;
}

/*
 * A call of version 2 names the key itself (draft-cel-nfsv4-rpcrdma-version-two-03 section 6.2.3).
 */
static uint32_t v2_key_to_end(const struct weir_request *req)
{
	if (req->hdr.vers != RDMA2_VERSION)
		return request_key_to_end(req);
	return req->responder->conn->may_invalidate ? req->inv_handle : 0;
}

static int v2_plan_reply(struct weir_request *req)
{
	struct weir_conn *conn = req->responder->conn;
	int rc;

	if (req->extension != 0 && req->lists.nsets == 0)
		return request_plan_rtr(req, request_grant_of(req, conn));
	rc = request_reduce(req);
	return rc == 0 && req->nsends > 1 ? request_take_group(req, request_grant_of(req, conn))
					  : rc;
}

static uint32_t v2_gather_placed(struct weir_request *req, struct fabric_sge *sges, uint32_t n,
				 uint32_t *bytes)
{
	const struct weir_conn *conn = req->responder->conn;
	const struct conn_placed placed = {req->pieces, req->npieces, req->placed, 1};

	return conn_gather_placed(conn, sges, n, conn->max_sge, &placed, 0, bytes);
}

static void v2_on_placed(struct weir_request *req)
{
	request_keep_placed(req);
	req->responder->engine->stats.placed_sent += (uint32_t)__builtin_popcount(req->placed);
}

static const struct conn_protocol version2 = {
	CONN_PROTOCOL_V2,
	.on_tick = v2_on_tick,
	.next_tick = conn_group_deadline,
	.begin_responder = placed_replies_join,
	.end_responder = placed_replies_leave,
	.on_drain = v2_on_drain,
	.receive_call = v2_receive_call,
	.refuse = v2_refuse,
	.release_request = v2_release_request,
	.begin_group = request_begin_group,
	.open_stream = v2_open_stream,
	.list_chunks = v2_list_chunks,
	.reads_begin = v2_reads_begin,
	.reads_next = v2_reads_next,
	.collect_args = v2_collect_args,
	.plan_shape = v2_plan_shape,
	.reduce = v2_reduce,
	.plan_reply = v2_plan_reply,
	.key_to_end = v2_key_to_end,
	.group_fits = request_group_fits,
	.send_group = request_send_group,
	.gather_placed = v2_gather_placed,
	.on_placed = v2_on_placed,
};

const struct conn_protocol *responder_protocol(const struct weir_engine *engine)
{
	return engine->profile.protocol == WEIR_PROTOCOL_V1 ? &responder_version1 : &version2;
}
