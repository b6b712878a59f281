/* SPDX-License-Identifier: BSD-3-Clause */
/* The work requests of a connection. They are queued in the batch, posted by conn_on_flush(), and
 * retired in the order of the posts when completions arrive. This file also posts receives. */
#include "conn.h"

#include <errno.h>
#include <string.h>

#include "compiler.h"
#include "log.h"
#include "reserve.h"

static bool fits_batch(const struct weir_conn *conn, uint32_t nwrs, uint32_t nsges)
{
	return conn->ep.blockers.nbatched + nwrs <= CONN_BATCH &&
	       conn->nsges + nsges <= CONN_BATCH_SGES;
}

/* Posts the batch. 'done' of a call can run here, also inside weir_call_submit(). */
static out_of_line void flush_now(struct weir_conn *conn)
{
	bool in_poll = engine_call_back(conn->ep.engine);

	conn_on_flush(&conn->ep);
	engine_called_back(conn->ep.engine, in_poll);
}

bool conn_tx_reserve(struct weir_conn *conn, uint32_t nwrs, uint32_t nsges)
{
	/* A loop is necessary: callbacks during the flush can queue new work requests. */
	while (unlikely(!fits_batch(conn, nwrs, nsges)) && conn->ep.blockers.nbatched > 0 &&
	       conn_can_send(conn))
		flush_now(conn);
	return conn_can_send(conn) && fits_batch(conn, nwrs, nsges) && conn_tx_room(conn) >= nwrs;
}

/* Appends a work request to the batch, and copies its gather elements. Returns the work request,
 * whose other members the caller sets. */
static struct fabric_wr *batch_add(struct weir_conn *conn, enum fabric_op op,
				   const struct fabric_sge *sges, uint32_t nsges,
				   struct conn_tx *tx)
{
	struct fabric_wr *wr;

	if (conn->ep.blockers.nbatched == 0)
		conn->batch = batch_take(conn->ep.engine->batches);
	wr = &conn->batch->wrs[conn->ep.blockers.nbatched];
	wr->op = op;
	wr->flags = 0;
	wr->sge = &conn->batch->sges[conn->nsges];
	wr->nsge = nsges;
	for (uint32_t i = 0; i < nsges; i++)
		wr->sge[i] = sges[i];
	conn->nsges += nsges;
	conn->batch->txs[conn->ep.blockers.nbatched++] = tx;
	engine_want_flush(&conn->ep);
	return wr;
}

void conn_send(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
	       uint32_t bytes, struct conn_tx *tx, bool is_alone)
{
	struct fabric_wr *wr = batch_add(conn, FABRIC_SEND, sges, nsges, tx);

	conn->bytes_sent += bytes;
	if (bytes <= conn->max_inline) {
		wr->flags = FABRIC_INLINE;
		conn->alone |= (uint64_t)is_alone << (conn->ep.blockers.nbatched - 1);
	}
}

void conn_send_inv(struct weir_conn *conn, const struct fabric_sge *sges, uint32_t nsges,
		   uint32_t bytes, struct conn_tx *tx, uint32_t rkey)
{
	struct fabric_wr *wr = batch_add(conn, FABRIC_SEND_INV, sges, nsges, tx);

	conn->bytes_sent += bytes;
	wr->rkey = rkey;
	if (bytes <= conn->max_inline)
		wr->flags = FABRIC_INLINE;
}

void conn_local_inv(struct weir_conn *conn, uint32_t rkey, bool in_use, struct conn_tx *tx)
{
	struct fabric_wr *wr = batch_add(conn, FABRIC_LOCAL_INV, NULL, 0, tx);

	wr->rkey = rkey;
	wr->flags |= in_use ? FABRIC_IN_USE : 0;
}

