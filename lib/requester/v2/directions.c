/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by the extension with data that are placed directly (draft-dnoveck-nfsv4-rpcrdma-rtrext-01
 * sections 3.3, 7.3 and 7.4). In a Transmit Request, items replace the Read chunks of the base
 * protocol, and directions for results replace its Write chunks. The call is sent in the first of
 * these ways that is possible:
 *
 * - In as many transmissions as it needs. Message continuation (transmit_request.c) carries data or
 *   payload that do not fit into one transmission.
 * - In one transmission, with a reply in one transmission. This way is tried if the first way is
 * not allowed by a limit, costs too much, or needs a resource that is not available.
 * - By the base protocol.
 *
 * Items are placed in targets of the responder if all of them fit, and if the rest of the message
 * fits before the targets. Otherwise the items name memory, which is exposed like that of a chunk.
 * Results are requested in the first of these ways that is possible:
 *
 * - RTR_TBSN: the responder places the results in targets of this side. The longest possible
 * results must all fit, and the responder must be known to be able to place them.
 * - RTR_BYSIZE: the directions name memory and a size. The responder places results up to this size
 *   in targets, and writes longer results to the memory.
 * - RTR_EXRW: the responder writes the results to memory by explicit RDMA.
 *
 * If the costs in the profile say that the copy of a result costs more than a Write, the result is
 * written. Several transmissions are not used if they cost more than the chunks that they save. A
 * result that is shorter than DIRECT_MIN arrives in the payload of the reply, which is less work
 * for the responder than a Write.
 */
#include "directions.h"

#include "placement.h"

_Static_assert(WEIR_ITEM_INLINE == RTR_REDUCE_INLINE,
	       "what a reply says goes to the application as it is");

/* Results with fewer bytes are returned in the payload. To copy this number of bytes costs no more
 * than to post a Write. */
#define DIRECT_MIN 256u
#define PLACED_RESULTS_MAX                                                                         \
	(ENGINE_PLACE_SGES /                                                                       \
	 2) /* limit on results that are requested by RTR_TBSN: each needs two gather elements */

/* Returns the structure of this side's receives. */
static const struct rtr_buffer *own_buffer(const struct call_directions *direct)
{
	return &direct->call->conn->v2->mine;
}

static bool has_results(const struct call_directions *direct)
{
	return direct->plan.use_write_list && direct->call->nresults > 0;
}

/* Returns the offset of the first target in a receive with this structure, or 0 if the receive has
 * no target. */
static uint32_t lead_bytes(const struct rtr_buffer *buffer)
{
	struct rtr_target first;

	return rtr_buffer_target(buffer, 0, &first) ? first.offset : 0;
}

/* Returns the pieces that can be placed in targets, as bits. These are all DDP-eligible items, even
 * those in memory that the peer can't read. Returns 0 if the call fits inline, or if nothing can be
 * placed on the connection. */
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

/* Changes the plan so that the payload of the call does not contain the pieces in 'reduced'. Those
 * of them that are in 'placed' will be placed in targets. lay_out() finds the layout later. */
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

/* Finds the layout of the placed items and the payload, and with it the length of the header and
 * the number of transmissions. Returns false if there is no layout within the limits. */
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

/* Finds the length of the header and the number of transmissions of the call. Returns false if the
 * call needs too many. */
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

/* Returns the number of transmissions of the longest reply, if the directions say that results
 * shorter than 'min_bytes' are returned in the payload. Returns 0 if there would be too many. */
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

/* Finds the numbers of transmissions of the call and of its longest reply. The directions get the
 * minimum DIRECT_MIN if the reply needs no more transmissions with the minimum than without it.
 * Returns false if the call or the reply does not fit into the allowed transmissions. */
static bool size_up(struct call_directions *direct)
{
	uint32_t least = size_reply(direct, 0);

	direct->reply_count = size_reply(direct, DIRECT_MIN);
	if (direct->reply_count == 0 || direct->reply_count > least)
		direct->reply_count = size_reply(direct, 0);
	return direct->reply_count > 0 && size_call(direct);
}

/* Returns how many targets of this side the longest results with memory need, if at most 'most'
 * bytes of each result are placed. */
static uint32_t count_targets(const struct call_directions *direct, uint32_t most)
{
	const struct rtr_buffer *own = own_buffer(direct);
	uint32_t targets = rtr_buffer_targets(own), n = 0;

	for (uint32_t i = 0; i < direct->call->nresults; i++) {
		uint32_t left = direct->call->results[i].remote.len;

		if (left > most)
			left = most;
		/* The loop ends when the number exceeds the maximum by one. The caller then knows
		 * that there are too few targets. */
		while (left > 0 && n <= RTR_PLACE_TARGETS_MAX) {
			struct rtr_target target;

			(void)rtr_buffer_target(own, n++ % targets, &target);
			left -= left < target.length ? left : target.length;
		}
	}
	return n;
}

/* Returns whether no result with memory can be longer than 'most', and there are so few such
 * results that the device of any responder that places data can gather them. */
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

/* Sets the way in which results are requested to 'results_by'. Returns whether the limits of both
 * sides allow this way. */
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
	/* With RTR_TBSN, the responder can't choose another way. Therefore the responder must be
	 * known to place data, and to send messages as long as the receives of this side. */
	if (lead_bytes(own) < direct->lead)
		direct->lead = lead_bytes(own);
	return conn->v2->places && conn->v2->peer.send_bytes_max >= own->length &&
	       direct->reduce.own_targets <= room && may_be_placed(direct, most);
}

/* Sets the maximum size of a result in targets, for RTR_BYSIZE. It is at most the number of bytes
 * from the first target on, in all transmissions of the reply. */
static void set_size(struct call_directions *direct)
{
	const struct rtr_buffer *own = own_buffer(direct);
	const struct rtr_costs costs = requester_costs(direct->call->conn->ep.engine);
	const uint64_t room = (uint64_t)(own->length - lead_bytes(own)) * direct->reply_count;

	direct->reduce.dsdov = rtr_place_max(&costs);
	if (direct->reduce.dsdov > room)
		direct->reduce.dsdov = (uint32_t)room;
}

/* Returns the total length in bytes of the items that do not arrive in one piece, because they are
 * in targets of several transmissions. The responder must copy them. */
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

/* Returns whether the several transmissions of the call and its reply cost no more than the chunks
 * that they save, by the costs in the profile. Returns true if both have one transmission. */
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

/* Tries to request the results in the way 'results_by'. Returns whether this is possible and does
 * not cost too much. */
static bool try(struct call_directions *direct, enum rtr_type results_by)
{
	if (!ask(direct, results_by) || !size_up(direct) || !is_worth_it(direct))
		return false;
	set_size(direct);
	return true;
}

/* Chooses the way of the items and of the results: placed items before items that name memory, and
 * the ways for results in the order of the head of this file. Returns false if none is possible
 * within the limits. */
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
	/* transmit_request.c handles a call that has neither items nor results with memory. */
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
	struct engine_counters *stats = &call_engine(direct->call)->stats;

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
	struct engine_counters *stats = &call_engine(call)->stats;
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
