/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up of connections. A connecting side passes these states:
 *
 *   conn_connect() -> CONNECTING -> [NEGOTIATING] -> OPEN
 *                                -> CLOSED   after the event REJECTED or FAILED, or at the deadline
 *
 * The event ESTABLISHED ends the state CONNECTING, and carries the peer's private data. NEGOTIATING
 * follows if the protocol must ask the peer for its version. An accepting side has the peer's
 * private data from the connection request, and also waits for the event ESTABLISHED. Messages that
 * arrive before this event are kept until the event. Receives are posted before either side can
 * send.
 */
#include "conn.h"

#include <errno.h>
#include <string.h>

void conn_set_deadline(struct weir_conn *conn)
{
	/* If the engine has not read the clock yet, the first tick sets the deadline. */
	struct weir_engine *engine = conn->ep.engine;

	if (engine->now_ns != 0)
		conn->deadline_ns =
			engine->now_ns + engine->profile.connect_timeout_ms * 1000000ull;
}

/* Stores who the peer is: weir_conn_peer() returns it. */
static void set_identity(struct weir_conn *conn, const struct fabric_cm_event *event)
{
	conn->identity = event->peer;
	conn->has_identity = true;
}

/* Sets *attr to the attributes with which the queue pair of a connection is created. */
static void qp_attr(const struct weir_conn *conn, struct fabric_qp_attr *attr)
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

/* Assigns the queue pair to the connection, and posts the receives. Returns 0, or a negative errno
 * if the receives could not be posted. */
static int attach(struct weir_conn *conn, struct fabric_qp *qp)
{
	const struct conn_tap_ops *tap = atomic_load(&conn_tap_ops);

	conn->qp = qp;
	conn->max_inline = qp->max_inline;
	if (tap)
		tap->begin(conn);
	conn_post_recvs(conn); /* the peer can send as soon as the connection is established */
	return conn->state >= CONN_LOST ? conn->error : 0;
}

static void encode_private_data(const struct weir_conn *conn, uint8_t buf[CM_PRIVATE_SIZE])
{
	struct cm_private mine = {
		.send_bytes = conn->ep.engine->profile.inline_bytes,
		.recv_bytes = conn->ep.engine->profile.inline_bytes,
		.remote_invalidation = conn->may_invalidate,
	};

	cm_private_encode(&mine, buf);
}

/* Decodes the peer's private data, and sets the values that depend on them. */
static void decode_private_data(struct weir_conn *conn, const uint8_t *data, uint32_t len)
{
	cm_private_decode(data, len, &conn->theirs);
	conn->remote_invalidation = conn->may_invalidate && conn->theirs.remote_invalidation;
	conn->protocol->set_thresholds(conn);
}

void conn_set_peer(struct weir_conn *conn, const struct fabric_cm_event *event)
{
	set_identity(conn, event);
	if (event->private_len > 0)
		decode_private_data(conn, event->private_data, event->private_len);
}

int conn_connect(struct weir_conn *conn, const char *addr)
{
	uint8_t private_data[CM_PRIVATE_SIZE];
	struct fabric_qp_attr attr;
	struct fabric_qp *qp;
	int rc;

	if (addr != conn->peer)
		strncpy(conn->peer, addr, sizeof(conn->peer) - 1);
	qp_attr(conn, &attr);
	encode_private_data(conn, private_data);
	rc = conn->ops->connect(conn->ep.engine->dev, addr, &attr, private_data,
				sizeof(private_data), &qp);
	if (rc != 0)
		return rc;
	conn_set_deadline(conn);
	return attach(conn, qp);
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
	decode_private_data(conn, event->private_data, event->private_len);
	qp_attr(conn, &attr);
	encode_private_data(conn, private_data);
	rc = conn->ops->accept(conn->ep.engine->dev, req, &attr, private_data, sizeof(private_data),
			       &qp);
	if (rc != 0)
		return rc;
	conn_set_deadline(conn);
	return attach(conn, qp);
}