void conn_bind(struct weir_conn *conn, struct fabric_mw *mw, const struct fabric_sge *sge,
	       uint32_t access)
{
	struct fabric_sge element = *sge;
	const struct fabric_wr wr = {.wr_id = conn->sq_posted,
				     .op = FABRIC_BIND_MW,
				     .sge = &element,
				     .nsge = 1,
				     .mw = mw,
				     .access = access};

	conn->sq[conn->sq_posted++ % conn->sq_size] = NULL;
	if (conn->ops->post_send(conn->qp, &wr, 1) != 1) {
		LOG(CONNECTION, ERROR, "connection to %s: the driver refused to bind a window",
		    conn->peer);
		conn_fail(conn, -EIO);
	}
}

void conn_write(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
		struct conn_tx *tx)
{
	struct fabric_wr *wr = batch_add(conn, FABRIC_WRITE, sge, 1, tx);

	conn->rdma_bytes_sent += sge->len;
	wr->rkey = rkey;
	wr->raddr = raddr;
}

void conn_read(struct weir_conn *conn, const struct fabric_sge *sge, uint32_t rkey, uint64_t raddr,
	       struct conn_tx *tx)
{
	struct fabric_wr *wr = batch_add(conn, FABRIC_READ, sge, 1, tx);

	conn->rdma_bytes_received += sge->len;
	wr->rkey = rkey;
	wr->raddr = raddr;
}

int conn_coalesce_sges(struct weir_conn *conn, struct fabric_sge *sges, uint32_t *nsges,
		       struct mem_buf **spill, struct engine_wait_queue *queue,
		       struct engine_waiter *waiter)
{
	struct weir_engine *engine = conn->ep.engine;
	uint32_t first = *spill ? 1 : 0, bytes = first ? sges[0].len : 0;
	struct mem_buf *buf = *spill;

	if (!buf)
		buf = engine_reserve_get(engine, waiter);
	if (!buf) {
		engine_wait_unbounded(engine, queue, waiter);
		return -ENOBUFS;
	}
	for (uint32_t i = first; i < *nsges; i++) {
		memcpy(buf->data + bytes, sges[i].addr, sges[i].len);
		bytes += sges[i].len;
	}
	engine->stats.bulk_copies++;
	sges[0] = (struct fabric_sge){buf->data, bytes, buf->lkey};
	*nsges = 1;
	*spill = buf;
	return 0;
}

void conn_post_recvs(struct weir_conn *conn)
{
	struct fabric_recv_wr wrs[32];

	while (conn->nrecv_free > 0) {
		uint32_t n = conn->nrecv_free < 32 ? conn->nrecv_free : 32;

		for (uint32_t i = 0; i < n; i++) {
			struct mem_buf *buf = conn->recv_free[conn->nrecv_free - 1 - i];

			wrs[i] = (struct fabric_recv_wr){(uintptr_t)buf, buf->data, buf->size_bytes,
							 buf->lkey};
		}
		if (conn->ops->post_recv(conn->qp, wrs, n) != n) {
			conn_fail(conn, -EIO);
			return;
		}
		conn->nrecv_free -= n;
	}
}

/* Chooses the work requests of the batch that are signalled:
 *
 * - The last work request with a conn_tx is signalled, because its completion also reports that all
 *   earlier ones are complete. A Send whose conn_tx is done when the Send is posted does not count,
 *   because it needs no completion.
 * - The device frees entries of the send queue only by completions. Therefore less than a quarter
 *   of the send queue may follow the last signalled work request. A waiter (conn_wait_tx()) for up
 *   to three quarters of the send queue is thus woken. */
static void choose_signals(struct weir_conn *conn)
{
	uint64_t unsignalled = conn->sq_posted + conn->ep.blockers.nbatched - conn->sq_signalled;
	struct conn_batch *batch = conn->batch;

	for (uint32_t i = conn->ep.blockers.nbatched; i-- > 0;) {
		if (batch->txs[i] && !(conn->alone >> i & 1)) {
			batch->wrs[i].flags |= FABRIC_SIGNALED;
			unsignalled = conn->ep.blockers.nbatched - 1 - i;
			break;
		}
	}
	/* A connection that drains ends only when its last work requests are complete. */
	if (unsignalled >= conn->sq_size / 4 || conn->state == CONN_DRAINING)
		batch->wrs[conn->ep.blockers.nbatched - 1].flags |= FABRIC_SIGNALED;
}

