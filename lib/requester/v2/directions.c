/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by the extension with data that are placed directly (draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * sections 3.3, 7.3 and 7.4). In a Transmit Request, items replace the Read chunks of the base
 * protocol, and directions for results replace its Write chunks. The call goes in the first of
 * these ways that is possible:
 *
 * - In as many transmissions as it needs. Message continuation (transmit_request.c) carries data or
 *   payload for which one transmission has no room.
 * - In one transmission, if header, message or reply are too long for the first way, if it costs
 *   too much, or if a resource for several transmissions is not available.
 * - By the base protocol.
 *
 * Items are placed in targets of the responder if all of them fit, and if the rest of the message
 * fits before them. Otherwise the items name memory, which is exposed like that of a chunk. Results
 * are requested in one of these ways:
 *
 * - In targets of this side. The longest possible results must all fit, and the responder must be
 *   known to be able to place them.
 * - By their size, with memory named.
 * - By explicit RDMA.
 *
 * A result is written if a copy would cost more than a Write, by the profile. Several transmissions
 * are not used if they cost more than the chunks that they save. A result that is shorter than
 * DIRECT_MIN arrives in the message, which is less work for the responder than a Write.
 */
#include "directions.h"

#include "placement.h"

_Static_assert(WEIR_ITEM_INLINE == RTR_REDUCE_INLINE,
	       "what a reply says goes to the application as it is");

#define DIRECT_MIN 256u /* bytes; to copy as many costs no more than to post a Write */
#define PLACED_RESULTS_MAX                                                                         \
	(ENGINE_PLACE_SGES /                                                                       \
	 2) /* results that are requested by TBSN: with the rest, five gather elements */

static const struct rtr_buffer *own_buffer(const struct call_directions *direct)
{
	return &direct->call->conn->v2->mine;
}

static bool has_results(const struct call_directions *direct)
{
	return direct->plan.use_write_list && direct->call->nresults > 0;
}

/* Returns the offset of the first target. Returns 0 if there is no target. */
static uint32_t lead_bytes(const struct rtr_buffer *buffer)
{
	struct rtr_target first;

	return rtr_buffer_target(buffer, 0, &first) ? first.offset : 0;
}

/* Returns all pieces that may be placed, whether the peer may read them or not. */
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

/* Plans the call without the pieces 'reduced' in its payload. The pieces 'placed' of these are
 * placed in targets. The layout is not yet known. */
static void take_out(struct call_directions *direct, uint32_t reduced, uint32_t placed)
{
	const struct weir_call *call = direct->call;

	direct->placed = placed;
	direct->plan.form = reduced ? REDUCE_CHUNKED : REDUCE_SHORT;
	direct->plan.reduced = reduced;
	direct->plan.need_reply_chunk = false;
	direct->plan.inline_bytes =
		(uint32_t)piece_payload_bytes(call->pieces, call->npieces, reduced);
}

/* Finds the header, and the number of transmissions for the placed items and the payload. Returns
 * false if there is no layout. */
static bool lay_out(struct call_directions *direct)
{
	const struct weir_call *call = direct->call;
	const struct rdma2_properties *peer = &call->conn->v2->peer;
	uint32_t item_bytes[CALL_PIECES_MAX], n = 0;
	struct rtr_layout_in in = {
		.buffer = &peer->buffer,
		.send_bytes_max = peer->send_bytes_max,
		.count_max = direct->count_max,
		.lead_max = direct->whole.call_inline_bytes,
		.payload_bytes = direct->plan.inline_bytes,
		.item_bytes = item_bytes,
	};

	direct->reduce.layout = NULL;
	direct->plan.reduced = 0;
	in.header_bytes = rtr_reduce_call_header(&direct->reduce); /* without items */
	direct->plan.reduced = direct->placed;
	for (uint32_t i = 0; i < call->npieces; i++)
		if (direct->placed & 1u << i)
			item_bytes[n++] = call->pieces[i].len;
	in.nitems = n;
	if (rtr_layout_plan(&in, &direct->layout) != 0)
		return false;
	direct->reduce.layout = &direct->layout;
	direct->bytes = direct->layout.header_bytes;
	direct->split =
		(struct rtr_split){in.payload_bytes, direct->bytes, direct->layout.lead_bytes};
	direct->count = direct->layout.count;
	return true;
}

