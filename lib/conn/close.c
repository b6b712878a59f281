/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a connection. conn_fail() has marked it (conn.c); the reaper comes at the
 * end of the poll, when nothing polled can name it any more, and goes in this order: the device
 * first, so that nothing touches a buffer, neither from here nor from the peer, which may take
 * until a later poll; then all that was posted is retired; then the role ends each call, once; then
 * the application is told; then memory. One that is to be remade is only suspended behind the
 * second (reconnect.c).
 */
#include "conn.h"

#include <errno.h>
#include <unistd.h>

#define QUIET_LOOK_US 100

/* What was not posted will not be. */
static void drop_batch(struct weir_conn *conn)
{
	for (uint32_t i = 0; i < conn->ep.blockers.nbatched; i++)
		if (conn->batch->txs[i])
			conn->batch->txs[i]->done(conn->batch->txs[i], conn->error);
	if (conn->ep.blockers.nbatched > 0)
		batch_put(conn->ep.engine->batches, conn->batch);
	conn->ep.blockers.nbatched = 0;
}

/* The device is out of it, and who waits for something of the device is told. */
static void detach(struct weir_conn *conn)
{
	struct conn_waiter *waiter;

	if (conn->qp)
		conn->ops->qp_destroy(conn->qp);
	conn->qp = NULL;
	conn_retire(conn, UINT64_MAX, conn->error);
	drop_batch(conn);
	while ((waiter = TAILQ_FIRST(&conn->tx_waiters)))
		conn_wait_cancel(conn, waiter);
	if (conn->counted)
		conn->ep.engine->stats.connections_lost++;
	conn->counted = false;
}

/* It was closed, was shut down, or its engine ends. */
static bool leaves_in_order(const struct weir_conn *conn)
{
	if (conn->state < CONN_LOST)
		return conn->ep.engine->is_ending;
	return conn->state == CONN_CLOSED && (conn->error == 0 || conn->error == -ECONNABORTED);
}

/* Whether the peer can touch nothing of it any more. */
static bool disconnect_is_done(const struct weir_conn *conn)
{
	if (!conn->qp)
		return true;
	if (conn->ops->goodbye && leaves_in_order(conn))
		conn->ops->goodbye(conn->qp);
	conn->ops->disconnect(conn->qp);
	return !conn->ops->is_quiet || conn->ops->is_quiet(conn->qp);
}

/* An engine that ends has nobody else to keep waiting. All its connections are over from here on,
 * so that the time that a peer can take is not that times their number. */
static void wait_quiet(const struct weir_conn *conn)
{
	struct engine_endpoint *ep;

	TAILQ_FOREACH(ep, &conn->ep.engine->all, all)
	if (ep->on_reap == conn_on_reap)
		disconnect_is_done((const struct weir_conn *)ep);
	while (!disconnect_is_done(conn))
		usleep(QUIET_LOOK_US);
}

void conn_on_reap(struct engine_endpoint *ep)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	if (!disconnect_is_done(conn)) {
		if (!ep->engine->is_ending) {
			engine_reap_retry(ep);
			return;
		}
		wait_quiet(conn);
	}

	/* Others are reaped when their engine is destroyed. */
	if (conn->state != CONN_CLOSED && (conn->state != CONN_LOST || ep->engine->is_ending))
		conn_closed(conn, -ECONNABORTED);
	detach(conn);
	if (conn->state == CONN_LOST) {
		conn_suspend(conn);
		return;
	}
	conn->role->on_lost(conn, conn->error);
	if (conn->on_event)
		conn->on_event(conn, WEIR_CONN_CLOSED, conn->error, conn->arg);
	conn_free(conn);
}
