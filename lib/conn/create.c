/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the object of a connection, with its buffers and queues. Their sizes do not change until
 * the object is freed. */
#include "conn.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "alloc.h"
#include "log.h"

/* Takes 'count' receives of the connection from the pool of the engine. Returns 0, -ENOMEM or
 * -ENOBUFS. After an error, the connection keeps the receives that were taken. */
static int take_receives(struct weir_conn *conn, uint32_t count)
{
	struct weir_engine *engine = conn->ep.engine;

	conn->recvs = mem_zalloc(count * sizeof(conn->recvs[0]));
	conn->recv_free = mem_zalloc(count * sizeof(conn->recv_free[0]));
	if (!conn->recvs || !conn->recv_free)
		return -ENOMEM;
	for (; conn->nrecvs < count; conn->nrecvs++) {
		struct mem_buf *buf = mem_pool_get(engine->recv_pool);

		if (!buf) {
			engine_log_peer(engine, &engine->refusals,
					"no receive buffers left for another connection: raise "
					"recv_buffers in the profile's [memory], or lower credits");
			return -ENOBUFS;
		}
		conn->recvs[conn->nrecvs] = buf;
		conn->recv_free[conn->nrecv_free++] = buf;
	}
	return 0;
}

int conn_create(struct weir_engine *engine, struct engine_peer *account, uint32_t credits,
		uint32_t nreply_recvs, const struct conn_role *role, void *role_data,
		struct weir_conn **out)
{
	const struct fabric_dev_attr *dev = &engine->dev->attr;
	static _Atomic uint64_t last_id;
	struct credit_group *receives;
	struct weir_conn *conn;
	int rc;

	if (engine->nconnections >= engine->profile.connections)
		return -EBUSY;
	if (dev->max_send_wr < CONN_SQ_MIN) {
		LOG(CONNECTION, ERROR,
		    "driver %s: a send queue of %u work requests is too short for a reply",
		    engine->ops->name, dev->max_send_wr);
		return -EOPNOTSUPP;
	}
	conn = mem_zalloc(sizeof(*conn));
	if (!conn)
		return -ENOMEM;
	conn->id = atomic_fetch_add(&last_id, 1) + 1;
	conn->ep.blockers.no_direct_send = true;
	conn->ep.blockers.is_timed = engine->latency != NULL;
	engine->nconnections++;
	conn->peer_account = account;
	account->refs++;
	engine_peer_join(engine, account, &conn->member);
	conn->ops = engine->ops;
	conn_set_role(conn, role);
	conn->protocol = role->protocol(engine);
	conn->via_protocol = conn->protocol->via_protocol;
	conn->role_data = role_data;
	conn->credits = credits;
	conn->nreply_recvs = nreply_recvs;
	conn->recv_slack = engine_recv_slack(credits);
	cm_private_decode(NULL, 0, &conn->theirs);
	conn->ep.on_wc = conn_on_wc;
	conn->ep.on_cm = conn_on_cm;
	conn->ep.on_tick = conn_on_tick;
	conn->ep.next_tick = conn_next_tick;
	conn->ep.on_flush = conn_on_flush;
	conn->ep.on_reap = conn_on_reap;
	TAILQ_INIT(&conn->tx_waiters);
	engine_add(engine, &conn->ep);

	/* A requester determines itself how many messages its peer sends. Therefore its connection
	 * belongs to no credit group, which would limit the connections of one peer together. */
	receives = account->key.kind == ENGINE_PEER_OURS ? NULL : &account->receives;
	if (engine->srq && credit_share_join(&engine->srq->credits, &conn->share, receives))
		conn->srq = engine->srq;
	conn->sq_size = conn_sq_wanted(credits);
	if (conn->sq_size > dev->max_send_wr)
		conn->sq_size = dev->max_send_wr;
	conn->max_sge = dev->max_sge < CONN_MSG_SGES ? dev->max_sge : CONN_MSG_SGES;
	conn->sq = mem_zalloc(conn->sq_size * sizeof(conn->sq[0]));
	rc = conn->sq ? 0 : -ENOMEM;
	if (rc == 0 && !engine->batches)
		rc = batch_pool_create(engine);
	if (rc == 0)
		rc = conn->protocol->create(conn);
	if (rc == 0 && !engine->srq)
		rc = take_receives(conn, engine_recvs(credits) + nreply_recvs);
	else if (rc == 0 && !conn->srq)
		rc = -ENOBUFS;
	if (rc != 0) {
		conn_free(conn);
		return rc;
	}
	*out = conn;
	return 0;
}
