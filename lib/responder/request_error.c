/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies that are errors, of RPC or of the transport. An error has only a few words. It is encoded
 * in the request at once, and kept there until a buffer for its Send is free. It is never dropped
 * because the send pool is empty, because a requester must learn that there will be no other answer
 * (RFC 8166 section 4.5.4). */
#include "request_shape.h"
#include "reserve.h"

/* Takes a buffer for the error, possibly of the reserve, if the request has none, and initializes
 * the encoder on it. Returns false if no buffer is available. */
static bool take_buffer(struct weir_request *req)
{
	if (!req->reply)
		req->reply = engine_reserve_get(req->responder->engine, &req->buf_waiter);
	return req->reply && request_take_buffer(req, req->error_bytes);
}

enum request_next request_lay_error(struct weir_request *req)
{
	uint32_t bytes = req->error_bytes;

	if (!take_buffer(req))
		return REQUEST_WAIT_RESERVE;
	req->error_bytes = 0;
	if (!req->error_is_header) {
		req->flags.can_reply_fast =
			false; /* request_release() must end a wait of the error */
		weir_xdr_put_opaque_fixed(&req->out, req->error, bytes);
		return REQUEST_REPLY;
	}
	req->header = req->out.start;
	memcpy(req->header, req->error, bytes);
	req->header_bytes = bytes;
	req->nxfers = 0;
	req->xfers_after = 0;
	req->is_long = true; /* nothing follows the header */
	req->responder->engine->stats.errors_sent++;
	return REQUEST_TRANSMIT;
}

/* Encodes an RPC reply in req->error. */
static void put_rpc_error(struct weir_request *req, const struct weir_rpc_reply_header *reply)
{
	struct weir_xdr_out out;

	weir_xdr_out_init(&out, req->error, sizeof(req->error));
	rpc_reply_encode(&out, reply);
	req->error_bytes = (uint32_t)weir_xdr_out_len(&out);
	req->error_is_header = false;
}

void request_put_accept_stat(struct weir_request *req, enum weir_rpc_accept_stat stat)
{
	const struct weir_rpc_reply_header reply = {
		.xid = req->rpc.xid,
		.reply_stat = WEIR_RPC_MSG_ACCEPTED,
		.accept_stat = stat,
	};

	put_rpc_error(req, &reply);
}

void request_put_denied(struct weir_request *req, enum weir_rpc_auth_stat stat)
{
	const struct weir_rpc_reply_header reply = {
		.xid = req->rpc.xid,
		.reply_stat = WEIR_RPC_MSG_DENIED,
		.reject_stat = WEIR_RPC_AUTH_ERROR,
		.auth_stat = stat,
	};

	put_rpc_error(req, &reply);
}

/* Encodes an error with the supported range of versions: of RPC if is_rpc is true, otherwise of the
 * program. */
static void put_mismatch(struct weir_request *req, bool is_rpc, uint32_t low, uint32_t high)
{
	const struct weir_rpc_reply_header reply = {
		.xid = req->hdr.xid,
		.reply_stat = is_rpc ? WEIR_RPC_MSG_DENIED : WEIR_RPC_MSG_ACCEPTED,
		.reject_stat = WEIR_RPC_MISMATCH,
		.accept_stat = WEIR_RPC_PROG_MISMATCH,
		.low = low,
		.high = high,
	};

	put_rpc_error(req, &reply);
}

/* Finds the lowest and the highest version of a program, which can have several entries. Returns
 * false if the program has no entry. */
static bool find_versions(const struct program_table *table, uint32_t prog, uint32_t *low,
			  uint32_t *high)
{
	bool is_found = false;

	*low = UINT32_MAX;
	*high = 0;
	for (uint32_t i = 0; i < table->nprograms; i++) {
		const struct weir_program *program = &table->programs[i];

		if (program->prog != prog)
			continue;
		is_found = true;
		if (program->vers_low < *low)
			*low = program->vers_low;
		if (program->vers_high > *high)
			*high = program->vers_high;
	}
	return is_found;
}

/* Encodes the error for a call for which find_program() found no procedure: a wrong version of RPC,
 * an unknown program, an unknown version of the program, or an unknown procedure. */
static void put_not_found(struct weir_request *req)
{
	uint32_t low, high;

	if (req->rpc.rpcvers != WEIR_RPC_VERSION) {
		put_mismatch(req, true, WEIR_RPC_VERSION, WEIR_RPC_VERSION);
		return;
	}
	if (req->program)
		request_put_accept_stat(req, WEIR_RPC_PROC_UNAVAIL);
	else if (find_versions(req->responder->programs, req->rpc.prog, &low, &high))
		put_mismatch(req, false, low, high);
	else
		request_put_accept_stat(req, WEIR_RPC_PROG_UNAVAIL);
}

_Static_assert(RDMA1_ERR_VERS_SIZE <= REQUEST_ERROR_MAX, "the longest of version 1's");

/* Encodes RDMA_ERROR (RFC 8166 section 4.5), which consists only of a transport header: ERR_VERS if
 * 'which' is REQUEST_ERR_VERS, otherwise ERR_CHUNK. In a header of version 2, ERR_CHUNK means
 * RDMA2_ERR_BAD_XDR. */
static void put_transport_error(struct weir_request *req, enum request_next which)
{
	struct weir_conn *conn = req->responder->conn;
	uint32_t credit, low, high;

	req->error_is_header = true;
	if (request_is_gone(req))
		return;
	credit = request_grant_of(req, conn);
	conn->protocol->versions(conn, &low, &high);
	if (which == REQUEST_ERR_VERS)
		request_note_error_header(req,
					  rdma1_encode_err_vers(req->error, req->hdr.xid,
								req->hdr.vers, credit, low, high));
	else
		request_note_error_header(req, rdma1_encode_err_chunk(req->error, req->hdr.xid,
								      req->hdr.vers, credit));
}

void request_put_error(struct weir_request *req, enum request_next which)
{
	if (which == REQUEST_NOT_FOUND)
		put_not_found(req);
	else if (which == REQUEST_DENIED)
		request_put_denied(req, (enum weir_rpc_auth_stat)req->auth_stat);
	else if (which == REQUEST_GARBAGE_ARGS)
		request_put_accept_stat(req, WEIR_RPC_GARBAGE_ARGS);
	else if (which == REQUEST_SYSTEM_ERROR)
		request_put_accept_stat(req, WEIR_RPC_SYSTEM_ERR);
	else
		put_transport_error(req, which);
}
