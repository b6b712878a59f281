/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application of the requesters of weir-sim. It makes the planned calls and checks how each of
 * them ends.
 */
#include "wsim.h"

#include <errno.h>
#include <string.h>

#ifndef WEIR_WITHOUT_VERSION2
#include "rdma2.h"
#endif

static const struct weir_rpc_auth cred = {
	.flavor = WEIR_RPC_AUTH_SYS,
	.len_bytes = 20,
	.body = (const uint8_t *)"\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\0",
};

uint32_t wsim_marker(uint32_t call, uint32_t item)
{
	return (call + 1) * 2654435761u + item;
}

static bool may_end_connections(const struct wsim_run *run)
{
	return run->options.level > 0;
}

/* Compares the results with the plan of the call, byte by byte. */
static void check_results(struct wsim_run *run, uint32_t id, struct weir_call *call,
			  const struct weir_result *result)
{
	const struct wsim_call *plan = &run->calls[id];
	uint32_t value = 0, n = 0, item = 0;

	if (plan->proc == WSIM_NULL) {
		if (weir_xdr_remaining(result->results) != 0)
			wsim_violation(run, "call %u: NULL has results", id);
		return;
	}
	weir_xdr_get_u32(result->results, &value);
	weir_xdr_get_u32(result->results, &n);
	if (value != wsim_marker(id, 99) || n != plan->nresults) {
		wsim_violation(run, "call %u: the reply is another's", id);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		const void *data = NULL;
		uint32_t len = 0;
		int rc;

		if (plan->results[i].is_item)
			rc = weir_result_opaque(call, result, item++, &data, WSIM_ITEM_BYTES, &len);
		else
			rc = weir_xdr_get_opaque_ref(result->results, &data, WSIM_ITEM_BYTES, &len);
		if (rc != 0 || len != plan->results[i].len ||
		    memcmp(data, wsim_content(id, i, true), len) != 0) {
			wsim_violation(
				run, "call %u: result %u is not what was sent (%d, %u bytes of %u)",
				id, i, rc, len, plan->results[i].len);
			return;
		}
		if (weir_xdr_get_u32(result->results, &value) != 0 || value != wsim_marker(id, i)) {
			wsim_violation(run, "call %u: what follows result %u is wrong", id, i);
			return;
		}
	}
	if (weir_xdr_remaining(result->results) != 0)
		wsim_violation(run, "call %u: bytes are left behind the results", id);
}

static void check_reply(struct wsim_run *run, uint32_t id, struct weir_call *call,
			const struct weir_result *result)
{
	static const uint32_t stats[] = {
		[ANSWER_OK] = WEIR_RPC_SUCCESS,
		[ANSWER_GARBAGE] = WEIR_RPC_GARBAGE_ARGS,
		[ANSWER_SYSTEM_ERR] = WEIR_RPC_SYSTEM_ERR,
	};
	const struct weir_rpc_reply_header *reply = result->reply;
	const struct wsim_call *plan = &run->calls[id];

	if (weir_call_retransmits(call) > run->profile.resends)
		wsim_violation(run, "call %u: sent again too often", id);
	run->counts.rpc_errors += plan->answer != ANSWER_OK || plan->had_no_buffer;
	bool ran_again = plan->reconnects && weir_call_retransmits(call) > 0 && plan->handled > 1;

	if (plan->handled == 0 || plan->replied == 0 ||
	    (!ran_again && (plan->handled != 1 || plan->replied != 1)))
		wsim_violation(run,
			       "call %u: a reply came, but its handler ran %u times and replied %u",
			       id, plan->handled, plan->replied);
	else if (plan->answer == ANSWER_DENIED && reply->reply_stat == WEIR_RPC_MSG_DENIED)
		return;
	else if (reply->reply_stat != WEIR_RPC_MSG_ACCEPTED ||
		 (reply->accept_stat !=
			  (plan->had_no_buffer ? WEIR_RPC_SYSTEM_ERR : stats[plan->answer]) &&
		  !(ran_again && reply->accept_stat == stats[plan->answer])))
		wsim_violation(run, "call %u: the reply's status is %u, %u", id, reply->reply_stat,
			       reply->accept_stat);
	else if (reply->accept_stat == WEIR_RPC_SUCCESS)
		check_results(run, id, call, result);
}

