/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application of the responders of weir-sim. It checks the arguments of each call, and replies
 * at once or later.
 */
#include "wsim.h"

#include <string.h>

static struct wsim_side *side_of(const struct weir_request *req, struct wsim_run *run)
{
	for (uint32_t i = run->nrequesters; i < wsim_nsides(run); i++)
		if (run->sides[i].engine == weir_request_engine(req))
			return &run->sides[i];
	return NULL;
}

/*
 * Returns the call whose number is at the start of its arguments, or NULL if no such call was
 * submitted.
 */
static struct wsim_call *call_of(struct wsim_run *run, struct weir_xdr_in *args, uint32_t *id)
{
	if (weir_xdr_get_u32(args, id) != 0 || *id >= run->ncalls || !run->calls[*id].is_submitted)
		return NULL;
	return &run->calls[*id];
}

static void check_args(struct wsim_run *run, uint32_t id, struct weir_xdr_in *args)
{
	const struct wsim_call *plan = &run->calls[id];
	uint32_t n = 0;

	if (plan->proc != WSIM_NULL && (weir_xdr_get_u32(args, &n) != 0 || n != plan->nargs)) {
		wsim_violation(run, "call %u: the number of arguments is wrong", id);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = 0, marker = 0;
		const void *data = NULL;

		if (weir_xdr_get_opaque_ref(args, &data, WSIM_ITEM_BYTES, &len) != 0 ||
		    len != plan->args[i].len ||
		    memcmp(data, wsim_content(id, i, false), len) != 0 ||
		    weir_xdr_get_u32(args, &marker) != 0 || marker != wsim_marker(id, i)) {
			wsim_violation(run, "call %u: argument %u did not come as it was sent", id,
				       i);
			return;
		}
	}
	if (weir_xdr_remaining(args) != 0)
		wsim_violation(run, "call %u: bytes are left behind the arguments", id);
}

struct sent {
	struct wsim_side *side;
	uint32_t slot;
};

static struct sent sents[WSIM_ENGINES][WSIM_SLOTS];

static void on_sent(void *arg)
{
	struct sent *sent = arg;

	sent->side->on_sent_done++;
	wsim_slot_put(sent->side, sent->slot); /* reuses the memory at once */
}

/*
 * Adds the results. They are in memory of the application if it has a free slot, and otherwise in
 * the table.
 */
static int put_results(struct wsim_side *side, struct weir_request *req, uint32_t id,
		       struct weir_xdr_out *out)
{
	struct wsim_run *run = side->run;
	const struct wsim_call *plan = &run->calls[id];
	int slot = plan->use_scratch ? wsim_slot_get(side) : -1, rc = 0;

	if (slot >= 0) {
		struct sent *sent = &sents[side->index][slot];

		*sent = (struct sent){side, (uint32_t)slot};
		side->on_sent_asked++;
		weir_request_on_sent(req, on_sent, sent);
	}
	weir_xdr_put_u32(out, wsim_marker(id, 99));
	weir_xdr_put_u32(out, plan->nresults);
	for (uint32_t i = 0; i < plan->nresults && rc == 0; i++) {
		const uint8_t *data = wsim_content(id, i, true);
		uint32_t len = plan->results[i].len;

		if (plan->has_ops)
			weir_request_operation(req, wsim_op_at(plan, wsim_op_of(plan, i)));
		if (!plan->results[i].is_item) {
			weir_xdr_put_opaque(out, data, len);
		} else if (slot >= 0) {
			uint8_t *at = wsim_slot_item(side, (uint32_t)slot, i);

			memcpy(at, data, len);
			side->slots[slot].used[i] = len;
			rc = weir_request_result_item(req, side->region, at, len);
		} else {
			rc = weir_request_result_item(req, side->table, data, len);
		}
		weir_xdr_put_u32(out, wsim_marker(id, i));
	}
	return rc;
}

