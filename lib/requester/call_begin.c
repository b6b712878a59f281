/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions by which the program begins and describes a call. They take the slot and the buffer of
 * the call, write the RPC header, and record the items and the memory for results. */
#include "requester.h"

#include <errno.h>
#include <stdatomic.h>

#include "call_pool.h"
#include "compiler.h"
#include "forked.h"
#include "log.h"
#include "owner.h"
#include "rpc_msg.h"
#include "sized_why.h"
#include "ulb_find.h"
#include "wire.h"

/* Returns the maximum length of the verifier in the reply to a call with this credential. It is 0
 * for the flavors whose verifiers are empty (RFC 8166 section 8.2.2). */
static uint32_t verifier_max(const struct weir_rpc_auth *cred)
{
	if (!cred || cred->flavor == WEIR_RPC_AUTH_NONE || cred->flavor == WEIR_RPC_AUTH_SYS)
		return 0;
	return WEIR_RPC_AUTH_BODY_MAX;
}

static uint32_t auth_bytes(const struct weir_rpc_auth *auth)
{
	return auth ? auth->len_bytes + weir_xdr_pad(auth->len_bytes) : 0;
}

/* Writes the RPC header with AUTH_NONE as credential and verifier, which most calls have. The
 * header has ten words, and always fits into the buffer. */
static inline void put_auth_none_header(struct weir_call *call,
					const struct weir_call_params *params)
{
	uint8_t *at = call->out.start;

	call->out.p = at + WEIR_RPC_CALL_HEADER_MIN;
	call->args_at = WEIR_RPC_CALL_HEADER_MIN;
	wire_put_u32(at, call->xid);
	wire_put_u32(at + 4, WEIR_RPC_CALL);
	wire_put_u32(at + 8, WEIR_RPC_VERSION);
	wire_put_u32(at + 12, params->prog);
	wire_put_u32(at + 16, params->vers);
	wire_put_u32(at + 20, params->proc);
	memset(at + 24, 0, WEIR_RPC_CALL_HEADER_MIN - 24);
}

/* Writes any other RPC header. Returns 0, or -EINVAL if the header can't be encoded. */
static out_of_line int put_header(struct weir_call *call, const struct weir_call_params *params)
{
	struct weir_rpc_call_header hdr = {
		.xid = call->xid,
		.rpcvers = WEIR_RPC_VERSION,
		.prog = params->prog,
		.vers = params->vers,
		.proc = params->proc,
	};

	if (params->cred)
		hdr.cred = *params->cred;
	if (params->verf)
		hdr.verf = *params->verf;
	call->out.p = call->out.start;
	if (rpc_call_encode(&call->out, &hdr) != 0)
		return -EINVAL;
	call->args_at = (uint32_t)weir_xdr_out_len(&call->out);
	return 0;
}

static inline uint64_t timeout_of(const struct weir_call_params *params,
				  const struct weir_engine *engine)
{
	uint64_t timeout_ns = params->timeout_ns;

	if (timeout_ns == 0)
		return engine->call_timeout_ns;
	return timeout_ns < ENGINE_NEVER_NS ? timeout_ns : ENGINE_NEVER_NS;
}

/* Takes the buffer to which the message will be written. 'stream_bytes' and 'reply_bytes' are the
 * maximum lengths of the message and of its reply. A message that can only be sent as a Long Call
 * is written to memory that the peer can read. Returns NULL and sets errno if there is no buffer,
 * if a length exceeds long_buffer_bytes, or in a child of fork(). */
static out_of_line struct mem_buf *take_any_buffer(struct weir_engine *engine,
						   uint64_t stream_bytes, uint64_t reply_bytes)
{
	struct mem_pool *pool =
		stream_bytes > engine->msg_bytes ? engine->long_pool : engine->send_pool;
	struct mem_buf *buf;

	if (engine_fork_refuses(engine))
		return NULL;
	if (stream_bytes + ENGINE_HEADROOM > engine->profile.long_buffer_bytes ||
	    reply_bytes > engine->profile.long_buffer_bytes) {
		errno = EMSGSIZE;
		return NULL;
	}
	buf = mem_pool_get(pool);
	if (!buf)
		errno = ENOBUFS;
	return buf;
}

/* Takes a buffer like take_any_buffer(). It is faster if neither message nor reply is longer than
 * small_bytes of the engine. */