/* Posts all work requests of the batch, and gives the batch back. Then calls 'done' for the Sends
 * that need no completion. */
static void post_batch(struct weir_conn *conn)
{
	struct conn_tx *inline_done[CONN_BATCH];
	struct conn_batch *batch = conn->batch;
	uint32_t ninline = 0, n = conn->ep.blockers.nbatched;

	choose_signals(conn);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t position = conn->sq_posted++;
		struct conn_tx *tx = batch->txs[i];

		batch->wrs[i].wr_id = position;
		if (batch->wrs[i].flags & FABRIC_SIGNALED)
			conn->sq_signalled = position + 1;
		if (tx && conn->alone >> i & 1) {
			inline_done[ninline++] = tx;
			tx = NULL;
		}
		conn->sq[position % conn->sq_size] = tx;
	}
	conn->ep.blockers.nbatched = 0;
	conn->nsges = 0;
	conn->alone = 0;
	if (conn->ops->post_send(conn->qp, batch->wrs, n) != n) {
		LOG(CONNECTION, ERROR,
		    "connection to %s: the driver refused work requests although its send queue "
		    "has room",
		    conn->peer);
		conn_fail(conn, -EIO);
	}
	batch_put(conn->ep.engine->batches, batch);
	for (uint32_t i = 0; i < ninline; i++)
		inline_done[i]->done(inline_done[i], 0);
}

bool conn_send_slow(struct weir_conn *conn, const uint8_t *data, uint32_t bytes)
{
	if (conn->ep.blockers.nbatched > 0 || !conn->ops->send_direct || !conn_can_send(conn))
		return false;
	conn_top_up(conn);
	if (!conn->ops->send_direct(conn->qp, data, bytes))
		return false;
	conn->bytes_sent += bytes;
	return true;
}

void conn_on_flush(struct engine_endpoint *ep)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	if (!conn->qp || conn->state >= CONN_LOST)
		return;
	conn_top_up(conn);
	if (conn->ep.blockers.nbatched > 0 && conn_can_send(conn))
		post_batch(conn);
}

void conn_retire(struct weir_conn *conn, uint64_t position, int error)
{
	while (conn->sq_retired <= position && conn->sq_retired < conn->sq_posted) {
		struct conn_tx **entry = &conn->sq[conn->sq_retired++ % conn->sq_size];
		struct conn_tx *tx = *entry;

		if (tx) {
			*entry = NULL;
			tx->done(tx, error);
		}
	}
	while (!TAILQ_EMPTY(&conn->tx_waiters) && conn_can_send(conn)) {
		struct conn_waiter *waiter = TAILQ_FIRST(&conn->tx_waiters);

		if (!conn_tx_reserve(conn, waiter->nwrs, waiter->nwrs))
			break;
		if (waiter != TAILQ_FIRST(&conn->tx_waiters))
			continue; /* a callback of conn_tx_reserve() has removed this waiter */
		conn_wait_cancel(conn, waiter);
		waiter->on_room(waiter);
	}
}

void conn_wait_tx(struct weir_conn *conn, struct conn_waiter *waiter, uint32_t nwrs)
{
	if (waiter->is_waiting)
		return;
	waiter->nwrs = nwrs;
	waiter->is_waiting = true;
	TAILQ_INSERT_TAIL(&conn->tx_waiters, waiter, entry);
}

void conn_wait_cancel(struct weir_conn *conn, struct conn_waiter *waiter)
{
	if (waiter->is_waiting) {
		waiter->is_waiting = false;
		TAILQ_REMOVE(&conn->tx_waiters, waiter, entry);
	}
}