/*
 * Returns true if the error says that the chunks are too small, or that there are more chunks than
 * buffers.
 */
static bool is_for_want(const struct weir_conn *conn, uint32_t rdma_err)
{
#ifndef WEIR_WITHOUT_VERSION2
	if (weir_conn_version(conn) == RDMA2_VERSION)
		return rdma_err == RDMA2_ERR_REPLY_RESOURCE || rdma_err == RDMA2_ERR_SYSTEM;
#else
	(void)conn;
#endif
	return rdma_err == RDMA1_ERR_CHUNK;
}

static struct wsim_link *link_of(const struct weir_call *call)
{
	return weir_conn_user(weir_call_conn(call));
}

/* Checks if the status with which the call ended is possible. */
static void check_status(struct wsim_run *run, uint32_t id, const struct weir_call *call,
			 const struct weir_result *result)
{
	const struct wsim_call *plan = &run->calls[id];
	uint64_t timeout_ns =
		plan->timeout_ns ? plan->timeout_ns : run->profile.call_timeout_ms * MS;
	bool is_closed = weir_call_conn(call)->state == CONN_CLOSED;

	switch (result->status) {
	case 0:
		return;
	case -EREMOTEIO:
		run->counts.err_chunk++;
		if (!is_for_want(weir_call_conn(call), result->rdma_err) ||
		    !wsim_may_be_err_chunk(run, plan))
			wsim_violation(run, "call %u: RDMA_ERROR %u for what could be conveyed", id,
				       result->rdma_err);
		return;
	case -ETIMEDOUT:
		run->counts.timed_out++;
		if (!is_closed && wsim_now(run) < plan->begun_ns + timeout_ns)
			wsim_violation(run, "call %u: timed out before its time", id);
		return;
	case -ECANCELED:
		run->counts.cancelled++;
		/*
		 * The call can end this way because another call of its connection was cancelled.
		 * Only the end of the connection could revoke access to the memory of that call.
		 */
		if (!plan->is_cancelled && !(is_closed && link_of(call)->side->ncancelled > 0))
			wsim_violation(run, "call %u: cancelled by nobody", id);
		return;
	case -ECONNABORTED:
	case -ECONNRESET:
	case -ESHUTDOWN:
	case -ENOBUFS:
	case -EPROTO:
	case -EIO:
		run->counts.lost++;
		if (result->status == -ENOBUFS && plan->reconnects && run->is_tight)
			return;
		if (!is_closed)
			wsim_violation(run, "call %u: ended with %d, but the connection goes on",
				       id, result->status);
		else if (!may_end_connections(run))
			wsim_violation(run, "call %u: the connection was lost (%d) without a fault",
				       id, result->status);
		else if ((result->status == -EPROTO || result->status == -EIO) &&
			 run->options.level < 2)
			wsim_violation(run, "call %u: a peer broke the rules, or the driver (%d)",
				       id, result->status);
		return;
	case -ENOTRECOVERABLE:
		run->counts.lost++;
		if (!plan->reconnects || weir_call_retransmits(call) <= run->profile.resends ||
		    !may_end_connections(run))
			wsim_violation(run, "call %u: given up too early", id);
		return;
	default:
		/* The status is the error of the latest failed attempt to reconnect. */
		run->counts.lost++;
		if (!plan->reconnects || !is_closed || !may_end_connections(run))
			wsim_violation(run, "call %u: ended with %d", id, result->status);
	}
}

/*
 * Cancels one of the latest calls, with a chance of 'percent' in 100. 'done' must be called after
 * the cancel, and must not have been called before it. Then the memory of the call belongs to the
 * application again.
 */
void wsim_call_cancel_some(struct wsim_run *run, uint32_t percent)
{
	struct wsim_call *plan;
	uint32_t back;
	int rc;

	if (!run->cancels || run->ncalls == 0 || wsim_random_of(&run->cancel_rng) % 100 >= percent)
		return;
	back = (uint32_t)(wsim_random_of(&run->cancel_rng) % (run->ncalls < 16 ? run->ncalls : 16));
	plan = &run->calls[run->ncalls - 1 - back];
	if (!plan->call)
		return;
	rc = weir_call_cancel(plan->call);
	wsim_note(run, "cancel", plan->side->index, run->ncalls - 1 - back, (uint64_t)-rc);
	if (rc == 0) {
		plan->is_cancelled = true;
		plan->side->ncancelled++;
		/* -EINVAL is possible, because the call can already be about to end */
	} else if (rc != -EINVAL) {
		wsim_violation(run, "call %u: cancelling it gave %d", run->ncalls - 1 - back, rc);
	}
}

