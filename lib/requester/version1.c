/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the requester for connections that speak only version 1 (lib/conn/protocol.h).
 */
#include "call_read_reply.h"
#include "requester.h"

static uint32_t v1_first_credits(const struct weir_conn *conn)
{
	(void)conn;
	return 0;
}

static void v1_on_suspend(struct weir_conn *conn)
{
	(void)conn;
}

static enum resend v1_claim_credits(struct weir_call *call)
{
	(void)call;
	return RESEND_NOW;
}

static void v1_release_call(struct weir_call *call)
{
	(void)call;
}

static uint32_t v1_find_handles(const struct weir_call *call, uint8_t **handles, uint32_t max,
				uint8_t **inv_handle)
{
	(void)inv_handle;
	return rdma1_handles(call->header, handles, max);
}

static enum reply_kind v1_receive_reply(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
					uint32_t inv_rkey, bool is_again, struct reply_in *in)
{
	enum rdma1_reason reason;

	(void)inv_rkey;
	(void)is_again;
	in->verdict = rdma1_decode(buf->data, len, RDMA1_REPLY, &conn->ep.engine->limits, &in->hdr,
				   &reason);
	return REPLY_MESSAGE;
}

const struct conn_protocol requester_version1 = {
	CONN_PROTOCOL_V1,
	.first_credits = v1_first_credits,
	.on_suspend = v1_on_suspend,
	.prepare_shape = call_prepare_shape,
	.write_header = call_write_header,
	.send = call_send,
	.claim_credits = v1_claim_credits,
	.release_call = v1_release_call,
	.find_handles = v1_find_handles,
	.receive_reply = v1_receive_reply,
};
