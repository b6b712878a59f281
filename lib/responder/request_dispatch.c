/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPC header of a call (RFC 5531 section 9), and which program is to have it. */
#include "responder.h"

#include "compiler.h"
#include "forked.h"

#include <errno.h>

static void reply_mismatch(struct weir_request *req, bool is_rpc, uint32_t low, uint32_t high)
{
	struct weir_rpc_reply_header reply = {
		.xid = req->hdr.xid,
		.reply_stat = is_rpc ? WEIR_RPC_MSG_DENIED : WEIR_RPC_MSG_ACCEPTED,
		.reject_stat = WEIR_RPC_MISMATCH,
		.accept_stat = WEIR_RPC_PROG_MISMATCH,
		.low = low,
		.high = high,
	};

	request_reply_rpc_error(req, &reply);
}

/* The program and version that the call names; NULL: there is none. */
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

/* There is none, or it has no such procedure, or the call is of another version of RPC. */
out_of_line void request_reply_not_found(struct weir_request *req)
{
	const struct program_table *table = req->responder->programs;
	const struct weir_program *found = NULL;

	if (req->rpc.rpcvers != WEIR_RPC_VERSION) {
		reply_mismatch(req, true, WEIR_RPC_VERSION, WEIR_RPC_VERSION);
		return;
	}
	for (uint32_t i = 0; i < table->nprograms; i++)
		if (table->programs[i].prog == req->rpc.prog)
			found = &table->programs[i];
	if (req->program)
		weir_request_reply_error(req, WEIR_RPC_PROC_UNAVAIL);
	else if (found)
		reply_mismatch(req, false, found->vers_low, found->vers_high);
	else
		weir_request_reply_error(req, WEIR_RPC_PROG_UNAVAIL);
}

/* Of the call whose RPC header is decoded. False: it was answered. */
static hot_inline bool find_program(struct weir_request *req)
{
	if (unlikely(req->rpc.xid != req->hdr.xid)) {
		request_reply_transport_error(req, RDMA1_V_ERR_CHUNK);
		return false;
	}
	req->program = program_find(req->responder->programs, &req->rpc);
	if (unlikely(req->rpc.rpcvers != WEIR_RPC_VERSION || !req->program ||
		     req->rpc.proc >= req->program->nprocs)) {
		request_reply_not_found(req);
		return false;
	}
	return true;
}

/* Whether the message is a reply, which came in a Read chunk or in several transmissions: only its
 * body shows it. */
static bool is_reply(struct weir_xdr_in in)
{
	uint32_t xid, type;

	return weir_xdr_get_u32(&in, &xid) == 0 && weir_xdr_get_u32(&in, &type) == 0 &&
	       type == WEIR_RPC_REPLY;
}

/* Any other call than a plain one; out of line, as it is the rarer kind. False: it was answered, or
 * dropped. */
static out_of_line bool decode_other(struct weir_request *req, struct weir_xdr_in *in)
{
	const struct weir_xdr_in begin = *in;
	int rc = rpc_call_decode(in, &req->rpc);

	if (likely(rc == 0))
		return true;
	if (is_reply(begin)) {
		/* RFC 8167 section 4: it answers no call of this side, and an RDMA_ERROR would
		 * answer nothing. */
		req->responder->engine->stats.dropped++;
		request_release(req);
	} else if (rc < 0 || req->rpc.xid != req->hdr.xid) {
		/* No RPC reply can be made for what is not an RPC call (RFC 8166 section 4.5.2). */
		request_reply_transport_error(req, RDMA1_V_ERR_CHUNK);
	} else {
		weir_request_reply_denied(req, (enum weir_rpc_auth_stat)rc);
	}
	return false;
}

bool request_find_program(struct weir_request *req, struct weir_xdr_in *in)
{
	if (likely(rpc_is_plain_call(in)))
		rpc_take_plain_call(in, &req->rpc);
	else if (!decode_other(req, in))
		return false;
	return find_program(req);
}

static out_of_line void dispatch_if_new(struct weir_request *req)
{
	req->flags.is_plain = false;
	if (request_is_new(req))
		req->program->handle(req, req->program->arg);
}

