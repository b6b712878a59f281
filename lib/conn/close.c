/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a connection, and the loss of a connection that will be established again. conn_fail()
 * or conn_end() has marked the connection (conn.c). The reaper, conn_on_reap(), is called at the
 * end of the poll, when no completion or event of that poll refers to the connection any more. It
 * performs these steps:
 *
 * - It disconnects, so that neither this side nor the peer accesses a buffer any more. This can
 *   last until a later poll.
 * - It destroys the queue pair, retires all posted work requests, and ends the queued work requests
 *   and the waits for entries of the send queue (conn_wait_tx()).
 * - It lets the role end each call, once.
 * - It reports the end to the application.
 * - It frees the memory.
 *
 * If the connection will be established again, conn_suspend() (reconnect.c) is called after the
 * second step instead of the other steps.
 */
#include "conn.h"
#include "probe.h"

#include <errno.h>
#include <unistd.h>

#define WRITES_LOOK_US 100 /* pause between two checks of wait_for_writes() */

/* Ends the work requests in the batch, because they will not be posted. */
static void drop_batch(struct weir_conn *conn)
{
	for (uint32_t i = 0; i < conn->ep.blockers.nbatched; i++)
		if (conn->batch->txs[i])
			conn->batch->txs[i]->done(conn->batch->txs[i], conn->error);
	if (conn->ep.blockers.nbatched > 0)
		batch_put(conn->ep.engine->batches, conn->batch);
	conn->ep.blockers.nbatched = 0;
}

/* Destroys the queue pair, and ends everything that waits for the device. */
static void detach(struct weir_conn *conn)
{
	struct conn_waiter *waiter;

	if (conn->qp)
		conn->ops->qp_destroy(conn->qp);
	conn->qp = NULL;
	if (conn->tap)
		atomic_load(&conn_tap_ops)->end(conn);
	conn_retire(conn, UINT64_MAX, conn->error);
	drop_batch(conn);
	while ((waiter = TAILQ_FIRST(&conn->tx_waiters)))
		conn_wait_cancel(conn, waiter);
	if (conn->counted)
		conn->ep.engine->stats.connections_lost++;
	conn->counted = false;
}

/* Returns whether this side ends the connection in order: by weir_conn_close(),
 * weir_conn_shutdown() or weir_engine_destroy(). */
static bool leaves_in_order(const struct weir_conn *conn)
{
	if (conn->state < CONN_LOST)
		return conn->ep.engine->is_ending;
	return conn->state == CONN_CLOSED && (conn->error == 0 || conn->error == -ECONNABORTED);
}

/* Disconnects. Returns true if the peer cannot access memory by this connection any more. Returns
 * false if the function must be called again later. */
static bool disconnect_is_done(const struct weir_conn *conn)
{
	if (!conn->qp)
		return true;
	if (conn->ops->goodbye && leaves_in_order(conn))
		conn->ops->goodbye(conn->qp);
	conn->ops->disconnect(conn->qp);
	return !conn->ops->writes_have_ended || conn->ops->writes_have_ended(conn->qp);
}

/* Waits until the peer cannot access memory by this connection any more. The engine is being
 * destroyed, so the wait delays nothing else. All connections of the engine are disconnected first,
 * because the waiting times of their peers then overlap instead of adding up. */
static void wait_for_writes(const struct weir_conn *conn)
{
	struct engine_endpoint *ep;

	TAILQ_FOREACH(ep, &conn->ep.engine->all, all)
	if (ep->on_reap == conn_on_reap)
		disconnect_is_done((const struct weir_conn *)ep);
	while (!disconnect_is_done(conn))
		usleep(WRITES_LOOK_US);
}

void conn_on_reap(struct engine_endpoint *ep)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	if (!disconnect_is_done(conn)) {
		if (!ep->engine->is_ending) {
			engine_reap_retry(ep);
			return;
		}
		wait_for_writes(conn);
	}

	/* In any other state, the connection is reaped because its engine is being destroyed. */
	if (conn->state != CONN_CLOSED && (conn->state != CONN_LOST || ep->engine->is_ending))
		conn_closed(conn, -ECONNABORTED);
	detach(conn);
	if (conn->state == CONN_LOST) {
		conn_suspend(conn);
		return;
	}
	PROBE2(conn_closed, conn->id, conn->error);
	conn->role->on_lost(conn, conn->error);
	if (conn->on_event)
		conn->on_event(conn, WEIR_CONN_CLOSED, conn->error, conn->arg);
	conn_free(conn);
}