static bool size_call(struct call_directions *direct)
{
	if (direct->placed)
		return lay_out(direct);
	direct->reduce.layout = NULL;
	direct->bytes = rtr_reduce_call_header(&direct->reduce);
	direct->split = (struct rtr_split){direct->plan.inline_bytes, direct->bytes,
					   direct->whole.call_inline_bytes};
	direct->count = rtr_split_count(&direct->split);
	return direct->count > 0 && direct->count <= direct->count_max;
}

/* Returns the number of transmissions of the longest reply, if 'min_bytes' is the minimum of
 * directions. Returns 0 if there would be too many. */
static uint32_t size_reply(struct call_directions *direct, uint32_t min_bytes)
{
	struct rtr_split split = {.send_bytes_max = direct->lead};
	uint32_t targets = rtr_buffer_targets(own_buffer(direct)), count;
	uint64_t payload;

	direct->reduce.min_bytes = min_bytes;
	rtr_reduce_reply_max(&direct->reduce, &split.header_bytes, &payload);
	if (payload > UINT32_MAX - 3)
		return 0;
	split.payload_bytes = ((uint32_t)payload + 3) & ~3u;
	count = rtr_split_count(&split);
	if (count > 0 && direct->reduce.results_by == RTR_TBSN && direct->reduce.own_targets > 0 &&
	    count < (direct->reduce.own_targets + targets - 1) / targets)
		count = (direct->reduce.own_targets + targets - 1) / targets;
	return count <= direct->reply_count_max ? count : 0;
}

/* Finds the numbers of transmissions. The directions have a minimum if the reply then needs no more
 * transmissions than without. Returns false if the call or its reply does not fit. */
static bool size_up(struct call_directions *direct)
{
	uint32_t least = size_reply(direct, 0);

	direct->reply_count = size_reply(direct, DIRECT_MIN);
	if (direct->reply_count == 0 || direct->reply_count > least)
		direct->reply_count = size_reply(direct, 0);
	return direct->reply_count > 0 && size_call(direct);
}

/* Returns the number of targets of this side for the longest results with memory, with at most
 * 'most' bytes of each. */
static uint32_t count_targets(const struct call_directions *direct, uint32_t most)
{
	const struct rtr_buffer *own = own_buffer(direct);
	uint32_t targets = rtr_buffer_targets(own), n = 0;

	for (uint32_t i = 0; i < direct->call->nresults; i++) {
		uint32_t left = direct->call->results[i].remote.len;

		if (left > most)
			left = most;
		/* If the number exceeds the maximum by one, the caller knows that there are too few
		 * targets. */
		while (left > 0 && n <= RTR_PLACE_TARGETS_MAX) {
			struct rtr_target target;

			(void)rtr_buffer_target(own, n++ % targets, &target);
			left -= left < target.length ? left : target.length;
		}
	}
	return n;
}

/* Returns whether no result is longer than 'most', and results are so few that any device gathers
 * them. */
static bool may_be_placed(const struct call_directions *direct, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < direct->call->nresults; i++) {
		if (direct->call->results[i].remote.len == 0)
			continue;
		if (direct->call->results[i].max_bytes > most)
			return false;
		n++;
	}
	return n <= PLACED_RESULTS_MAX;
}

