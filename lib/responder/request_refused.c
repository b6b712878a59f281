/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and logs calls that are refused because of their chunks. The transport's error to the
 * requester does not say what is wrong with a call, so that only this log does. */
#include "request.h"

#include <stdio.h>

#include "wire.h"

/* Returns the keys of the profile whose limit a message exceeds, or NULL if 'reason' is not a
 * limit of the profile. */
static const char *limit_keys(uint32_t reason)
{
	switch (reason) {
	case RDMA1_R_TOO_MANY_READS:
		return "read_segments or read_chunks";
	case RDMA1_R_TOO_MANY_WRITES:
		return "write_chunks";
	case RDMA1_R_TOO_MANY_SEGMENTS:
		return "segments_per_chunk";
	case RDMA1_R_TOO_LARGE:
		return "read_bytes or write_bytes";
	default:
		return NULL;
	}
}

void request_note_invalid(struct weir_request *req, uint32_t reason)
{
	struct weir_engine *engine = req->responder->engine;
	const char *keys = limit_keys(reason);

	if (!keys)
		return;
	engine->stats.limits_exceeded++;
	/* The header has at least its fixed part, because otherwise the reason would be another. */
	engine_log_peer(engine, &engine->refused_calls,
			"a call of %s (XID 0x%08x) was refused: its chunks exceed the limit %s of "
			"this side's profile",
			req->responder->conn->peer, wire_get_u32(req->msg->data), keys);
}

static void log_refused(struct weir_request *req, const char *why)
{
	struct weir_engine *engine = req->responder->engine;

	if (!request_is_gone(req))
		engine_log_peer(engine, &engine->refused_calls,
				"a call of %s (XID 0x%08x) was refused: %s",
				req->responder->conn->peer, req->hdr.xid, why);
}

/* Logs that a call lists items that the binding of its procedure does not allow. */
static void log_bad_items(struct weir_request *req)
{
	const struct weir_ulb *ulb = req->program->ulb;
	uint32_t nitems = req->nchunks - req->hdr.has_position_zero;
	char why[160];

	if (request_items_fit(req))
		snprintf(
			why, sizeof(why),
			"its credential protects the whole message, so that it must have no items");
	else
		snprintf(why, sizeof(why),
			 "it has %u DDP-eligible arguments, and %s allows %u for procedure %u of "
			 "program %u",
			 nitems, ulb ? ulb->name : "its program, which has no binding,",
			 request_ulb(req)->arg_items_max, req->rpc.proc, req->rpc.prog);
	log_refused(req, why);
}

enum request_next request_refuse(struct weir_request *req, enum request_next why)
{
	if (why == REQUEST_BAD_ITEMS)
		log_bad_items(req);
	else if (why == REQUEST_CANT_PULL)
		log_refused(req,
			    "its Read chunks are inconsistent, or exceed bulk_buffer_bytes or a "
			    "limit of this side's profile");
	else if (why == REQUEST_CANT_REPLY)
		log_refused(req, "the reply exceeds the memory that the call offers");
	return req->responder->protocol->refuse(req, why);
}
