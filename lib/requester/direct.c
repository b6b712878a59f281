/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by the extension of which something is placed directly (draft-dnoveck-nfsv4-rpcrdma-rtrext-01 sections 3.3, 7.3 and 7.4):
 * what the base has in Read chunks are items, what it has in Write chunks are directions, in one Transmit Request. Where header,
 * message or reply are too long for that, the base it is.
 *
 * Items are laid into targets of the responder's where all of them fit, and the message without them in front of those; else
 * they name memory, exposed as a chunk's is. Results are asked for in targets of this side's where the longest of all of
 * them fit there and the responder is known to be able to; or, with memory named, by their size; or by explicit RDMA. One that
 * would cost more to copy than to write, by the profile, is written. A result that is shorter than DIRECT_MIN comes in the message, which is less work for the responder than a Write.
 */
#include "place.h"
#include "requester.h"
#include "rtr_reduce.h"

_Static_assert(WEIR_ITEM_INLINE == RTR_REDUCE_INLINE, "what a reply says goes to the application as it is");

#define DIRECT_MIN 256u /* bytes: to copy them costs no more than to post a Write */
#define PLACED_RESULTS_MAX                                                                                   \
	(ENGINE_PLACE_SGES / 2) /* that are asked for by TBSN: with the rest, five gather elements */

struct direct {
	struct weir_call *call;
	struct reduce_call_in whole; /* with thresholds of whole messages */
	struct reduce_call_plan plan;
	struct rtr_layout layout;
	struct rtr_reduce_call reduce;
	uint32_t placed; /* pieces that are, bit i for piece i */
	uint32_t bytes;	 /* of the header */
};

static const struct rtr_buffer *own_buffer(const struct direct *direct)
{
	return &direct->call->conn->ep.engine->recv_buffer;
}

static bool has_results(const struct direct *direct)
{
	return direct->plan.use_write_list && direct->call->nresults > 0;
}

/* Where the first target begins; 0: there is none. */
static uint32_t lead_bytes(const struct rtr_buffer *buffer)
{
	struct rtr_target first;

	return rtr_buffer_target(buffer, 0, &first) ? first.offset : 0;
}

/* All pieces that may be taken out, whether the peer may read them or not. */
static uint32_t choose_placed(const struct weir_call *call)
{
	uint32_t placed = 0;

	if (!call->conn->v2->places || !call->may_reduce || call->plan.form == REDUCE_SHORT)
		return 0;
	for (uint32_t i = 1; i < call->npieces; i++)
		if (call->pieces[i].kind == PIECE_ITEM)
			placed |= 1u << i;
	return placed;
}

/* Plan the call with those placed; the layout has yet to be found. */
static void take_out(struct direct *direct, uint32_t placed)
{
	const struct weir_call *call = direct->call;
	uint64_t bytes = conn_payload_bytes(call->pieces, call->npieces);

	for (uint32_t i = 0; i < call->npieces; i++)
		if (placed & 1u << i)
			bytes -= (uint64_t)call->pieces[i].len + weir_xdr_pad(call->pieces[i].len);
	direct->placed = placed;
	direct->plan.form = REDUCE_CHUNKED;
	direct->plan.reduced = 0;
	direct->plan.inline_bytes = (uint32_t)bytes;
}

static bool lay_out(struct direct *direct, uint32_t header_bytes)
{
	const struct weir_call *call = direct->call;
	const struct rdma2_properties *peer = &call->conn->v2->peer;
	uint32_t item_bytes[CALL_PIECES_MAX], n = 0;
	const struct rtr_layout_in in = {
		.buffer = &peer->buffer,
		.send_bytes_max = peer->send_bytes_max,
		.count_max = 1,
		.header_bytes = header_bytes,
		.payload_bytes = direct->plan.inline_bytes,
		.item_bytes = item_bytes,
	};
	struct rtr_layout_in filled = in;

	for (uint32_t i = 0; i < call->npieces; i++)
		if (direct->placed & 1u << i)
			item_bytes[n++] = call->pieces[i].len;
	filled.nitems = n;
	if (rtr_layout_plan(&filled, &direct->layout) != 0)
		return false;
	direct->plan.reduced = direct->placed;
	direct->reduce.layout = &direct->layout;
	return true;
}

/* The header's length: with the minimum that there is room for in the longest reply. False: it does not fit. */
static bool size_up(struct direct *direct)
{
	static const uint32_t minima[] = {DIRECT_MIN, 0};

	for (uint32_t i = 0; i < 2; i++) {
		direct->reduce.layout = NULL;
		if (direct->placed)
			direct->plan.reduced = 0;
		direct->reduce.min_bytes = minima[i];
		direct->bytes = rtr_reduce_call_size(&direct->reduce);
		if (direct->bytes > 0 && direct->placed && lay_out(direct, direct->bytes))
			direct->bytes = rtr_reduce_call_size(&direct->reduce);
		else if (direct->placed)
			direct->bytes = 0;
		if (direct->bytes > 0)
			return true;
	}
	return false;
}