static inline struct mem_buf *take_buffer(struct weir_engine *engine, uint64_t stream_bytes,
					  uint64_t reply_bytes)
{
	struct mem_pool *pool = engine->send_pool;

	if (unlikely(stream_bytes > engine->small_bytes || reply_bytes > engine->small_bytes ||
		     !mem_pool_is_quick(pool)))
		return take_any_buffer(engine, stream_bytes, reply_bytes);
	return mem_pool_get_quick(pool);
}

/* Takes a call, and assigns a free slot to it. The connection must have a free slot. Returns NULL
 * if the pool has no free call. */
static inline struct weir_call *take_slot(struct weir_conn *conn, struct requester *req)
{
	struct weir_call *call = call_pool_take(req->pool);

	if (likely(call != NULL))
		call_enter_slot(conn, req, call);
	return call;
}

static inline void set_buffer(struct weir_call *call, struct mem_buf *args)
{
	call->args = args;
	weir_xdr_out_init(&call->out, args->data + ENGINE_HEADROOM,
			  args->size_bytes - ENGINE_HEADROOM);
}

struct weir_call *call_take(struct weir_conn *conn, struct mem_buf *args)
{
	struct weir_call *call = take_slot(conn, requester_of(conn));

	if (call)
		set_buffer(call, args);
	return call;
}

/* Returns whether the parameters of a call, and its binding if there is one, have the size that
 * this version of weir knows. */
static inline bool has_own_sizes(const struct weir_call_params *params)
{
	return likely(params->struct_bytes == sizeof(*params)) &&
	       (!params->ulb || likely(params->ulb->struct_bytes == sizeof(*params->ulb)));
}

/* Copies the parameters of an application that was built with older or newer headers to *own.
 * Returns 0. Otherwise returns the error of sized_read(). Logs one of these errors per process,
 * because an application can make very many calls. */
static int read_params(const struct weir_call_params *params, struct weir_call_params *own)
{
	static const struct sized_type type = SIZED_TYPE(weir_call_params, arg);
	static atomic_flag done = ATOMIC_FLAG_INIT;
	char why[SIZED_WHY_BYTES];
	int rc = sized_read_why(&type, own, params, why);

	if (rc == 0 && own->ulb)
		rc = sized_check_why(&ulb_type, own->ulb, why);
	if (rc != 0 && !atomic_flag_test_and_set(&done))
		LOG(REQUESTER, ERROR, "%s", why);
	return rc;
}

/* Sets the procedure of a call, and returns the call. The engine must measure times. The program is
 * read from the RPC header, so that weir_call_begin() need not keep the parameters until here. */
static out_of_line struct weir_call *set_procedure(struct weir_call *call)
{
	const uint8_t *header = call->out.start;

	call->procedure = engine_latency_find(call_engine(call), wire_get_u32(header + 12),
					      wire_get_u32(header + 16), call->proc);
	return call;
}

/* Does weir_call_begin() for parameters of the size that this version of weir knows. */
static hot_inline struct weir_call *begin(struct weir_conn *conn,
					  const struct weir_call_params *params)
{
	struct requester *req = requester_of(conn);
	struct weir_engine *engine = conn->ep.engine;
	uint32_t header_bytes =
		WEIR_RPC_CALL_HEADER_MIN + auth_bytes(params->cred) + auth_bytes(params->verf);
	uint64_t reply_bytes = (uint64_t)params->results_max_bytes + WEIR_RPC_REPLY_HEADER_MIN + 8 +
			       verifier_max(params->cred);
	struct weir_call *call;
	struct mem_buf *args;

	if (unlikely(conn->state != CONN_OPEN) && !conn_accepts_calls(conn)) {
		errno = ENOTCONN;
		return NULL;
	}
	if (unlikely(!params->done)) {
		errno = EINVAL;
		return NULL;
	}
	if (unlikely(req->free_slot == CALL_NO_SLOT)) {
		errno = EAGAIN;
		return NULL;
	}
	args = take_buffer(engine, (uint64_t)params->args_max_bytes + header_bytes, reply_bytes);
	if (unlikely(!args))
		return NULL;

	call = take_slot(conn, req);
	if (unlikely(!call)) {
		mem_pool_put(args);
		errno = ENOBUFS;
		return NULL;
	}
	call_set_building(call);
	call->may_reduce = !params->cred || !rpc_auth_forbids_reduction(params->cred);
	call->timeout_ns = timeout_of(params, engine);
	set_buffer(call, args);
	call->done = params->done;
	call->arg = params->arg;
	call->ulb = params->ulb;
	call->proc = params->proc;
	call->reply_max_bytes = (uint32_t)reply_bytes;
	if (!params->cred && !params->verf) {
		put_auth_none_header(call, params);
	} else if (unlikely(put_header(call, params) != 0)) {
		weir_call_abandon(call);
		errno = EINVAL;
		return NULL;
	}
	return likely(!engine->latency) ? call : set_procedure(call);
}

