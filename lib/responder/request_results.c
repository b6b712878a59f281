/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a request. The program encodes them after an RPC header in a buffer of the engine,
 * and passes their items to weir_request_result_item(). */
#include "request.h"

#include <errno.h>

#include "compiler.h"
#include "forked.h"
#include "owner.h"
#include "wire.h"

/* Encodes the RPC header of a reply that is accepted and successful. The buffer has room for more
 * than this header. Returns the encoder for the results. */
static inline struct weir_xdr_out *put_header(struct weir_request *req)
{
	uint8_t *at = req->out.p;

	req->out.p = at + WEIR_RPC_REPLY_HEADER_MIN;
	wire_put_u32(at, req->rpc.xid);
	wire_put_four(at + 4, WEIR_RPC_REPLY, 0, 0, 0); /* accepted, AUTH_NONE */
	wire_put_u32(at + 20, 0);			/* SUCCESS */
	return &req->out;
}

/* Does the work of weir_request_results() for long results, results that are encoded anew, and
 * cases in which the request possibly has to wait for a buffer. Returns NULL if no buffer is
 * available. */
static out_of_line struct weir_xdr_out *results_in_other(struct weir_request *req, uint64_t bytes)
{
	if (engine_fork_refuses(req->responder->engine))
		return NULL;
	return request_take_buffer(req, bytes) ? put_header(req) : NULL;
}

struct weir_xdr_out *weir_request_results(struct weir_request *req, uint32_t max_bytes)
{
	const struct weir_engine *engine = req->responder->engine;
	uint64_t bytes = (uint64_t)max_bytes + WEIR_RPC_REPLY_HEADER_MIN;

	if (OTHER_THREAD(responder_engine(req->responder)))
		return NULL;
	/* If the connection has as many pending replies as it may have (request_pending.c), calls
	 * that the program got before that time must wait with their replies, too. */
	if (unlikely(req->reply || bytes > engine->msg_bytes || req->responder->deferred_by != 0 ||
		     !mem_pool_is_quick(engine->send_pool)))
		return results_in_other(req, bytes);
	req->reply = mem_pool_get_quick(engine->send_pool);
	request_begin_results(req);
	return put_header(req);
}

/* Marks that the reply has an item. The flag is stored only if it changes. Most replies with items
 * belong to calls with a chunk, for which the flag is already false. A store would delay the load
 * of all flags as one word, which follows soon (bench/micro/check_waits.py). */
static inline void mark_item(struct weir_request *req)
{
	if (unlikely(req->flags.is_short))
		req->flags.is_short = false;
}

/* Adds an item that is not the first item. Returns 0, or -E2BIG if the reply has REQUEST_ITEMS_MAX
 * items. */
static out_of_line int add_item(struct weir_request *req, uint8_t *base, uint32_t len,
				uint32_t lkey)
{
	enum piece_kind kind =
		req->nitems < request_ulb(req)->result_items_max ? PIECE_ITEM : PIECE_OPAQUE;

	if (req->nitems == REQUEST_ITEMS_MAX)
		return -E2BIG;
	/* If the encoder fails, weir_request_reply() handles this as for any result that does not
	 * fit in the buffer. */
	if (weir_xdr_put_u32(&req->out, len) != 0)
		return 0;
	mark_item(req);
	request_close_piece_at(req, (uint32_t)weir_xdr_out_len(&req->out));
	request_add_piece(req, base, len, kind, lkey, req->op);
	req->nitems++;
	return 0;
}

/* Adds an item to the results. This function is out of line, so that a handler that has results
 * with items and results without items needs a stack frame only for those with items. */
out_of_line int weir_request_result_item(struct weir_request *req, const struct weir_region *region,
					 const void *data, uint32_t len_bytes)
{
	const struct mem_keys *keys = engine_keys(req->responder->engine, region);
	uint8_t *base = (uint8_t *)(uintptr_t)data;
	uint32_t end;

	if (OTHER_THREAD(responder_engine(req->responder)))
		return -EPERM;
	if (keys->lkey == 0 || !mem_region_covers(region, data, len_bytes))
		return -EINVAL;
	if (unlikely(req->npieces > 0))
		return add_item(req, base, len_bytes, keys->lkey);
	/* This is the first item, as most items are. The indices of its pieces are known. */
	if (unlikely(weir_xdr_put_u32(&req->out, len_bytes) != 0))
		return 0;
	end = (uint32_t)weir_xdr_out_len(&req->out);
	mark_item(req);
	request_set_piece(&req->pieces[0], req->out.start, end, PIECE_XDR, req->reply->lkey, 0);
	request_set_piece(&req->pieces[1], base, len_bytes,
			  request_ulb(req)->result_items_max > 0 ? PIECE_ITEM : PIECE_OPAQUE,
			  keys->lkey, req->op);
	req->npieces = 2;
	req->nitems = 1;
	req->piece_start = end;
	return 0;
}

int weir_request_result_absent(struct weir_request *req)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return -EPERM;
	if (req->nitems == REQUEST_ITEMS_MAX)
		return -E2BIG;
	if (req->nitems >= request_ulb(req)->result_items_max)
		return 0; /* the item would have no chunk */
	request_close_piece(req);
	mark_item(req);
	req->nitems++;
	/* The piece is an item of 0 bytes. The reducer assigns the next chunk to it, and transfers
	 * nothing. */
	request_add_piece(req, req->out.start, 0, PIECE_ITEM, 0, req->op);
	return 0;
}

void weir_request_operation(struct weir_request *req, uint32_t args_offset)
{
	if (OTHER_THREAD(responder_engine(req->responder)))
		return;
	req->op = args_offset;
}