/* Sets how results are requested. Returns whether this is possible, in view of everything else. */
static bool ask(struct call_directions *direct, enum rtr_type results_by)
{
	const struct weir_conn *conn = direct->call->conn;
	const struct rtr_buffer *own = own_buffer(direct);
	const struct rtr_costs costs = requester_costs(conn->ep.engine);
	const uint32_t most = rtr_place_max(&costs);
	const uint64_t room = (uint64_t)rtr_buffer_targets(own) * direct->reply_count_max;

	direct->lead = conn->recv_inline;
	direct->reduce.results_by = results_by;
	direct->reduce.own_targets = 0;
	if (results_by == RTR_EXRW)
		return true;
	if (!has_results(direct) || room == 0)
		return false;
	direct->reduce.own_targets = count_targets(direct, most);
	if (results_by == RTR_BYSIZE) {
		if (direct->reduce.own_targets > room)
			direct->reduce.own_targets = (uint32_t)room;
		return true;
	}
	/* The responder can't choose another way. Therefore the peer must be known to place data,
	 * in messages as long as the receives of this side. */
	if (lead_bytes(own) < direct->lead)
		direct->lead = lead_bytes(own);
	return conn->v2->places && conn->v2->peer.send_bytes_max >= own->length &&
	       direct->reduce.own_targets <= room && may_be_placed(direct, most);
}

/* Sets the maximum size of results in targets, for RTR_BYSIZE. All of them must fit into the
 * transmissions that the reply may have. */
static void set_size(struct call_directions *direct)
{
	const struct rtr_buffer *own = own_buffer(direct);
	const struct rtr_costs costs = requester_costs(direct->call->conn->ep.engine);
	const uint64_t room = (uint64_t)(own->length - lead_bytes(own)) * direct->reply_count;

	direct->reduce.dsdov = rtr_place_max(&costs);
	if (direct->reduce.dsdov > room)
		direct->reduce.dsdov = (uint32_t)room;
}

/* Returns the bytes of items that do not arrive in one piece, because they take targets of several
 * transmissions. */
static uint64_t apart_bytes(const struct call_directions *direct)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; direct->placed && i < direct->layout.nitems; i++) {
		uint32_t first = direct->layout.items[i].first_tbsn,
			 n = direct->layout.items[i].ntbsns;

		if (n > 0 &&
		    first / direct->layout.targets != (first + n - 1) / direct->layout.targets)
			bytes += direct->layout.items[i].len;
	}
	return bytes;
}

/* Returns whether several transmissions cost no more than the chunks that they save. */
static bool is_worth_it(struct call_directions *direct)
{
	const struct weir_call *call = direct->call;
	const struct rtr_costs costs = requester_costs(call->conn->ep.engine);
	const uint32_t chunks =
		(uint32_t)__builtin_popcount(call->plan.reduced) + (call->plan.form == REDUCE_LONG);
	const uint32_t left = (uint32_t)__builtin_popcount(direct->plan.reduced & ~direct->placed);
	struct rtr_load request = {apart_bytes(direct), direct->count,
				   chunks > left ? chunks - left : 0};
	struct rtr_load reply = {call->reply_max_bytes, direct->reply_count,
				 call->plan.need_reply_chunk};

	if (direct->count == 1 && direct->reply_count == 1)
		return true;
	if (rtr_split_count(&direct->split) > 1)
		request.bytes += direct->split.payload_bytes;
	for (uint32_t i = 0; i < call->nresults; i++) {
		bool is_placed =
			direct->reduce.results_by == RTR_TBSN && call->results[i].remote.len > 0;

		if (is_placed || !call->plan.use_write_list || call->results[i].remote.len == 0)
			reply.bytes += call->results[i].max_bytes;
		reply.nchunks += is_placed;
	}
	if (rtr_choose_continued(&costs, &request, &reply))
		return true;
	direct->is_dear = true;
	return false;
}

static bool try(struct call_directions *direct, enum rtr_type results_by)
{
	if (!ask(direct, results_by) || !size_up(direct) || !is_worth_it(direct))
		return false;
	set_size(direct);
	return true;
}