/* Offers memory for the results of an operation, or for all results if 'op' is WSIM_ITEMS. */
static int offer(struct wsim_side *side, const struct wsim_call *plan, uint32_t op,
		 struct weir_call *call)
{
	struct wsim_slot *slot = &side->slots[plan->slot];
	uint32_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < plan->nresults && n < plan->noffers && rc == 0; i++) {
		uint8_t *at;

		if (!plan->results[i].is_item)
			continue;
		if (op == WSIM_ITEMS || op == wsim_op_of(plan, i)) {
			at = plan->offers[n] ? wsim_slot_item(side, plan->slot, WSIM_ITEMS + n)
					     : NULL;
			slot->used[WSIM_ITEMS + n] = plan->offers[n];
			rc = weir_call_result_item(call, side->region, at, plan->offers[n]);
		}
		n++;
	}
	return rc;
}

static int describe(struct wsim_link *link, uint32_t id, struct weir_call *call)
{
	struct wsim_side *side = link->side;
	const struct wsim_call *plan = &side->run->calls[id];
	struct wsim_slot *slot = &side->slots[plan->slot];
	struct weir_xdr_out *args = weir_call_args(call);
	int rc = 0;

	if (plan->proc == WSIM_NULL)
		return weir_xdr_put_u32(args, id);
	weir_xdr_put_u32(args, id);
	weir_xdr_put_u32(args, plan->nargs);
	for (uint32_t i = 0; i < plan->nargs && rc == 0; i++) {
		uint32_t len = plan->args[i].len;
		const uint8_t *data = wsim_content(id, i, false);

		if (plan->has_ops)
			rc = weir_call_operation(call);
		if (rc == 0 && plan->args[i].is_item) {
			uint8_t *at = wsim_slot_item(side, plan->slot, i);

			memcpy(at, data, len);
			slot->used[i] = len;
			rc = weir_call_arg_item(call, side->region, at, len);
		} else {
			weir_xdr_put_opaque(args, data, len);
		}
		weir_xdr_put_u32(args, wsim_marker(id, i));
		if (rc == 0 && plan->has_ops)
			rc = offer(side, plan, i, call);
	}
	return rc == 0 && !plan->has_ops ? offer(side, plan, WSIM_ITEMS, call) : rc;
}

static void refused(struct wsim_run *run, uint32_t id, int rc, bool must_work)
{
	run->counts.refused++;
	if (must_work || (rc != -ENOBUFS && rc != -EAGAIN && rc != -ENOTCONN && rc != -EMSGSIZE))
		wsim_violation(run, "call %u: refused with %d", id, rc);
}

/* Submits a call that was begun with the plan 'id'. */
static void submit(struct wsim_link *link, uint32_t id, struct weir_call *call, bool must_work)
{
	struct wsim_side *side = link->side;
	struct wsim_run *run = side->run;
	struct wsim_call *plan = &run->calls[id];
	int rc;

	plan->side = side;
	plan->slot = (uint32_t)wsim_slot_get(side);
	plan->begun_ns = weir_engine_now(side->engine);
	plan->reconnects = link->reconnects;
	rc = describe(link, id, call);
	if (rc == 0) {
		/*
		 * Inside weir_call_submit(), other calls can end by their timeout, but not this
		 * one.
		 */
		plan->is_submitted = true;
		run->nactive++;
		rc = weir_call_submit(call);
	}
	if (rc != 0) {
		run->nactive -= plan->is_submitted;
		plan->is_submitted = false;
		weir_call_abandon(call);
		wsim_slot_put(side, plan->slot);
		refused(run, id, rc, must_work);
		return;
	}
	plan->call = call;
	run->counts.calls++;
	wsim_note(run, "call", side->index, id, plan->proc);
}