/* Does weir_call_begin() for parameters or bindings that have not the size that this version of
 * weir knows. */
static out_of_line cold_code struct weir_call *begin_resized(struct weir_conn *conn,
							     const struct weir_call_params *params)
{
	struct weir_call_params own;
	int rc = read_params(params, &own);

	if (rc == 0)
		return begin(conn, &own);
	errno = -rc;
	return NULL;
}

struct weir_call *weir_call_begin(struct weir_conn *conn, const struct weir_call_params *params)
{
	if (OTHER_THREAD(conn->ep.engine))
		return NULL;
	if (unlikely(!has_own_sizes(params)))
		return begin_resized(conn, params);
	return begin(conn, params);
}

struct weir_xdr_out *weir_call_args(struct weir_call *call)
{
	if (OTHER_THREAD(call->conn->ep.engine))
		return NULL;
	return &call->out;
}

int weir_call_arg_item(struct weir_call *call, const struct weir_region *region, const void *data,
		       uint32_t len_bytes)
{
	const struct mem_keys *keys = engine_keys(call->conn->ep.engine, region);
	bool is_eligible = call->nitems < ulb_find(call->ulb, call->proc)->arg_items_max;

	if (OTHER_THREAD(call->conn->ep.engine))
		return -EPERM;
	if (call->state != CALL_BUILDING || keys->lkey == 0 ||
	    !mem_region_covers(region, data, len_bytes))
		return -EINVAL;
	if (call->nitems == CALL_ITEMS_MAX)
		return -E2BIG;
	weir_xdr_put_u32(&call->out, len_bytes);
	call->nitems++; /* an empty item counts as one of the binding's eligible items, too */
	if (len_bytes == 0)
		return 0;
	call_close_piece(call);
	call->pieces[call->npieces++] = (struct piece){
		.base = (uint8_t *)(uintptr_t)data,
		.len = len_bytes,
		.kind = is_eligible ? PIECE_ITEM : PIECE_OPAQUE,
		.lkey = keys->lkey,
		.rkey = keys->rkey,
		.raddr = keys->raddr + (uint64_t)((const uint8_t *)data - region->base),
	};
	return 0;
}

int weir_call_operation(struct weir_call *call)
{
	uint64_t at;

	if (OTHER_THREAD(call->conn->ep.engine))
		return -EPERM;
	if (call->state != CALL_BUILDING)
		return -EINVAL;
	at = piece_payload_bytes(call->pieces, call->npieces, 0) + weir_xdr_out_len(&call->out) -
	     call->piece_start;
	if (at > UINT32_MAX)
		return -EMSGSIZE;
	if (at == call->op_at)
		return 0;
	for (uint32_t i = 0; i < call->nresults; i++)
		if (call->results[i].begin == call->op_at)
			call->op_ends[i] = (uint32_t)at;
	call->op_at = (uint32_t)at;
	return 0;
}

int weir_call_result_item(struct weir_call *call, const struct weir_region *region, void *data,
			  uint32_t max_bytes)
{
	uint32_t i = call->nresults;
	struct call_result *result;

	if (OTHER_THREAD(call->conn->ep.engine))
		return -EPERM;
	if (i >= CALL_ITEMS_MAX || i >= ulb_find(call->ulb, call->proc)->result_items_max)
		return -E2BIG;
	if (call->state != CALL_BUILDING)
		return -EINVAL;
	result = &call->results[i];
	result->max_bytes = max_bytes;
	result->begin = call->op_at;
	result->data = data;
	result->remote.len = 0;
	if (data) {
		const struct mem_keys *keys = engine_keys(call->conn->ep.engine, region);

		if (keys->rkey == 0 || max_bytes == 0 ||
		    !mem_region_covers(region, data, max_bytes))
			return keys->lkey != 0 && keys->rkey == 0 ? -EOPNOTSUPP : -EINVAL;
		result->remote = (struct remote_buf){
			.rkey = keys->rkey,
			.len = max_bytes,
			.raddr = keys->raddr + (uint64_t)((uint8_t *)data - region->base),
		};
	}
	call->nresults++;
	return 0;
}

void weir_call_abandon(struct weir_call *call)
{
	if (OTHER_THREAD(call->conn->ep.engine))
		return;
	if (call->state == CALL_BUILDING)
		call_release(call);
}

struct weir_conn *weir_call_conn(const struct weir_call *call)
{
	return call->conn;
}