/* Chooses the best way that is possible. Returns false if only the base protocol is possible. */
static bool choose(struct call_directions *direct)
{
	static const enum rtr_type ways[] = {RTR_TBSN, RTR_BYSIZE, RTR_EXRW};
	const struct weir_call *call = direct->call;
	uint32_t placed = choose_placed(call);

	direct->plan = call->plan;
	take_out(direct, placed, placed);
	for (uint32_t i = 0; placed && i < 3; i++)
		if (try(direct, ways[i]))
			return true;
	/* transmit_request.c handles a call that has only payload. */
	if (!call->plan.reduced && !has_results(direct))
		return false;
	take_out(direct, call->plan.reduced, 0);
	for (uint32_t i = 0; i < 3; i++)
		if ((ways[i] != RTR_EXRW || call->conn->v2->directs) && try(direct, ways[i]))
			return true;
	return false;
}

bool call_may_have_directions(const struct weir_call *call, uint32_t reply_count_max)
{
	const struct conn_v2 *v2 = call->conn->v2;
	const bool has_results = call->plan.use_write_list && call->nresults > 0;

	if (!v2->extends || !v2->asks || call->avoids_extension ||
	    (call->plan.need_reply_chunk && reply_count_max == 1))
		return false;
	return call->plan.reduced || has_results || choose_placed(call);
}

void call_directions_begin(struct call_directions *direct, struct weir_call *call,
			   const struct reduce_call_in *in)
{
	struct weir_conn *conn = call->conn;

	*direct = (struct call_directions){.call = call, .whole = *in, .base = call->plan};
	direct->whole.call_inline_bytes = conn->send_inline;
	direct->reduce = (struct rtr_reduce_call){
		.in = &direct->whole, .plan = &direct->plan, .base = conn->v2->rtr_base};
}

uint64_t *call_directions_choose(struct call_directions *direct, uint32_t count_max,
				 uint32_t reply_count_max)
{
	struct weir_engine_stats *stats = &call_engine(direct->call)->stats;

	direct->count_max = count_max;
	direct->reply_count_max = reply_count_max;
	direct->is_dear = false;
	if (choose(direct))
		return NULL;
	return direct->is_dear ? &stats->fallbacks_costs : &stats->fallbacks_limits;
}

uint64_t *call_directions_take(const struct call_directions *direct)
{
	struct weir_call *call = direct->call;

	if (call_reserve_header(call, direct->bytes) != 0)
		return &call_engine(call)->stats.fallbacks_buffers;
	call->header_bytes = direct->bytes;
	call->lead_bytes = direct->split.send_bytes_max;
	call->has_lists = true;
	call->asks_without_chunks = true;
	call->placed = direct->placed;
	call->plan = direct->plan;
	call->results_by = direct->reduce.results_by;
	call->extension = direct->reduce.base;
	call->reply_count_max = 1;
	return NULL;
}

void call_directions_undo(const struct call_directions *direct)
{
	call_release_extra(direct->call);
	direct->call->has_extra = true;
	direct->call->plan = direct->base;
}

void call_directions_finish(struct call_directions *direct)
{
	struct weir_call *call = direct->call;
	struct weir_engine_stats *stats = &call_engine(call)->stats;
	bool names_results = call->plan.use_write_list && call->results_by != RTR_TBSN;

	direct->reduce.split = &direct->split;
	direct->reduce.count = direct->count;
	direct->reduce.reply_count = direct->reply_count;
	rtr_reduce_call_encode(&direct->reduce, call->xid, requester_of(call->conn)->credits.wanted,
			       call->header);
	if (call->window_bindings)
		call_plan_chunks(call, call->plan.reduced & ~call->placed, names_results);
	call->is_exposed =
		(call->plan.reduced & ~call->placed) || (names_results && call->nresults > 0);
	stats->extended_calls++;
	stats->directed_calls++;
}
