/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remaking a connection that was lost (RFC 8166 section 4.5.3; RFC 8167 section 2.2).
 *
 *   OPEN -> LOST        conn_fail(): the peer left, a work request failed, a call's memory had to
 *                       be taken back
 *        -> WAITING     the reaper has destroyed the queue pair. No buffer is the device's or the
 *                       peer's any more; the role keeps its calls; the receives stay the
 *                       connection's
 *        -> CONNECTING  the pause is over: a new queue pair, as at first
 *        -> OPEN        and the role sends again what it kept. Or LOST once more, or CLOSED when it
 *                       was given up
 *
 * Pauses double from the profile's reconnect_delay_ms to reconnect_delay_max_ms, and are of half to
 * all of that, by chance, so that many requesters don't come back at the same moment. They begin
 * anew when a connection was of use: it brought an answer, or stood for longer than the longest
 * pause. One that opens and is soon lost without an answer is one more attempt that failed. Given
 * up is after reconnect_give_up_ms of these.
 */
#include "conn.h"

#include <errno.h>
#include <string.h>

#include <rte_random.h>

#include "log.h"

#define NS_PER_MS 1000000ull

static uint64_t pause_ns(const struct weir_profile *profile, uint32_t attempt)
{
	uint64_t max_ns = profile->reconnect_delay_max_ms * NS_PER_MS;
	uint64_t ns = profile->reconnect_delay_ms * NS_PER_MS;

	for (uint32_t i = 0; i < attempt && ns < max_ns; i++)
		ns *= 2;
	if (ns > max_ns)
		ns = max_ns;
	return ns / 2 + rte_rand_max(ns / 2 + 1);
}

/* Whether another attempt is due, and when. */
static bool plan_attempt(struct weir_conn *conn)
{
	struct weir_engine *engine = conn->ep.engine;
	uint64_t give_up_ns = engine->profile.reconnect_give_up_ms * NS_PER_MS;

	conn->retry_at_ns = engine->now_ns + pause_ns(&engine->profile, conn->attempts);
	conn->attempts++;
	return give_up_ns == 0 || conn->retry_at_ns - conn->lost_ns <= give_up_ns;
}

static void pause_or_give_up(struct weir_conn *conn)
{
	if (plan_attempt(conn))
		return;
	conn->ep.engine->stats.reconnects_given_up++;
	LOG(NOTICE,
	    "connection to %s: given up, nothing was answered for the profile's "
	    "reconnect_give_up_ms",
	    conn->peer);
	conn_end(conn, conn->error);
}

/* As conn_create() left it. */
static void reset(struct weir_conn *conn)
{
	conn->sq_posted = conn->sq_retired = conn->sq_signalled = 0;
	conn->nsges = 0;
	conn->alone = 0;
	conn->early = NULL;
	if (conn->srq) {
		conn_share_reset(conn);
		return;
	}
	memcpy(conn->recv_free, conn->recvs, conn->nrecvs * sizeof(conn->recvs[0]));
	conn->nrecv_free = conn->nrecvs;
}

static bool was_of_use(const struct weir_conn *conn)
{
	const struct weir_engine *engine = conn->ep.engine;

	return conn->is_up &&
	       (conn->got_message || engine->now_ns - conn->opened_ns >=
					     engine->profile.reconnect_delay_max_ms * NS_PER_MS);
}

void conn_suspend(struct weir_conn *conn)
{
	bool was_up = conn->is_up;

	conn->ep.is_reaping = false;
	engine_want_ticks(&conn->ep);
	if (was_of_use(conn))
		conn->attempts = 0;
	if (conn->attempts == 0)
		conn->lost_ns = conn->ep.engine->now_ns;
	conn->is_up = false;
	conn->role->on_suspend(conn, conn->error);
	reset(conn);
	if (conn->state == CONN_LOST) /* else a callback has closed it */
		conn_waiting(conn, conn->error);
	if (was_up && conn->state == CONN_WAITING && conn->on_event)
		conn->on_event(conn, WEIR_CONN_LOST, conn->error, conn->arg);
	if (conn->state == CONN_WAITING)
		pause_or_give_up(conn);
}

void conn_on_retry_tick(struct weir_conn *conn, uint64_t now_ns)
{
	int rc;

	if (now_ns < conn->retry_at_ns)
		return;
	/* What is agreed on anew by each connection. */
	cm_private_decode(NULL, 0, &conn->theirs);
	conn->remote_invalidation = false;
	conn->protocol->reset(conn);
	conn_connecting(conn);
	conn->ep.engine->stats.reconnect_attempts++;
	rc = conn_connect(conn, conn->peer);
	if (rc == 0 || conn->state != CONN_CONNECTING)
		return; /* the outcome is an event; or the reaper's */
	conn_waiting(conn, rc);
	pause_or_give_up(conn);
}
