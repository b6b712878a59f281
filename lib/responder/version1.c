/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that speak version 1 alone. */
#include "request_shape.h"

static bool v1_begin_responder(struct weir_engine *engine)
{
	(void)engine;
	return true;
}

static void v1_end_responder(struct weir_engine *engine, const struct responder *responder)
{
	(void)engine;
	(void)responder;
}

static void v1_on_drain(struct weir_conn *conn)
{
	(void)conn;
}

/* Version 1 has one error for all that is wrong with chunks (RFC 8166 section 4.5). */
static enum request_next v1_refuse(struct weir_request *req, enum request_next why)
{
	(void)req;
	(void)why;
	return REQUEST_ERR_CHUNK;
}

static int v1_list_chunks(struct weir_request *req)
{
	return reassemble_chunks(&req->hdr, req->chunks, REASSEMBLE_CHUNKS_MAX);
}

static void v1_reads_begin(const struct weir_request *req, union request_reads *it)
{
	rdma1_reads_begin(&req->hdr, &it->list);
}

static bool v1_reads_next(const struct weir_request *req, union request_reads *it,
			  struct rdma1_read_segment *seg)
{
	(void)req;
	return rdma1_reads_next(&it->list, seg);
}

static int v1_collect_args(struct weir_request *req)
{
	struct weir_engine *engine = req->responder->engine;
	uint32_t first = req->hdr.has_position_zero, nread = req->nchunks - first;

	engine->stats.read_chunks += nread;
	engine->stats.long_calls += first;
	return reassemble_parts(req->stream, req->stream_bytes, req->chunks + first, nread,
				req->parts, REASSEMBLE_PARTS_MAX);
}

static bool v1_plan_shape(struct weir_request *req)
{
	return request_plan_shape(req, req->responder->conn, 0);
}

static int v1_reduce(struct weir_request *req, const struct reduce_reply_in *in, uint8_t *buf,
		     uint32_t size, struct reduce_xfer *xfers, struct reduce_reply_plan *plan)
{
	(void)req;
	return reduce_reply(in, buf, size, xfers, REQUEST_XFERS_MAX, plan);
}

const struct conn_protocol responder_version1 = {
	CONN_PROTOCOL_V1,
	.begin_responder = v1_begin_responder,
	.end_responder = v1_end_responder,
	.on_drain = v1_on_drain,
	.receive_call = request_judge,
	.refuse = v1_refuse,
	.list_chunks = v1_list_chunks,
	.open_stream = request_open_stream,
	.reads_begin = v1_reads_begin,
	.reads_next = v1_reads_next,
	.collect_args = v1_collect_args,
	.plan_shape = v1_plan_shape,
	.plan_reply = request_reduce,
	.reduce = v1_reduce,
	.key_to_end = request_key_to_end,
};