static hot_inline void dispatch(struct weir_request *req, uintptr_t shape)
{
	req->state = REQUEST_HANDLING;
	if (unlikely(req->program->non_idempotent != NULL)) {
		dispatch_if_new(req);
		return;
	}
	req->template.shape = shape;
	req->program->handle(req, req->program->arg);
}

void request_dispatch(struct weir_request *req, uintptr_t shape)
{
	dispatch(req, shape);
}

static out_of_line void dispatch_other(struct weir_request *req)
{
	if (request_find_program(req, &req->args))
		dispatch(req, 0);
}

void request_dispatch_inline(struct weir_request *req, uint32_t header_bytes, uintptr_t shape)
{
	weir_xdr_in_init(&req->args, req->msg->data + header_bytes, req->msg_bytes - header_bytes);
	/* What is rare is called last, here and in what leads here, so that there is no stack frame
	 * to be made for it. */
	if (unlikely(!rpc_is_plain_call(&req->args))) {
		dispatch_other(req);
		return;
	}
	req->template.target = rpc_prog_vers(req->args.p);
	rpc_take_plain_call(&req->args, &req->rpc);
	if (find_program(req))
		dispatch(req, shape);
}

int weir_request_retry_when_buffers(struct weir_request *req)
{
	struct responder *responder = req->responder;

	req->flags.is_plain = false;
	if (!responder_engine(responder))
		return -ENOTCONN;
	if (engine_is_forked(responder->engine))
		return engine_fork_refuse();
	if (req->reply || !req->may_wait)
		return -EMSGSIZE;
	/* It needs one of a kind, holds none, and goes past no one: others need not wait behind it.
	 */
	req->buf_waiter.is_own = req->args_released || req->waits_for_share;
	if (req->args_released) {
		engine_wait_unbounded(responder->engine, &responder->wait_queue, &req->buf_waiter);
		return 0;
	}
	/* What it holds, others may be waiting for. */
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (req->chunk_bufs[i])
			return -ENOBUFS;
	return engine_wait_buffers(responder->engine, &responder->wait_queue, &req->buf_waiter)
		       ? 0
		       : -ENOBUFS;
}

void weir_request_release_args(struct weir_request *req)
{
	/* All that a reply needs to know of them. */
	bool forbids = rpc_auth_forbids_reduction(&req->rpc.cred);

	request_put_chunks(req);
	weir_xdr_in_init(&req->args, NULL, 0);
	req->rpc.cred = (struct weir_rpc_auth){.flavor = forbids ? req->rpc.cred.flavor
								 : WEIR_RPC_AUTH_NONE};
	req->rpc.verf = (struct weir_rpc_auth){0};
	req->template.shape = 0;
	req->args_released = true;
	req->flags.is_plain = false;
}

bool weir_request_args_released(const struct weir_request *req)
{
	return req->args_released;
}

void request_handle_again(struct weir_request *req)
{
	if (req->args_released) {
		req->program->handle(req, req->program->arg);
		return;
	}
	if (req->nparts > 0)
		request_read_parts(req);
	else if (req->msg)
		weir_xdr_in_init(&req->args, req->msg->data + req->hdr.header_bytes,
				 req->msg_bytes - req->hdr.header_bytes);
	/* It was decoded before; without an engine there is nothing left to decode. */
	if (!req->msg || request_find_program(req, &req->args))
		req->program->handle(req, req->program->arg);
}

const struct weir_rpc_call_header *weir_request_header(const struct weir_request *req)
{
	return &req->rpc;
}

struct weir_xdr_in *weir_request_args(struct weir_request *req)
{
	return &req->args;
}

struct weir_conn *weir_request_conn(const struct weir_request *req)
{
	return req->responder->conn;
}

struct weir_engine *weir_request_engine(const struct weir_request *req)
{
	return responder_engine(req->responder);
}

void weir_request_set_user(struct weir_request *req, void *user)
{
	req->user = user;
}

void *weir_request_user(const struct weir_request *req)
{
	return req->user;
}

void weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg)
{
	req->flags.is_plain = false;
	req->on_sent = fn;
	req->on_sent_arg = arg;
}
