/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes the RPC header of a call (RFC 5531 section 9), and finds the program for the call. */
#include "request.h"

#include "compiler.h"

/* Returns the program with the number and version in the call, or NULL if there is none. */
static inline const struct weir_program *program_find(const struct program_table *table,
						      const struct weir_rpc_call_header *rpc)
{
	for (uint32_t i = 0; i < table->nprograms; i++) {
		const struct weir_program *program = &table->programs[i];

		if (program->prog == rpc->prog && rpc->vers >= program->vers_low &&
		    rpc->vers <= program->vers_high)
			return program;
	}
	return NULL;
}

/* Finds the program of a call whose RPC header is decoded. Returns GO_ON, ERR_CHUNK if the XIDs of
 * the two headers differ, or NOT_FOUND if there is no such program or procedure. */
static hot_inline enum request_next find_program(struct weir_request *req)
{
	if (unlikely(req->rpc.xid != req->hdr.xid))
		return REQUEST_ERR_CHUNK;
	req->program = program_find(req->responder->programs, &req->rpc);
	if (unlikely(req->rpc.rpcvers != WEIR_RPC_VERSION || !req->program ||
		     req->rpc.proc >= req->program->nprocs))
		return REQUEST_NOT_FOUND;
	request_begin_time(req);
	return REQUEST_GO_ON;
}

/* Returns whether the message at 'in' is an RPC reply. If a reply was sent in a Read chunk or in
 * several transmissions, only its body shows that it is a reply. */
static bool is_reply(struct weir_xdr_in in)
{
	uint32_t xid, type;

	return weir_xdr_get_u32(&in, &xid) == 0 && weir_xdr_get_u32(&in, &type) == 0 &&
	       type == WEIR_RPC_REPLY;
}

/* Decodes a call that is not a plain one (rpc_is_plain_call()), and finds its program. The function
 * is out of line, because such calls are rarer. Returns the same results as find_program(), DENIED
 * for a credential that is not accepted, or DROP for a reply. */
static out_of_line enum request_next find_other(struct weir_request *req, struct weir_xdr_in *in)
{
	const struct weir_xdr_in begin = *in;
	int rc = rpc_call_decode(in, &req->rpc);

	if (likely(rc == 0))
		return find_program(req);
	/* The message is a reply. A responder makes no calls, so that the reply answers nothing,
	 * and an RDMA_ERROR would answer nothing either (RFC 8167 section 4). */
	if (is_reply(begin))
		return REQUEST_DROP;
	/* The message is not an RPC call. Therefore, no RPC reply to it is possible (RFC 8166
	 * section 4.5.2). */
	if (rc < 0 || req->rpc.xid != req->hdr.xid)
		return REQUEST_ERR_CHUNK;
	req->auth_stat = (uint32_t)rc;
	return REQUEST_DENIED;
}

enum request_next request_find_program(struct weir_request *req, struct weir_xdr_in *in)
{
	if (unlikely(!rpc_is_plain_call(in)))
		return find_other(req, in);
	rpc_decode_plain_call(in, &req->rpc);
	return find_program(req);
}

static out_of_line enum request_next find_unshaped(struct weir_request *req, bool *is_shaped)
{
	*is_shaped = false;
	return find_other(req, &req->args);
}

enum request_next request_find_inline(struct weir_request *req, bool *is_shaped)
{
	uint32_t header_bytes = req->hdr.header_bytes;

	weir_xdr_in_init(&req->args, req->msg->data + header_bytes, req->msg_bytes - header_bytes);
	if (unlikely(!rpc_is_plain_call(&req->args)))
		return find_unshaped(req, is_shaped);
	req->template.prog_vers = rpc_prog_vers(req->args.p);
	rpc_decode_plain_call(&req->args, &req->rpc);
	return find_program(req);
}
