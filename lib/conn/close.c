/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a connection. conn_fail() marks it, whoever finds the reason; the reaper comes at the end of
 * the poll, when nothing polled can name it any more, and goes in this order: the device first, so that
 * nothing touches a buffer; then all that was posted is retired; then the role ends each call, once; then
 * the application is told; then memory.
 */
#include "conn.h"

#include <errno.h>

#include "alloc.h"

void conn_fail(struct weir_conn *conn, int error)
{
	if (conn->state == CONN_CLOSED)
		return;
	conn->state = CONN_CLOSED;
	conn->error = error;
	engine_want_reap(&conn->ep);
}

void weir_conn_close(struct weir_conn *conn)
{
	conn_fail(conn, -ECONNABORTED);
}

void weir_conn_shutdown(struct weir_conn *conn)
{
	if (conn->state == CONN_CONNECTING) {
		conn_fail(conn, -ECONNABORTED);
	} else if (conn->state == CONN_OPEN) {
		conn->state = CONN_DRAINING;
		if (conn->role->on_drain)
			conn->role->on_drain(conn);
	}
}

void conn_on_reap(struct engine_endpoint *ep)
{
	struct weir_conn *conn = (struct weir_conn *)ep;
	struct weir_engine *engine = ep->engine;
	struct conn_waiter *waiter;

	if (conn->state != CONN_CLOSED) {
		conn->state = CONN_CLOSED;
		conn->error = -ECONNABORTED;
	}
	if (conn->qp) {
		conn->ops->disconnect(conn->qp);
		conn->ops->qp_destroy(conn->qp);
		conn->qp = NULL;
	}
	conn_retire(conn, UINT64_MAX, conn->error);
	for (uint32_t i = 0; i < conn->nwrs; i++)
		if (conn->txs[i])
			conn->txs[i]->done(conn->txs[i], conn->error);
	conn->nwrs = 0;
	while ((waiter = TAILQ_FIRST(&conn->tx_waiters)))
		conn_wait_cancel(conn, waiter);
	conn->role->on_lost(conn, conn->error);
	if (conn->counted)
		engine->stats.connections_lost++;
	if (conn->on_event)
		conn->on_event(conn, WEIR_CONN_CLOSED, conn->error, conn->arg);
	conn_free(conn);
}

void conn_free(struct weir_conn *conn)
{
	struct weir_engine *engine = conn->ep.engine;

	for (uint32_t i = 0; i < conn->nrecvs; i++)
		mem_pool_put(conn->recvs[i]);
	engine_remove(engine, &conn->ep);
	engine->nconnections--;
	mem_free(conn->recvs);
	mem_free(conn->recv_free);
	mem_free(conn->sq);
	mem_free(conn);
}
