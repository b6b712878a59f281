/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up. A connecting side: conn_connect() -> CONNECTING -> ESTABLISHED (its event brings the
 * peer's private data) -> OPEN, by way of NEGOTIATING where its protocol asks the peer first;
 * or REJECTED, FAILED, or the deadline -> CLOSED. An accepting side knows the peer's private data
 * from the request, and waits for ESTABLISHED as well; messages that come earlier are kept until
 * then. Receives are posted before either side can send.
 */
#include "conn.h"

#include <errno.h>
#include <string.h>

#include "compiler.h"
#include "seeded_bugs.h"

static void set_deadline(struct weir_conn *conn)
{
	/* The clock may not have been seen yet: the first tick then starts it. */
	struct weir_engine *engine = conn->ep.engine;

	if (engine->now_ns != 0)
		conn->deadline_ns =
			engine->now_ns + engine->profile.connect_timeout_ms * 1000000ull;
}

static void set_identity(struct weir_conn *conn, const struct fabric_cm_event *event)
{
	conn->identity = event->peer;
	conn->has_identity = true;
}

int conn_connect(struct weir_conn *conn, const char *addr)
{
	uint8_t private_data[CM_PRIVATE_SIZE];
	struct fabric_qp_attr attr;
	struct fabric_qp *qp;
	int rc;

	if (addr != conn->peer)
		strncpy(conn->peer, addr, sizeof(conn->peer) - 1);
	conn_qp_attr(conn, &attr);
	conn_private_data(conn, private_data);
	rc = conn->ops->connect(conn->ep.engine->dev, addr, &attr, private_data,
				sizeof(private_data), &qp);
	if (rc != 0)
		return rc;
	set_deadline(conn);
	return conn_attach(conn, qp);
}

int conn_accept(struct weir_conn *conn, struct fabric_conn_req *req,
		const struct fabric_cm_event *event)
{
	uint8_t private_data[CM_PRIVATE_SIZE];
	struct fabric_qp_attr attr;
	struct fabric_qp *qp;
	int rc;

	memcpy(conn->peer, event->peer.address, sizeof(conn->peer));
	set_identity(conn, event);
	conn_peer_private_data(conn, event->private_data, event->private_len);
	conn_qp_attr(conn, &attr);
	conn_private_data(conn, private_data);
	rc = conn->ops->accept(conn->ep.engine->dev, req, &attr, private_data, sizeof(private_data),
			       &qp);
	if (rc != 0)
		return rc;
	set_deadline(conn);
	return conn_attach(conn, qp);
}

/* An accepting side may see the first call before it is told that the connection is established. */
out_of_line void conn_on_early(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
			       uint32_t inv_rkey)
{
	struct mem_buf **end = &conn->early;

	if (conn->state == CONN_NEGOTIATING) {
		conn->protocol->negotiate_on_message(conn, buf, len);
		return;
	}
	while (*end)
		end = (struct mem_buf **)&(*end)->user[0];
	buf->user[0] = 0;
	buf->user[1] = (uint64_t)inv_rkey << 32 | len;
	*end = buf;
}

static void deliver_early(struct weir_conn *conn)
{
	struct mem_buf *buf;

	while ((buf = conn->early) && conn->state < CONN_LOST) {
		conn->early = (struct mem_buf *)buf->user[0];
		conn->role->on_message(conn, buf, (uint32_t)buf->user[1],
				       (uint32_t)(buf->user[1] >> 32));
	}
}

void conn_opened(struct weir_conn *conn)
{
	conn->state = conn->drains ? CONN_DRAINING : CONN_OPEN;
	conn->ep.blockers.no_direct_send = !(conn->ops->send_direct && conn->srq &&
					     !conn->via_protocol && !conn->remote_invalidation);
	conn->deadline_ns = 0;
	conn->counted = true;
	conn->got_message = false;
	conn->is_up = true;
	conn->opened_ns = conn->ep.engine->now_ns;
	conn->ep.engine->stats.connections_opened++;
	conn->protocol->on_open(conn);
	conn->ep.engine->stats.reconnects += conn->was_open;
	conn->was_open = true;
	conn->role->on_open(conn);
	if (conn->on_event)
		conn->on_event(conn, WEIR_CONN_OPEN, 0, conn->arg);
	if (SEEDED_BUG(2) && conn->early)
		conn->role->on_message(conn, conn->early, (uint32_t)conn->early->user[1], 0);
	deliver_early(conn);
	engine_want_flush(&conn->ep);
}

static void established(struct weir_conn *conn, const struct fabric_cm_event *event)
{
	if (conn->state != CONN_CONNECTING)
		return;
	set_identity(conn, event);
	if (event->private_len > 0)
		conn_peer_private_data(conn, event->private_data, event->private_len);
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

/* An orderly end that does not come. */
static bool closes_late(struct weir_conn *conn, uint64_t now_ns)
{
	uint64_t timeout_ns = conn->ep.engine->profile.close_timeout_ms * 1000000ull;

	if (conn->drain_ns == 0)
		conn->drain_ns = now_ns;
	if (timeout_ns == 0 || now_ns - conn->drain_ns < timeout_ns)
		return false;
	conn->ep.engine->stats.close_timeouts++;
	engine_log_peer(conn->ep.engine, &conn->ep.engine->ends,
			"connection to %s: closed with calls in flight, after the profile's "
			"close_timeout_ms",
			conn->peer);
	conn_end(conn, -ETIMEDOUT);
	return true;
}

/* Work requests that do not complete: a peer that takes no message holds the buffers of all that
 * are queued for it. (Messages that the device takes along hold none, and are not waited for.) */
static bool sends_late(struct weir_conn *conn, uint64_t now_ns)
{
	uint64_t timeout_ns = conn->ep.engine->profile.send_timeout_ms * 1000000ull;

	if (conn->sq_signalled <= conn->sq_retired || !conn_can_send(conn)) {
		conn->sq_waits = false;
		return false;
	}
	/* Some tick is the first that sees one: that is when the time begins. */
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
			"connection to %s ends: nothing that was posted completed for the "
			"profile's send_timeout_ms",
			conn->peer);
	conn_fail(conn, -ETIMEDOUT);
	return true;
}

/* Open, and nothing under way: what is left are bounds on its silence, which may be noticed late.
 */
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
			set_deadline(conn);
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
