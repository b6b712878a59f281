/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Establishes lost connections again (RFC 8166 section 4.5.3; RFC 8167 section 2.2).
 *
 *   OPEN -> LOST        conn_fail(): the peer disconnected, a work request failed, or the peer's
 *                       access to the memory of a call had to end
 *        -> WAITING     The reaper has destroyed the queue pair. Neither the device nor the peer
 *                       uses a buffer any more. The role keeps its calls, and the connection keeps
 *                       its receives.
 *        -> CONNECTING  The pause is over. A queue pair is created in the same way as the first
 *                       one.
 *        -> OPEN        The role retransmits the calls that it kept.
 *
 * If the attempt to connect fails, the connection is LOST or WAITING again. If it gives up, it is
 * CLOSED.
 *
 * The pauses between attempts double, from the profile's reconnect_delay_ms to
 * reconnect_delay_max_ms. A random part of up to one half is subtracted from each pause, so that
 * many requesters do not connect at the same moment. An open connection was useful if it received a
 * reply, or stayed open for at least reconnect_delay_max_ms. After a useful connection, the pauses
 * start at the minimum again. A connection that opens and is lost without being useful counts as
 * one more failed attempt. When attempts have failed for reconnect_give_up_ms, the connection ends.
 */
#include "conn.h"

#include <errno.h>
#include <string.h>

#include <rte_random.h>

#include "log.h"

#define NS_PER_MS 1000000ull

/* Returns the length of the pause before an attempt to connect. 'attempt' is the number of attempts
 * since the connection was last useful. */
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

/* Determines the time of the next attempt to connect. Returns false if no attempt may follow,
 * because it would be later than reconnect_give_up_ms after the loss. */
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
	LOG(CONNECTION, NOTICE,
	    "connection to %s: no attempt to reconnect succeeded for the profile's "
	    "reconnect_give_up_ms",
	    conn->peer);
	conn_end(conn, conn->error);
}

/* Restores the state that conn_create() set for the send queue, the batch and the receives. */
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

/* Returns whether the connection was useful since it opened: the head of this file defines it. */
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
	if (conn->state == CONN_LOST) /* otherwise, a callback has closed the connection */
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
	/* The set-up negotiates these values again. */
	cm_private_decode(NULL, 0, &conn->theirs);
	conn->remote_invalidation = false;
	conn->protocol->reset(conn);
	conn_connecting(conn);
	conn->ep.engine->stats.reconnect_attempts++;
	rc = conn_connect(conn, conn->peer);
	if (rc == 0 || conn->state != CONN_CONNECTING)
		return; /* an event or the reaper follows */
	conn_waiting(conn, rc);
	pause_or_give_up(conn);
}
