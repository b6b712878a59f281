/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of the connection manager for a connection, which report its set-up and its end, and
 * the ticks, at which the deadlines of the connection are checked. */
#include "conn.h"

#include <errno.h>

/* Handles the event ESTABLISHED: negotiates the version of the protocol, or opens the connection.
 */
static void established(struct weir_conn *conn, const struct fabric_cm_event *event)
{
	if (conn->state != CONN_CONNECTING)
		return;
	conn_set_peer(conn, event);
	if (!conn->protocol->negotiate(conn))
		conn_opened(conn);
}

void conn_on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	switch (event->kind) {
	case FABRIC_CM_ESTABLISHED:
		established(conn, event);
		break;
	case FABRIC_CM_REJECTED:
		conn_fail(conn, -ECONNREFUSED);
		break;
	case FABRIC_CM_FAILED:
		conn_fail(conn, event->error ? event->error : -ECONNREFUSED);
		break;
	case FABRIC_CM_DISCONNECTED:
		conn_fail(conn, event->error == -ESHUTDOWN ? -ESHUTDOWN : -ECONNRESET);
		break;
	case FABRIC_CM_REQUEST: /* these go to listeners only */
	case FABRIC_CM_UNLISTENED:
		break;
	}
}

/* Ends a connection that has been draining for longer than the profile's close_timeout_ms. Returns
 * whether the connection was ended. */
static bool closes_late(struct weir_conn *conn, uint64_t now_ns)
{
	uint64_t timeout_ns = conn->ep.engine->profile.close_timeout_ms * 1000000ull;

	if (conn->drain_ns == 0)
		conn->drain_ns = now_ns;
	if (timeout_ns == 0 || now_ns - conn->drain_ns < timeout_ns)
		return false;
	conn->ep.engine->stats.close_timeouts++;
	engine_log_peer(conn->ep.engine, &conn->ep.engine->ends,
			"connection to %s: closed with calls in flight, because the shutdown took "
			"longer than the profile's close_timeout_ms",
			conn->peer);
	conn_end(conn, -ETIMEDOUT);
	return true;
}

/* Fails a connection if posted work requests do not complete within the profile's send_timeout_ms,
 * because a peer that receives nothing would hold the buffers of all messages that are queued for
 * it. Returns whether the connection was failed. Unsignalled messages after the last signalled work
 * request hold no buffers, and are not checked. */
static bool sends_late(struct weir_conn *conn, uint64_t now_ns)
{
	uint64_t timeout_ns = conn->ep.engine->profile.send_timeout_ms * 1000000ull;

	if (conn->sq_signalled <= conn->sq_retired || !conn_can_send(conn)) {
		conn->sq_waits = false;
		return false;
	}
	/* The time-out starts at the first tick that finds an incomplete work request. It starts
	 * again whenever a work request has completed since the latest tick. */
	if (!conn->sq_waits || conn->sq_retired != conn->sq_seen) {
		conn->sq_waits = true;
		conn->sq_seen = conn->sq_retired;
		conn->sq_seen_ns = now_ns;
		return false;
	}
	if (timeout_ns == 0 || now_ns - conn->sq_seen_ns < timeout_ns)
		return false;
	conn->ep.engine->stats.send_timeouts++;
	engine_log_peer(conn->ep.engine, &conn->ep.engine->ends,
			"connection to %s ends: no posted message completed for the profile's "
			"send_timeout_ms",
			conn->peer);
	conn_fail(conn, -ETIMEDOUT);
	return true;
}

/* Returns whether the connection is open and nothing is outstanding. In this state, only limits on
 * idle time can expire. It does not matter if a tick finds their end late. */
static bool is_open_and_idle(struct weir_conn *conn)
{
	return conn->state == CONN_OPEN && !conn->drains &&
	       conn->sq_signalled <= conn->sq_retired && conn->role->is_idle(conn);
}

bool conn_on_tick(struct engine_endpoint *ep, uint64_t now_ns)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	if (conn->state == CONN_CONNECTING) {
		if (conn->deadline_ns == 0)
			conn_set_deadline(conn);
		else if (now_ns >= conn->deadline_ns) {
			conn->ep.engine->stats.connect_timeouts++;
			conn_fail(conn, -ETIMEDOUT);
		}
	} else if (conn->state == CONN_NEGOTIATING) {
		conn->protocol->negotiate_on_tick(conn, now_ns);
	} else if (conn->state == CONN_WAITING) {
		conn_on_retry_tick(conn, now_ns);
	}
	if (!conn->was_open || conn->state >= CONN_LOST)
		return true;
	if (conn->srq)
		conn_share_tick(conn, now_ns);
	if (sends_late(conn, now_ns) || (conn->drains && closes_late(conn, now_ns)))
		return true;
	conn->role->on_tick(conn, now_ns);
	if (conn->drains && conn->state < CONN_LOST && conn->role->is_idle(conn))
		conn_end(conn, 0);
	return !is_open_and_idle(conn);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* Returns the deadline of the connection's state. */
static uint64_t state_deadline(const struct weir_conn *conn)
{
	switch (conn->state) {
	case CONN_CONNECTING:
	case CONN_NEGOTIATING:
		return conn->deadline_ns;
	case CONN_WAITING:
		return conn->retry_at_ns;
	default:
		return conn->state >= CONN_LOST || conn->drains ? 0 : ENGINE_NEVER_NS;
	}
}

/* Returns the time at which sends_late() has to be called next. */
static uint64_t sends_deadline(const struct weir_conn *conn)
{
	uint64_t timeout_ns = conn->ep.engine->profile.send_timeout_ms * 1000000ull;

	if (conn->sq_signalled <= conn->sq_retired || !conn_can_send(conn) || timeout_ns == 0)
		return ENGINE_NEVER_NS;
	if (!conn->sq_waits || conn->sq_retired != conn->sq_seen)
		return 0;
	return conn->sq_seen_ns + timeout_ns;
}

uint64_t conn_next_tick(struct engine_endpoint *ep)
{
	struct weir_conn *conn = (struct weir_conn *)ep;
	uint64_t at_ns = state_deadline(conn);

	if (!conn->was_open || at_ns == 0)
		return at_ns;
	at_ns = earlier(at_ns, sends_deadline(conn));
	at_ns = earlier(at_ns, conn->protocol->next_tick(conn));
	return earlier(at_ns, conn->role->next_tick(conn));
}
