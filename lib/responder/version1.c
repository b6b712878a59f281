/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that use only version 1 (a table of operations). */
#include "request.h"

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

/* Returns the answer to a request that is refused. Version 1 has only one error for this, whatever
 * is wrong with the chunks of the request (RFC 8166 section 4.5). */
static enum request_next v1_refuse(struct weir_request *req, enum request_next why)
{
	(void)req;
	(void)why;
	return REQUEST_ERR_CHUNK;
}

const struct conn_protocol responder_version1 = {
	CONN_PROTOCOL_V1,
	.begin_responder = v1_begin_responder,
	.end_responder = v1_end_responder,
	.on_drain = v1_on_drain,
	.receive_call = request_judge,
	.refuse = v1_refuse,
	.list_chunks = request_list_read_chunks,
	.open_stream = request_open_stream,
	.reads_begin = request_reads_begin,
	.reads_next = request_reads_next,
	.collect_args = request_collect_read_chunks,
	.plan_shape = request_plan_base_shape,
	.plan_reply = request_reduce,
	.reduce = request_reduce_base,
	.key_to_end = request_key_to_end,
};
