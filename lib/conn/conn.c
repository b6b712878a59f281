/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the state of a connection. No other file stores the state. A connection opens, can be lost
 * and established again, and ends. reconnect.c decides when it connects again. Any code that finds
 * a reason for the end of a connection calls conn_fail(), which marks the connection. The reaper
 * does the rest (close.c). This file also keeps the messages that arrive before the connection is
 * open, and has the functions by which the application reads or ends a connection.
 */
#include "conn.h"

#include <errno.h>

#include "compiler.h"
#include "forked.h"
#include "latency.h"
#include "owner.h"
#include "probe.h"
#include "seeded_bugs.h"
#include "sized.h"

const struct conn_tap_ops *_Atomic conn_tap_ops;

/* Handles a message that arrived before the connection is open. While the version is negotiated,
 * the protocol processes the message. Otherwise the message waits until the connection opens: the
 * accepting side can receive the first call before the event ESTABLISHED. */
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

/* Passes the messages that arrived early to the role, in the order of their arrival. */
static void deliver_early(struct weir_conn *conn)
{
	struct mem_buf *buf;

	while ((buf = conn->early) && conn->state < CONN_LOST) {
		conn->early = (struct mem_buf *)buf->user[0];
		conn->role->on_message(conn, buf, (uint32_t)buf->user[1],
				       (uint32_t)(buf->user[1] >> 32));
	}
}

void conn_negotiating(struct weir_conn *conn)
{
	conn->state = CONN_NEGOTIATING;
}

void conn_opened(struct weir_conn *conn)
{
	conn->state = conn->drains ? CONN_DRAINING : CONN_OPEN;
	conn->ep.blockers.no_direct_send =
		!(conn->ops->send_direct && conn->srq && !conn->via_protocol &&
		  !conn->remote_invalidation && !engine_measures_stages(conn->ep.engine));
	conn->deadline_ns = 0;
	conn->counted = true;
	conn->got_message = false;
	conn->is_up = true;
	conn->opened_ns = conn->ep.engine->now_ns;
	conn->ep.engine->stats.connections_opened++;
	PROBE3(conn_opened, conn->id, conn->role->side, conn->vers);
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

void conn_waiting(struct weir_conn *conn, int error)
{
	conn->state = CONN_WAITING;
	conn->error = error;
}

void conn_connecting(struct weir_conn *conn)
{
	conn->state = CONN_CONNECTING;
}

/* Sets the state to LOST or CLOSED. In these states, the connection must not send any more. */
static void stop(struct weir_conn *conn, enum conn_state state, int error)
{
	conn->state = state;
	conn->ep.blockers.no_direct_send = true;
	conn->error = error;
}

void conn_closed(struct weir_conn *conn, int error)
{
	stop(conn, CONN_CLOSED, error);
}

void conn_end(struct weir_conn *conn, int error)
{
	if (conn->state == CONN_CLOSED)
		return;
	stop(conn, CONN_CLOSED, error);
	conn->is_ending = true;
	conn->ep.engine->nending++;
	engine_peer_leave(conn->ep.engine, &conn->member);
	engine_want_reap(&conn->ep);
}

void conn_fail(struct weir_conn *conn, int error)
{
	if (conn->state == CONN_NEGOTIATING)
		conn->protocol->negotiate_on_fail(conn);
	if (!conn->reconnects || !conn->was_open) {
		conn_end(conn, error);
	} else if (conn->state < CONN_LOST) {
		stop(conn, CONN_LOST, error);
		engine_want_reap(&conn->ep);
	}
}

void weir_conn_close(struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return;
	if (!engine_is_forked(conn->ep.engine))
		conn_end(conn, -ECONNABORTED);
}

void weir_conn_reset(struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return;
	/* A connection without a queue pair is already being established again. */
	if (conn->state != CONN_WAITING && !engine_is_forked(conn->ep.engine))
		conn_fail(conn, -ECONNABORTED);
}

void weir_conn_shutdown(struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return;
	if (engine_is_forked(conn->ep.engine))
		return;
	conn->drains = true;
	engine_want_ticks(&conn->ep);
	if (conn->state <= CONN_NEGOTIATING && !conn->was_open) {
		conn_end(conn, -ECONNABORTED);
	} else if (conn->state == CONN_OPEN) {
		conn->state = CONN_DRAINING;
		if (conn->role->on_drain)
			conn->role->on_drain(conn);
	}
}

int weir_conn_peer(const struct weir_conn *conn, struct weir_peer *peer)
{
	if (OTHER_THREAD(conn->ep.engine))
		return -EPERM;
	if (!conn->has_identity)
		return -ENOTCONN;
	sized_fill(peer, &conn->identity, sizeof(conn->identity));
	return 0;
}

bool weir_conn_is_open(const struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return false;
	return conn->state == CONN_OPEN && !engine_is_forked(conn->ep.engine);
}

uint32_t weir_conn_version(const struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return 0;
	return conn->vers;
}

uint32_t weir_conn_send_inline(const struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return 0;
	return conn->send_inline;
}

uint32_t weir_conn_recv_inline(const struct weir_conn *conn)
{
	if (OTHER_THREAD(conn->ep.engine))
		return 0;
	return conn->recv_inline;
}

struct weir_engine *weir_conn_engine(const struct weir_conn *conn)
{
	return conn->ep.engine;
}

void weir_conn_set_user(struct weir_conn *conn, void *user)
{
	conn->user = user;
}

void *weir_conn_user(const struct weir_conn *conn)
{
	return conn->user;
}