static void reply(struct wsim_side *side, struct weir_request *req, uint32_t id)
{
	struct wsim_run *run = side->run;
	struct wsim_call *plan = &run->calls[id];
	struct weir_xdr_out *out = NULL;

	plan->replied++;
	run->counts.orphans += weir_request_conn(req) == NULL;
	wsim_note(run, "reply", side->index, id, plan->answer);
	switch (plan->answer) {
	case ANSWER_OK:
		break;
	case ANSWER_DENIED:
		weir_request_reply_denied(req, WEIR_RPC_AUTH_TOOWEAK);
		return;
	case ANSWER_GARBAGE:
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	case ANSWER_SYSTEM_ERR:
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	/* The bound for the results does not include items that are passed by reference. */
	if (plan->proc == WSIM_NULL) {
		out = weir_request_results(req, 0);
	} else {
		uint32_t bytes = 8;

		for (uint32_t i = 0; i < plan->nresults; i++)
			bytes += 12 + (plan->results[i].is_item ? 0 : plan->results[i].len);
		out = weir_request_results(req, bytes);
	}
	if (!out) {
		plan->had_no_buffer = true;
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	if (plan->proc != WSIM_NULL && put_results(side, req, id, out) != 0)
		wsim_violation(run, "call %u: the handler's results were refused", id);
	weir_request_reply(req);
}

/* Checks how often a call ran.
 * - A call runs once.
 * - A call that may be retransmitted may run again.
 * - A call that is not idempotent may run again only after its responder died, because the
 *   duplicate request cache is then empty. */
static void check_runs(struct wsim_run *run, uint32_t id, const struct wsim_side *side)
{
	struct wsim_call *plan = &run->calls[id];
	bool was_here = plan->ran_side == side->index && plan->ran_life == side->life;
	bool has_died = plan->handled > 0 && plan->ran_life != run->sides[plan->ran_side].life;

	if (plan->handled++ > 0 &&
	    (!plan->reconnects ||
	     (run->keeps_replies && wsim_non_idempotent[plan->proc] && !has_died)))
		wsim_violation(run, "call %u: its handler ran %u times%s", id, plan->handled,
			       was_here ? "" : ", on two engines");
	plan->ran_side = side->index;
	plan->ran_life = side->life;
}

void wsim_handle(struct weir_request *req, void *arg)
{
	struct wsim_run *run = arg;
	struct wsim_side *side = side_of(req, run);
	struct weir_xdr_in *args = weir_request_args(req);
	struct wsim_call *plan;
	uint32_t id;

	plan = side ? call_of(run, args, &id) : NULL;
	if (!plan || weir_request_header(req)->proc != plan->proc) {
		wsim_violation(run, "a handler ran for what is no call");
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	}
	wsim_note(run, "handle", side->index, id, plan->proc);
	run->counts.handled++;
	check_runs(run, id, side);
	check_args(run, id, args);
	if (plan->delay_ns > 0 && run->nheld < WSIM_HELD)
		run->held[run->nheld++] =
			(struct wsim_held){req, side, id, wsim_now(run) + plan->delay_ns};
	else
		reply(side, req, id);
}

/*
 * Returns memory of the application for an argument. The memory belongs to the call until the
 * reply. It is scratch memory, because nobody is allowed to change the table.
 */
int wsim_place(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink,
	       void *arg)
{
	struct wsim_run *run = arg;
	struct wsim_side *side = side_of(req, run);
	struct weir_xdr_in args = *weir_request_args(req);
	struct wsim_call *plan;
	uint32_t id;

	plan = side ? call_of(run, &args, &id) : NULL;
	if (!plan || item >= WSIM_ITEMS || len > 8192) {
		wsim_violation(run, "a place was asked for what is no argument (item %u, %u bytes)",
			       item, len);
		return -1;
	}
	if (!(plan->place >> item & 1))
		return -1;
	/* The memory after the slots has space for each item of each call that can be active. */
	sink->region = side->region;
	sink->data = side->mem + WSIM_SLOTS * WSIM_SLOT_BYTES +
		     ((size_t)(id % WSIM_PLACED) * WSIM_ITEMS + item) * 8192u;
	return 0;
}

static void reply_at(struct wsim_run *run, uint32_t i)
{
	struct wsim_held held = run->held[i];

	run->held[i] = run->held[--run->nheld];
	reply(held.side, held.req, held.call);
}

void wsim_reply_due(struct wsim_run *run, uint64_t now_ns)
{
	for (uint32_t i = run->nheld; i-- > 0;)
		if (i < run->nheld && run->held[i].due_ns <= now_ns)
			reply_at(run, i);
}

void wsim_reply_all_of(struct wsim_side *side)
{
	for (uint32_t i = side->run->nheld; i-- > 0;)
		if (i < side->run->nheld && side->run->held[i].side == side)
			reply_at(side->run, i);
}
