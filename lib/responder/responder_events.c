/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of a responder (struct conn_role): the functions that process the events of a
 * connection. The functions for messages are in request.c and request_fast.c. */
#include "request.h"
#include "request_inspect.h"

#include <errno.h>

/* time in ns that Sends without a completion get to arrive, before a connection closes */
#define LINGER_NS 10000000u

static void on_open(struct weir_conn *conn)
{
	(void)conn;
}

/* Returns whether the connection has no request and no message that waits for one. */
static bool responder_is_idle(struct weir_conn *conn)
{
	return responder_of(conn)->nbusy == 0 && !responder_of(conn)->backlog;
}

/* Returns whether the time since since_ns has reached a timeout of the profile. A timeout of 0 is
 * never reached. */
static bool is_over(uint32_t timeout_ms, uint64_t since_ns, uint64_t now_ns)
{
	return timeout_ms > 0 && now_ns - since_ns >= timeout_ms * 1000000ull;
}

/* Ends a connection on which no call has arrived for the time that the profile's 'key' sets, and
 * counts this. */
static void end_silent(struct weir_conn *conn, uint64_t *counter, const char *key)
{
	struct weir_engine *engine = conn->ep.engine;

	(*counter)++;
	engine_log_peer(engine, &engine->ends,
			"connection to %s ends: no call arrived for the profile's %s", conn->peer,
			key);
	conn_fail(conn, -ETIMEDOUT);
}

/* Ends the connection if the pull of a call takes longer than pull_timeout_ms. The check is made 16
 * times in this time. */
static void pull_tick(struct responder *responder, uint64_t now_ns)
{
	struct weir_engine *engine = responder->engine;
	uint64_t timeout_ns = engine->profile.pull_timeout_ms * 1000000ull;
	const struct weir_request *req;

	if (timeout_ns == 0 || now_ns < responder->next_pull_tick_ns)
		return;
	responder->next_pull_tick_ns = now_ns + timeout_ns / 16;
	LIST_FOREACH(req, &responder->outstanding, outstanding)
	{
		if ((req->state != REQUEST_PULL_CALL && req->state != REQUEST_PULL_ITEMS &&
		     req->state != REQUEST_JOIN) ||
		    now_ns - req->pull_since_ns < timeout_ns)
			continue;
		engine->stats.pull_timeouts++;
		engine_log_peer(engine, &engine->ends,
				"connection to %s ends: the chunks of a call were not pulled "
				"within the profile's pull_timeout_ms",
				responder->conn->peer);
		conn_fail(responder->conn, -ETIMEDOUT);
		return;
	}
}

/* Ends the connection if a reply waits for a buffer for longer than send_timeout_ms. */
static void reserve_tick(struct responder *responder, uint64_t now_ns)
{
	struct weir_engine *engine = responder->engine;
	uint64_t timeout_ns = engine->profile.send_timeout_ms * 1000000ull;
	const struct engine_waiter *waiter;

	TAILQ_FOREACH(waiter, &responder->reserve_queue.waiters, entry)
	{
		const struct weir_request *req =
			(const struct weir_request *)((const char *)waiter -
						      offsetof(struct weir_request, buf_waiter));

		if (timeout_ns == 0 || now_ns - req->wait_ns < timeout_ns)
			continue;
		/* A reply that cannot be sent must not be dropped without notice (RFC 8166 section
		 * 4.5.4). */
		engine->stats.send_timeouts++;
		engine_log_peer(engine, &engine->ends,
				"connection to %s ends: a reply found no buffer for the profile's "
				"send_timeout_ms",
				responder->conn->peer);
		conn_fail(responder->conn, -ENOBUFS);
		return;
	}
}

static void responder_on_tick(struct weir_conn *conn, uint64_t now_ns)
{
	struct weir_engine *engine = conn->ep.engine;
	struct responder *responder = responder_of(conn);

	/* 'ncalls' wraps less often than ticks run. */
	responder->calls_before += (uint32_t)(responder->ncalls - responder->ncalls_seen);
	responder->ncalls_seen = responder->ncalls;
	if (conn->got_message || !responder_is_idle(conn)) {
		responder->was_called |= conn->got_message;
		conn->got_message = false;
		engine_peer_touch(engine, &conn->member, now_ns);
	}
	if (responder->was_called) {
		if (is_over(engine->profile.idle_timeout_ms, conn->member.active_ns, now_ns)) {
			end_silent(conn, &engine->stats.idle_timeouts, "idle_timeout_ms");
			return;
		}
	} else if (is_over(engine->profile.first_call_timeout_ms, conn->opened_ns, now_ns)) {
		end_silent(conn, &engine->stats.first_call_timeouts, "first_call_timeout_ms");
		return;
	}
	conn->protocol->on_tick(conn, now_ns);
	if (responder->nbusy > 0 && engine_stuck_is_due(engine, &responder->next_stuck_ns))
		responder_report_stuck(responder);
	if (responder->npulling > 0)
		pull_tick(responder, now_ns);
	if (!TAILQ_EMPTY(&responder->reserve_queue.waiters))
		reserve_tick(responder, now_ns);
}

