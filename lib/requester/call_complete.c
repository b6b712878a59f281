/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends calls: calls 'done' of each call once, and frees the slot and the buffers of the call when
 * the device does not use them any more. */
#include "call_complete.h"

#include <errno.h>

#include "seeded_bugs.h"

out_of_line void call_add_times(const struct weir_call *call)
{
	uint64_t took_ns = engine_clock_ns(call_engine(call)) - call->times.begin_ns;
	struct weir_histogram *stages = call->procedure->stages;

	histogram_add(&call->procedure->times, took_ns);
	if (!stages)
		return;
	histogram_add(&stages[LATENCY_QUEUED], call->times.queued_ns);
	histogram_add(&stages[LATENCY_CREDIT], call->times.credit_ns);
	histogram_add(&stages[LATENCY_SENT],
		      took_ns - call->times.queued_ns - call->times.credit_ns);
}

/* Completes a call that holds more than its slot and 'args', or whose Send is not done. */
static void complete_any(struct weir_call *call, const struct weir_result *result)
{
	struct requester *req = requester_of(call->conn);

	call->conn->ep.engine->stats.calls_completed++;
	PROBE4(call_done, call->conn->id, call->xid, call->proc, result->status);
	req->nactive--;
	call->state = CALL_COMPLETING;
	/* The buffers are released before 'done', because a call that begins in 'done' might need
	 * them. If that call also needs the buffer 'args', reclaim_args() takes it. */
	call_release_unread(call);
	req->pool->ending = call;
	call->done(call, result, call->arg);
	call->state = CALL_SENDING;
	if (call->is_send_done || SEEDED_BUG(7))
		call_release(call);
}

void call_complete(struct weir_call *call, const struct weir_result *result)
{
	struct weir_engine *engine = call->conn->ep.engine;
	struct requester *req = requester_of(call->conn);
	struct call_pool *pool = req->pool;
	/* While 'done' of one call runs, another call can end: conn_tx_reserve() can post Sends,
	 * and a call whose reply has arrived ends when its Send is posted. pool->ending is set to
	 * the outer call again after that. */
	struct weir_call *outer = pool->ending;

	engine->stats.calls_failed += result->status != 0;
	if (result->status == 0)
		call_note_times(call);
	if (call->is_send_done && !call->has_extra)
		call_complete_reusable(engine, req, call, result);
	else
		complete_any(call, result);
	pool->ending = outer;
}

void call_fail(struct weir_call *call, int status)
{
	struct requester *req = requester_of(call->conn);
	const struct weir_result result = {.status = status};

	if (call->state == CALL_QUEUED)
		TAILQ_REMOVE(&req->queue, call, queue);
	else if (call->state == CALL_SENT || call->state == CALL_REPLIED ||
		 call->state == CALL_REVOKING)
		credit_lost(&req->credits, 1 + call->more);
	/* If the call was not sent, or its queue pair was destroyed, the device reads nothing. */
	if (call->state == CALL_QUEUED || !call->conn->qp)
		call->is_send_done = true;
	call_complete(call, &result);
}

void call_free_when_sent(struct weir_call *call)
{
	call->state = CALL_SENDING;
	if (call->is_send_done)
		call_release(call);
}

void call_give_up(struct weir_call *call)
{
	struct engine_counters *stats = &call->conn->ep.engine->stats;
	const struct weir_result result = {.status = call->is_cancelled ? -ECANCELED : -ETIMEDOUT};

	requester_of(call->conn)->nactive--;
	stats->calls_completed++;
	stats->calls_failed++;
	PROBE4(call_done, call->conn->id, call->xid, call->proc, result.status);
	if (call->is_refused) { /* the responder does not have the call and will not reply */
		credit_lost(&requester_of(call->conn)->credits, 1 + call->more);
		call->state = CALL_COMPLETING;
		call->done(call, &result, call->arg);
		call_free_when_sent(call);
		return;
	}
	call->state = CALL_ZOMBIE;
	call->done(call, &result, call->arg);
}
