/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the public API that a handler calls for its request, except those for its results
 * and replies. */
#include "request.h"

#include <errno.h>

#include "forked.h"
#include "owner.h"
#include "request_stages.h"

int weir_request_retry_when_buffers(struct weir_request *req)
{
	struct responder *responder = req->responder;

	if (OTHER_THREAD(responder_engine(responder)))
		return -EPERM;
	req->flags.can_reply_fast = false;
	if (!responder_engine(responder))
		return -ENOTCONN;
	if (engine_is_forked(responder->engine))
		return engine_fork_refuse();
	if (req->reply || !req->may_wait)
		return -EMSGSIZE;
	/* If is_own is true, the request needs one buffer of a kind, holds none of that kind, and
	 * overtakes no other waiter (wait_queue.h). Therefore, other waiters need not wait for it.
	 */
	req->buf_waiter.is_own = req->args_released || req->waits_for_quota;
	if (req->args_released) {
		engine_wait_unbounded(responder->engine, &responder->wait_queue, &req->buf_waiter);
		return 0;
	}
	/* The request must not wait while it holds buffers for chunks, because other requests might
	 * be waiting for these. */
	for (uint32_t i = 0; i < req->nchunks; i++)
		if (req->chunk_bufs[i])
			return -ENOBUFS;
	return engine_wait_buffers(responder->engine, &responder->wait_queue, &req->buf_waiter)
		       ? 0
		       : -ENOBUFS;
}

void weir_request_release_args(struct weir_request *req)
{
	/* This fact is all that the reply needs to know about the arguments and the credential. */
	bool forbids = rpc_auth_forbids_reduction(&req->rpc.cred);

	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	request_put_chunks(req);
	weir_xdr_in_init(&req->args, NULL, 0);
	req->rpc.cred = (struct weir_rpc_auth){.flavor = forbids ? req->rpc.cred.flavor
								 : WEIR_RPC_AUTH_NONE};
	req->rpc.verf = (struct weir_rpc_auth){0};
	req->template.shape = 0;
	req->args_released = true;
	req->flags.can_reply_fast = false;
}

bool weir_request_args_released(const struct weir_request *req)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return false;
	return req->args_released;
}

void weir_request_reply_error(struct weir_request *req, enum weir_rpc_accept_stat stat)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	request_stage_begin(req, WEIR_STAGE_PUSHED);
	request_put_accept_stat(req, stat);
	request_send_error(req);
}

void weir_request_reply_denied(struct weir_request *req, enum weir_rpc_auth_stat stat)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	request_stage_begin(req, WEIR_STAGE_PUSHED);
	request_put_denied(req, stat);
	request_send_error(req);
}

const struct weir_rpc_call_header *weir_request_header(const struct weir_request *req)
{
	return &req->rpc;
}

struct weir_xdr_in *weir_request_args(struct weir_request *req)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return NULL;
	return &req->args;
}

struct weir_conn *weir_request_conn(const struct weir_request *req)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return NULL;
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

void weir_request_skip_replay_cache(struct weir_request *req)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	req->skips_replay_cache = req->replay != NULL;
}

void weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	req->flags.can_reply_fast = false;
	req->on_sent = fn;
	req->on_sent_arg = arg;
}
