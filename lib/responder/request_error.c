/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies that are errors, of RPC or of the transport. Each is a few words, made at once and kept
 * in the request until there is a buffer to send it in: a requester must learn that there will be
 * no other answer (RFC 8166 section 4.5.4), also where the send pool is dry.
 */
#include "responder.h"

#include "reserve.h"

static bool take_buffer(struct weir_request *req)
{
	if (!req->reply)
		req->reply = engine_reserve_get(req->responder->engine, &req->buf_waiter);
	return req->reply && request_take_buffer(req, req->error_bytes);
}

void request_send_error(struct weir_request *req)
{
	uint32_t bytes = req->error_bytes;

	if (request_is_gone(req)) {
		request_release(req);
		return;
	}
	if (!take_buffer(req)) {
		request_wait_reserve(req);
		return;
	}
	req->error_bytes = 0;
	if (!req->error_is_header) {
		req->flags.is_plain = false; /* it may have waited, which its release is to end */
		weir_xdr_put_opaque_fixed(&req->out, req->error, bytes);
		weir_request_reply(req);
		return;
	}
	req->header = req->out.start;
	memcpy(req->header, req->error, bytes);
	req->header_bytes = bytes;
	req->nxfers = 0;
	req->xfers_after = 0;
	req->is_long = true; /* nothing follows the header */
	req->responder->engine->stats.errors_sent++;
	request_transmit(req);
}

void request_reply_rpc_error(struct weir_request *req, const struct weir_rpc_reply_header *reply)
{
	struct weir_xdr_out out;

	if (req->replay)
		request_keep_error(req, reply);
	weir_xdr_out_init(&out, req->error, sizeof(req->error));
	rpc_reply_encode(&out, reply);
	req->error_bytes = (uint32_t)weir_xdr_out_len(&out);
	req->error_is_header = false;
	request_send_error(req);
}

void weir_request_reply_error(struct weir_request *req, enum weir_rpc_accept_stat stat)
{
	const struct weir_rpc_reply_header reply = {
		.xid = req->rpc.xid,
		.reply_stat = WEIR_RPC_MSG_ACCEPTED,
		.accept_stat = stat,
	};

	request_reply_rpc_error(req, &reply);
}

void weir_request_reply_denied(struct weir_request *req, enum weir_rpc_auth_stat stat)
{
	const struct weir_rpc_reply_header reply = {
		.xid = req->rpc.xid,
		.reply_stat = WEIR_RPC_MSG_DENIED,
		.reject_stat = WEIR_RPC_AUTH_ERROR,
		.auth_stat = stat,
	};

	request_reply_rpc_error(req, &reply);
}

void request_send_error_header(struct weir_request *req, uint32_t bytes)
{
	/* Of a reply that could not be planned: the message's own buffer has the header now. */
	if (req->header_buf)
		mem_pool_put(req->header_buf);
	req->header_buf = NULL;
	req->error_bytes = bytes;
	req->error_is_header = true;
	request_send_error(req);
}

_Static_assert(RDMA1_ERR_VERS_SIZE <= REQUEST_ERROR_MAX, "the longest of version 1's");

/* RDMA_ERROR (RFC 8166 section 4.5): header only. In a header of version 2, ERR_CHUNK is
 * RDMA2_ERR_BAD_XDR. */
void request_reply_transport_error(struct weir_request *req, enum rdma1_verdict verdict)
{
	uint32_t credit, low, high;

	if (request_is_gone(req)) {
		request_release(req);
		return;
	}
	credit = request_grant(req);
	req->responder->conn->protocol->versions(req->responder->conn, &low, &high);
	if (verdict == RDMA1_V_ERR_VERS)
		request_send_error_header(req,
					  rdma1_encode_err_vers(req->error, req->hdr.xid,
								req->hdr.vers, credit, low, high));
	else
		request_send_error_header(req, rdma1_encode_err_chunk(req->error, req->hdr.xid,
								      req->hdr.vers, credit));
}
