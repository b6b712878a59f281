/* SPDX-License-Identifier: BSD-3-Clause */
/* The object: its buffers and queues, sized once. */
#include "conn.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "forked.h"
#include "log.h"

/* Work requests per credit in the send queue: a request may need several READs and WRITEs; who
 * finds it full waits. */
#define SQ_PER_CREDIT 4u
#define SQ_MIN	      64u

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
					"recv_buffers in the "
					"profile's [memory], or lower credits");
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
	struct credit_group *receives;
	struct weir_conn *conn;
	int rc;

	if (engine->nconnections >= engine->profile.connections)
		return -EBUSY;
	if (dev->max_send_wr < SQ_MIN) {
		LOG(ERR, "driver %s: a send queue of %u places is too short for a reply",
		    engine->ops->name, dev->max_send_wr);
		return -EOPNOTSUPP;
	}
	conn = mem_zalloc(sizeof(*conn));
	if (!conn)
		return -ENOMEM;
	conn->ep.blockers.no_direct_send = true;
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
	conn->ep.on_flush = conn_on_flush;
	conn->ep.on_reap = conn_on_reap;
	TAILQ_INIT(&conn->tx_waiters);
	engine_add(engine, &conn->ep);

	/* A side that calls decides for itself what it has under way. */
	receives = account->key.kind == ENGINE_PEER_OURS ? NULL : &account->receives;
	if (engine->srq && credit_share_join(&engine->srq->credits, &conn->share, receives))
		conn->srq = engine->srq;
	conn->sq_size = credits * SQ_PER_CREDIT > SQ_MIN ? credits * SQ_PER_CREDIT : SQ_MIN;
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

void conn_qp_attr(const struct weir_conn *conn, struct fabric_qp_attr *attr)
{
	const struct weir_engine *engine = conn->ep.engine;

	*attr = (struct fabric_qp_attr){
		.max_send_wr = conn->sq_size,
		.max_recv_wr = engine_recvs(conn->credits) + conn->nreply_recvs,
		.srq = conn->srq ? conn->srq->fabric : NULL,
		.max_sge = conn->max_sge,
		.max_inline = engine->profile.inline_bytes,
		.max_msg_bytes = engine->recv_bytes,
		.max_rd_atomic = engine->dev->attr.max_rd_atomic,
		.exposes = conn->exposes,
		.ctx = (void *)(uintptr_t)&conn->ep,
	};
}

int conn_attach(struct weir_conn *conn, struct fabric_qp *qp)
{
	conn->qp = qp;
	conn->max_inline = qp->max_inline;
	conn_post_recvs(conn); /* the peer may send as soon as it is established */
	return conn->state >= CONN_LOST ? conn->error : 0;
}

void conn_private_data(const struct weir_conn *conn, uint8_t buf[CM_PRIVATE_SIZE])
{
	struct cm_private mine = {
		.send_bytes = conn->ep.engine->profile.inline_bytes,
		.recv_bytes = conn->ep.engine->profile.inline_bytes,
		.remote_invalidation = conn->may_invalidate,
	};

	cm_private_encode(&mine, buf);
}

void conn_peer_private_data(struct weir_conn *conn, const uint8_t *data, uint32_t len)
{
	cm_private_decode(data, len, &conn->theirs);
	conn->remote_invalidation = conn->may_invalidate && conn->theirs.remote_invalidation;
	conn->protocol->set_thresholds(conn);
}

int weir_conn_peer(const struct weir_conn *conn, struct weir_peer *peer)
{
	if (!conn->has_identity)
		return -ENOTCONN;
	*peer = conn->identity;
	return 0;
}

bool weir_conn_is_open(const struct weir_conn *conn)
{
	return conn->state == CONN_OPEN && !engine_is_forked(conn->ep.engine);
}

uint32_t weir_conn_version(const struct weir_conn *conn)
{
	return conn->vers;
}

uint32_t weir_conn_send_inline(const struct weir_conn *conn)
{
	return conn->send_inline;
}

uint32_t weir_conn_recv_inline(const struct weir_conn *conn)
{
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
