/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by the extension of which something is placed directly (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 7.3 and 7.4): what
 * the base has in Read chunks are items, what it has in Write chunks are directions, in one Transmit Request. The memory
 * is the same and is exposed in the same way; but a result that is shorter than DIRECT_MIN comes in the message, which is
 * less work for the responder than a Write. Where header, message or reply are too long for that, the base it is.
 */
#include "requester.h"
#include "rtr_reduce.h"

_Static_assert(WEIR_ITEM_INLINE == RTR_REDUCE_INLINE, "what a reply says goes to the application as it is");

#define DIRECT_MIN 256u /* bytes: to copy them costs no more than to post a Write */

/* The header's length: with the minimum that there is room for in the longest reply. 0: it does not fit. */
static uint32_t size_up(struct rtr_reduce_call *direct)
{
	uint32_t bytes;

	direct->min_bytes = DIRECT_MIN;
	bytes = rtr_reduce_call_size(direct);
	if (bytes > 0)
		return bytes;
	direct->min_bytes = 0;
	return rtr_reduce_call_size(direct);
}

bool call_prepare_direct(struct weir_call *call, const struct reduce_call_in *in)
{
	struct weir_conn *conn = call->conn;
	struct weir_engine *engine = conn->ep.engine;
	const bool has_results = call->plan.use_write_list && call->nresults > 0;
	struct reduce_call_in whole = *in;
	struct rtr_reduce_call direct = {.in = &whole, .plan = &call->plan, .base = conn->v2->rtr_base};
	uint32_t bytes;

	if (!conn->v2->directs || call->avoids_extension || call->plan.form == REDUCE_LONG ||
	    call->plan.need_reply_chunk || (!call->plan.reduced && !has_results))
		return false;
	whole.call_inline_bytes = conn->send_inline;
	whole.reply_inline_bytes = conn->recv_inline;
	bytes = size_up(&direct);
	if (bytes == 0) {
		engine->stats.fallbacks_limits++;
		return false;
	}
	if (call_place_header(call, bytes) != 0) {
		engine->stats.fallbacks_buffers++;
		return false;
	}
	call->rtr_base = direct.base;
	call->reply_count_max = 1;
	call->header_bytes = bytes;
	rtr_reduce_call_encode(&direct, call->xid, requester_of(conn)->credits.wanted, call->header);
	if (call->exposures)
		call_plan_chunks(call);
	call->is_exposed = true;
	engine->stats.extended_calls++;
	engine->stats.directed_calls++;
	return true;
}
