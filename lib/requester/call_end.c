/* SPDX-License-Identifier: BSD-3-Clause */
/* How a call ends: 'done' once, then its slot and buffers, as soon as the device is out of them. */
#include "call_end.h"

#include <errno.h>

#include "forked.h"
#include "seeded_bugs.h"

#define REVOKE_NS                                                                                  \
	1000000000u /* for the device to invalidate the keys of a call that is given up            \
		     */

/* Of a call that holds more than its message, or whose Send is not done. */
static void complete_any(struct weir_call *call, const struct weir_result *result)
{
	struct requester *req = requester_of(call->conn);

	call->conn->ep.engine->stats.calls_completed++;
	req->nactive--;
	call->state = CALL_COMPLETING;
	/* Before 'done', since a call that it makes may need the buffers; its pool
	 * gives it 'args'. */
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
	/* In the 'done' of one call another may end, where room is made for a Send. */
	struct weir_call *outer = pool->ending;

	engine->stats.calls_failed += result->status != 0;
	if (call->is_send_done && !call->has_extra)
		call_complete_plain(engine, req, call, result);
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
	/* A call that was not sent has no Send to wait for; after the end of a connection none has.
	 */
	if (call->state == CALL_QUEUED || !call->conn->qp)
		call->is_send_done = true;
	call_complete(call, &result);
}

void call_give_up(struct weir_call *call)
{
	struct weir_engine_stats *stats = &call->conn->ep.engine->stats;
	const struct weir_result result = {.status = call->is_cancelled ? -ECANCELED : -ETIMEDOUT};

	requester_of(call->conn)->nactive--;
	stats->calls_completed++;
	stats->calls_failed++;
	if (call->is_refused) { /* the responder does not have it: no reply is to come */
		credit_lost(&requester_of(call->conn)->credits, 1 + call->more);
		call->state = CALL_COMPLETING;
		call->done(call, &result, call->arg);
		call->state = CALL_SENDING;
		if (call->is_send_done)
			call_release(call);
		return;
	}
	call->state = CALL_ZOMBIE;
	call->done(call, &result, call->arg);
}

/* A call that is given up keeps its windows while the responder has it: not when that might leave
 * other connections too few. */
static bool may_keep_windows(const struct weir_engine *engine)
{
	return engine->nwindows_free >= engine->nwindows / 2;
}

/* The credits are all with calls that were given up, and none comes back but with a reply to one of
 * these: where nobody answers them, nothing can be sent any more. A remade connection has its
 * credits again. */
static bool is_stuck(const struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);
	uint32_t with_zombies = 0;

	if (!conn->reconnects || conn->state != CONN_OPEN || credit_available(&req->credits) > 0)
		return false;
	for (uint32_t i = 0; i < req->nslots; i++)
		if (req->slots[i].call->state == CALL_ZOMBIE)
			with_zombies += 1 + req->slots[i].call->more;
	return with_zombies > 0 && with_zombies == req->credits.in_flight;
}

/* Its time is over, or it was cancelled. Memory that the responder may still read or write goes
 * back to the application only when it can't any more: the keys are invalidated first, or the
 * connection is ended (RFC 8166 sections 4.4.1 and 4.5.4). */
static void time_out(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;

	if (call->state == CALL_REVOKING) {
		conn_fail(conn, -ETIMEDOUT); /* the device does not get to it: the peer keeps it
						from that */
		return;
	}
	conn->ep.engine->stats.calls_timed_out += !call->is_cancelled;
	if (call->state == CALL_QUEUED) {
		bool ends_conn = !call->is_cancelled && is_stuck(conn);

		call_fail(call, call->is_cancelled ? -ECANCELED : -ETIMEDOUT);
		if (ends_conn)
			conn_fail(conn, -ETIMEDOUT);
	} else if (call->state == CALL_SENT && call->nvalid > 0 &&
		   may_keep_windows(conn->ep.engine) && !SEEDED_BUG(8)) {
		call->state = CALL_REVOKING;
		call->deadline_ns = conn->ep.engine->now_ns + REVOKE_NS;
		call_revoke(call);
	} else if ((call->is_exposed || call->sends_app_memory) && !SEEDED_BUG(8)) {
		conn_fail(conn, call->is_cancelled ? -ECANCELED : -ETIMEDOUT);
	} else {
		call_give_up(call);
	}
}

int weir_call_cancel(struct weir_call *call)
{
	if (engine_is_forked(call->conn->ep.engine))
		return engine_fork_refuse();
	if (call->is_cancelled ||
	    (call->state != CALL_QUEUED && call->state != CALL_SENT && call->state != CALL_REPLIED))
		return -EINVAL;
	call->is_cancelled = true;
	call->deadline_ns = 0; /* as a time-out, at the next tick */
	return 0;
}

void requester_on_tick(struct weir_conn *conn, uint64_t now_ns)
{
	struct requester *req = requester_of(conn);

	if (conn->srq)
		requester_share_tick(conn, now_ns);
	conn->protocol->on_tick(conn, now_ns);
	if (req->nactive == 0)
		return;
	for (uint32_t i = 0; i < req->nslots && conn->state < CONN_LOST; i++) {
		struct weir_call *call = req->slots[i].call;

		if ((call->state == CALL_QUEUED || call->state == CALL_SENT ||
		     call->state == CALL_REPLIED || call->state == CALL_REVOKING) &&
		    now_ns >= call->deadline_ns)
			time_out(call);
	}
	if (conn_can_send(conn))
		requester_pump(conn);
}

bool requester_is_idle(struct weir_conn *conn)
{
	return requester_of(conn)->nactive == 0;
}