/* Targets of this side's for the longest results that memory is offered for, none longer than 'most'; so few that any device gathers
 * them. */
static bool results_fit(const struct direct *direct, uint32_t most)
{
	const struct rtr_buffer *own = own_buffer(direct);
	uint32_t tbsn = 0, n = 0;

	for (uint32_t i = 0; i < direct->call->nresults; i++) {
		uint32_t left =
			direct->call->results[i].nsegments > 0 ? direct->call->results[i].max_bytes : 0;

		if (left > most)
			return false;
		while (left > 0) {
			struct rtr_target target;

			if (!rtr_buffer_target(own, tbsn++, &target))
				return false;
			left -= left < target.length ? left : target.length;
		}
		n += direct->call->results[i].nsegments > 0;
	}
	return n <= PLACED_RESULTS_MAX;
}

/* What is to be asked for results: whether that can be, given all else. */
static bool ask(struct direct *direct, enum rtr_type results_by)
{
	const struct weir_conn *conn = direct->call->conn;
	const struct rtr_buffer *own = own_buffer(direct);
	const struct rtr_costs costs = requester_costs(conn->ep.engine);
	const uint32_t most = rtr_place_max(&costs);

	direct->whole.reply_inline_bytes = conn->recv_inline;
	direct->reduce.results_by = results_by;
	direct->reduce.own_targets = results_by == RTR_EXRW ? 0 : rtr_buffer_targets(own);
	if (results_by == RTR_EXRW)
		return true;
	if (!has_results(direct) || direct->reduce.own_targets == 0)
		return false;
	if (results_by == RTR_BYSIZE) {
		direct->reduce.dsdov = own->length - lead_bytes(own);
		if (direct->reduce.dsdov > most)
			direct->reduce.dsdov = most;
		return true;
	}
	/* There is no way back from this: the peer is one that places data, in messages as long as these. */
	if (lead_bytes(own) < direct->whole.reply_inline_bytes)
		direct->whole.reply_inline_bytes = lead_bytes(own);
	return conn->v2->places && conn->v2->peer.send_bytes_max >= own->length && results_fit(direct, most);
}

/* The best way that there is; false: none but the base. */
static bool choose(struct direct *direct)
{
	static const enum rtr_type ways[] = {RTR_TBSN, RTR_BYSIZE, RTR_EXRW};
	const struct weir_call *call = direct->call;
	uint32_t placed = choose_placed(call);

	if (placed)
		take_out(direct, placed);
	for (uint32_t i = 0; placed && i < 3; i++)
		if (ask(direct, ways[i]) && size_up(direct))
			return true;
	direct->placed = 0;
	direct->plan = call->plan;
	if (call->plan.form == REDUCE_LONG || (!call->plan.reduced && !has_results(direct)))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		if ((ways[i] != RTR_EXRW || call->conn->v2->directs) && ask(direct, ways[i]) &&
		    size_up(direct))
			return true;
	return false;
}

/* Whether anything of it could go so at all. */
static bool is_candidate(const struct weir_call *call)
{
	const struct conn_v2 *v2 = call->conn->v2;
	const bool has_results = call->plan.use_write_list && call->nresults > 0;

	if (!v2->extends || !v2->asks || call->avoids_extension || call->plan.need_reply_chunk)
		return false;
	return call->plan.reduced || has_results || choose_placed(call);
}

bool call_prepare_direct(struct weir_call *call, const struct reduce_call_in *in)
{
	struct weir_conn *conn = call->conn;
	struct weir_engine *engine = conn->ep.engine;
	const struct reduce_call_plan base = call->plan;
	struct direct direct = {.call = call, .whole = *in, .plan = base};
	bool names_results;

	if (!is_candidate(call))
		return false;
	direct.whole.call_inline_bytes = conn->send_inline;
	direct.reduce = (struct rtr_reduce_call){
		.in = &direct.whole, .plan = &direct.plan, .base = conn->v2->rtr_base};
	if (!choose(&direct)) {
		engine->stats.fallbacks_limits++;
		return false;
	}
	if (call_place_header(call, direct.bytes) != 0) {
		engine->stats.fallbacks_buffers++;
		return false;
	}
	call->header_bytes = direct.bytes;
	call->placed = direct.placed;
	call->plan = direct.plan;
	if (call->placed && !call_can_place(call)) {
		call->placed = 0;
		call->plan = base;
		call_release_sent(call);
		engine->stats.fallbacks_limits++;
		return false;
	}
	call->results_by = direct.reduce.results_by;
	call->rtr_base = direct.reduce.base;
	call->reply_count_max = 1;
	rtr_reduce_call_encode(&direct.reduce, call->xid, requester_of(conn)->credits.wanted, call->header);
	names_results = call->plan.use_write_list && call->results_by != RTR_TBSN;
	if (call->exposures)
		call_plan_chunks(call, call->plan.reduced & ~call->placed, names_results);
	call->is_exposed = (call->plan.reduced & ~call->placed) || (names_results && call->nresults > 0);
	engine->stats.extended_calls++;
	engine->stats.directed_calls++;
	return true;
}
