/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of connections that speak version 1 alone. */
#include "responder.h"

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

static enum request_next v1_refuse_pull(struct weir_request *req)
{
	(void)req;
	return REQUEST_ERR_CHUNK;
}

const struct conn_protocol responder_version1 = {
	CONN_PROTOCOL_V1,
	.begin_responder = v1_begin_responder,
	.end_responder = v1_end_responder,
	.on_drain = v1_on_drain,
	.refuse_pull = v1_refuse_pull,
};