static uint64_t responder_next_tick(struct weir_conn *conn)
{
	const struct responder *responder = responder_of(conn);
	uint64_t at_ns = ENGINE_NEVER_NS;

	if (!TAILQ_EMPTY(&responder->reserve_queue.waiters))
		return 0;
	if (responder->nbusy > 0)
		at_ns = engine_next_stuck(responder->engine, responder->next_stuck_ns);
	if (responder->npulling > 0 && responder->engine->profile.pull_timeout_ms > 0 &&
	    responder->next_pull_tick_ns < at_ns)
		at_ns = responder->next_pull_tick_ns;
	return at_ns;
}

/* Runs when the connection has ended. Releases all requests that the program does not have. If the
 * program has some, the responder becomes an orphan (responder.h). Otherwise, the responder is
 * freed. */
static void on_lost(struct weir_conn *conn, int error)
{
	struct responder *responder = responder_of(conn);
	LIST_HEAD(, weir_request) ending = LIST_HEAD_INITIALIZER(ending);
	struct weir_request *req, *next;

	(void)error;
	responder_forget_kept(responder);
	responder_drop_backlog(responder);
	for (req = LIST_FIRST(&responder->outstanding); req; req = next) {
		next = LIST_NEXT(req, outstanding);
		req->flags.can_reply_fast = false;
		if (req->state != REQUEST_HANDLING) {
			req->msg = NULL; /* the connection gives the receive back itself */
			LIST_REMOVE(req, outstanding);
			LIST_INSERT_HEAD(&ending, req, outstanding);
		} else {
			/* because the message contains the arguments */
			request_keep_message(req, conn);
		}
	}
	responder->conn = NULL;
	conn->role_data = NULL;
	/* While these requests are released, the program can reply to requests that it holds. The
	 * responder must not be freed before the end of this loop. */
	responder->nbusy++;
	while ((req = LIST_FIRST(&ending)))
		request_release(req);
	if (--responder->nbusy == 0) {
		responder_free(responder);
		return;
	}
	responder_orphan(responder);
}

static void on_idle(struct weir_conn *conn)
{
	credit_share_idle(&conn->srq->credits, &conn->share);
}

/* Drops a call that arrives after weir_conn_shutdown(). */
static void on_message_draining(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				uint32_t inv_rkey)
{
	(void)len;
	(void)inv_rkey;
	conn_recv_done(conn, buf);
}

/* Returns whether all requests are answered and all replies have been sent. Replies that were
 * posted without a completion before the shutdown get LINGER_NS to arrive. */
static bool is_drained(struct weir_conn *conn)
{
	struct responder *responder = responder_of(conn);
	uint64_t now_ns = conn->ep.engine->now_ns;

	if (!responder_is_idle(conn))
		return false;
	if (conn->ep.blockers.nbatched == 0 && conn->sq_retired == conn->sq_posted)
		return true;
	if (responder->linger_until_ns == 0)
		responder->linger_until_ns = now_ns + LINGER_NS;
	return now_ns >= responder->linger_until_ns;
}

static const struct conn_role draining_role = {
	.side = WEIR_RESPONDER,
	.describe = responder_describe,
	.on_open = on_open,
	.on_message = on_message_draining,
	.deliver = conn_deliver,
	.on_tick = responder_on_tick,
	.next_tick = responder_next_tick,
	.is_idle = is_drained,
	.on_lost = on_lost,
};

static void on_drain(struct weir_conn *conn)
{
	conn->protocol->on_drain(conn);
	conn_set_role(conn, &draining_role);
}

const struct conn_role responder_role = {
	.side = WEIR_RESPONDER,
	.describe = responder_describe,
	.protocol = responder_protocol,
	.on_open = on_open,
	.on_message = responder_on_message,
	.deliver = responder_deliver,
	.deliver_timed = responder_deliver_timed,
	.on_tick = responder_on_tick,
	.next_tick = responder_next_tick,
	.on_idle = on_idle,
	.on_drain = on_drain,
	.is_idle = responder_is_idle,
	.on_lost = on_lost,
};