/* Reuses a call that has just ended, with other data. */
static void call_reuse(struct wsim_link *link, struct weir_call *call, uint32_t first,
		       const struct wsim_call *ended)
{
	struct wsim_side *side = link->side;
	struct wsim_run *run = side->run;
	uint32_t id = run->ncalls;
	struct wsim_call *plan = &run->calls[id];
	struct wsim_link *to = link;
	struct weir_call *next;

	if (!run->calls_again || run->is_calm || id >= WSIM_CALLS - WSIM_CALLS_LAST ||
	    side->nslots_busy == WSIM_SLOTS || wsim_random_of(&run->again_rng) % 100 >= 50)
		return;
	*plan = (struct wsim_call){
		.proc = ended->proc,
		.nargs = ended->nargs,
		.nresults = ended->nresults,
		.noffers = ended->noffers,
		.is_short = ended->is_short,
		.answer = ended->answer,
		.delay_ns = ended->delay_ns,
		.timeout_ns = ended->timeout_ns,
		.place = ended->place,
		.has_cred = ended->has_cred,
		.use_scratch = ended->use_scratch,
		.has_ops = ended->has_ops,
		.latest = id,
	};
	memcpy(plan->args, ended->args, sizeof(plan->args));
	memcpy(plan->results, ended->results, sizeof(plan->results));
	memcpy(plan->offers, ended->offers, sizeof(plan->offers));
	if (wsim_random_of(&run->again_rng) % 4 == 0)
		to = &side->links[wsim_random_of(&run->again_rng) % side->nlinks];
	if (!to->conn)
		to = link;
	run->ncalls++;
	next = weir_call_reuse(call, to->conn);
	wsim_note(run, "again", side->index, id, next == call);
	if (!next) {
		refused(run, id, -errno, false);
		return;
	}
	run->calls[first].latest = id;
	submit(to, id, next, false);
}

/* Applications also cancel and make calls in callbacks. */
static void act_in_callback(struct wsim_run *run, struct wsim_link *link)
{
	if (run->is_calm)
		return;
	wsim_call_cancel_some(run, 5);
	if (wsim_chance(run, 20))
		wsim_call_make(link, false);
	if (may_end_connections(run) && link->conn && wsim_chance(run, 1))
		weir_conn_close(link->conn);
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct wsim_link *link = link_of(call);
	struct wsim_run *run = link->side->run;
	uint32_t first = (uint32_t)(uintptr_t)arg, id = run->calls[first].latest;
	struct wsim_call *plan = &run->calls[id];

	wsim_note(run, "done", link->side->index, id, (uint64_t)-result->status);
	if (plan->done++ > 0 || !plan->is_submitted) {
		wsim_violation(run, "call %u: completed %u times", id, plan->done);
		return;
	}
	run->nactive--;
	plan->call = NULL;
	plan->status = result->status;
	check_status(run, id, call, result);
	if (result->status == 0) {
		run->counts.ok++;
		check_reply(run, id, call, result);
	}
	/* The memory of the call belongs to the application, which reuses it at once. */
	wsim_slot_put(plan->side, plan->slot);
	call_reuse(link, call, first, plan);
	act_in_callback(run, link);
}

void wsim_call_make(struct wsim_link *link, bool must_work)
{
	struct wsim_side *side = link->side;
	struct wsim_run *run = side->run;
	uint32_t id = run->ncalls;
	struct wsim_call *plan = &run->calls[id];
	struct weir_call_params params;
	struct weir_call *call;

	if (id >= WSIM_CALLS - (run->is_calm ? 0 : WSIM_CALLS_LAST) || !link->conn ||
	    side->nslots_busy == WSIM_SLOTS)
		return;
	wsim_plan(run, plan);
	if (must_work)
		plan->is_short = false;
	params = (struct weir_call_params){
		.struct_bytes = sizeof(struct weir_call_params),
		.prog = WSIM_PROG,
		.vers = WSIM_VERS,
		.proc = plan->proc,
		.args_max_bytes = wsim_args_bytes(plan),
		.results_max_bytes = plan->proc == WSIM_NULL ? 0 : wsim_results_bytes(plan),
		.timeout_ns = plan->timeout_ns,
		.cred = plan->has_cred ? &cred : NULL,
		.ulb = &wsim_ulb,
		.done = on_done,
		.arg = (void *)(uintptr_t)id,
	};
	plan->latest = id;
	run->ncalls++;
	call = weir_call_begin(link->conn, &params);
	if (!call) {
		refused(run, id, -errno, must_work);
		return;
	}
	submit(link, id, call, must_work);
}
