/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The share of a connection in the receives that all connections of its engine share. The share
 * limits the messages that the peer may have outstanding (lib/proto/credit_share.h). If the peer
 * sends more, its messages take receives that other connections need. Therefore the connection then
 * ends. This file also handles messages that are in use after the end of their connection.
 */
#include <errno.h>

#include "compiler.h"
#include "conn.h"

/* If no message arrives for this long, it is assumed that the peer has received all messages that
 * were sent to it. */
#define SHARE_IDLE_NS 1000000000u

out_of_line void conn_share_exceeded(struct weir_conn *conn)
{
	conn->ep.engine->stats.credits_exceeded++;
	engine_log_peer(conn->ep.engine, &conn->ep.engine->ends,
			"connection to %s ends: the peer has %u messages in flight, and credits "
			"for %u only",
			conn->peer, conn->ep.blockers.nrecv_held, conn->share.size);
	conn_fail(conn, -EPROTO);
}

void conn_share_reset(struct weir_conn *conn)
{
	struct mem_buf *buf;

	while ((buf = LIST_FIRST(&conn->held)))
		engine_srq_return(conn->srq, buf);
	conn->ep.blockers.nrecv_held = 0;
}

void conn_share_leave(struct weir_conn *conn)
{
	uint32_t nkept = 0;
	struct mem_buf *buf;

	conn_share_reset(conn);
	for (; (buf = LIST_FIRST(&conn->kept)); nkept++)
		engine_srq_leave_behind(buf);
	credit_share_leave(&conn->srq->credits, &conn->share, nkept);
	conn->srq = NULL;
}

void conn_share_tick(struct weir_conn *conn, uint64_t now_ns)
{
	if (!conn->role->on_idle || now_ns < conn->share_tick_ns)
		return;
	if (conn->ep.blockers.nrecv_held == 0 && !conn->active_since_tick &&
	    conn->share_tick_ns != 0)
		conn->role->on_idle(conn);
	conn->active_since_tick = false;
	conn->share_tick_ns = now_ns + SHARE_IDLE_NS;
}

void conn_keep_message(struct weir_conn *conn, struct mem_buf *msg)
{
	if (conn->srq) {
		LIST_REMOVE(msg, held);
		LIST_INSERT_HEAD(&conn->kept, msg, held);
		return;
	}
	conn->ep.engine->nrecvs_orphaned++;
	conn->peer_account->receives.behind++;
	for (uint32_t i = 0; i < conn->nrecvs; i++) {
		if (conn->recvs[i] == msg) {
			conn->recvs[i] = conn->recvs[--conn->nrecvs];
			return;
		}
	}
}

void conn_put_kept(struct weir_engine *engine, struct engine_peer *account, struct mem_buf *msg)
{
	if (!engine->srq) {
		engine->nrecvs_orphaned--;
		account->receives.behind--;
		mem_pool_put(msg);
		return;
	}
	if (!engine_srq_is_left_behind(msg)) { /* the connection still shares the receives */
		engine_srq_return(engine->srq, msg);
		return;
	}
	credit_pool_return(&engine->srq->credits, &account->receives);
	LIST_NEXT(msg, held) = NULL;
	engine_srq_put(engine->srq, msg);
}

bool conn_share_may_join(const struct weir_engine *engine, const struct engine_peer *account)
{
	uint32_t behind = account->receives.behind, count = engine->recv_pool->count;

	if (behind > engine->send_pool->count / 2)
		return false;
	if (engine->srq)
		return credit_group_may_join(&engine->srq->credits, &account->receives);
	return behind + engine->nrecvs_orphaned <= count || behind <= count / CREDIT_BEHIND_PART;
}
