/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles completions of the device, and messages that the device delivers without a completion.
 * Messages are passed to the role. The completion of a work request calls 'done' of the conn_tx
 * that waits for it. */
#include "conn.h"

#include <errno.h>

#include "compiler.h"

static const char *status_text(enum fabric_status status)
{
	static const char *const text[] = {
		[FABRIC_OK] = "no error",
		[FABRIC_ERR_LOCAL_LEN] = "a message was longer than its receive",
		[FABRIC_ERR_LOCAL_PROT] = "a local buffer lies outside its registration",
		[FABRIC_ERR_REMOTE_ACCESS] =
			"a key of the peer is unknown or ended, or does not allow this access",
		[FABRIC_ERR_RNR] = "the peer had no receive posted",
		[FABRIC_ERR_REMOTE_LEN] = "the peer's receive was too short",
		[FABRIC_ERR_RETRY] = "the peer did not answer",
		[FABRIC_ERR_FLUSHED] = "flushed",
		[FABRIC_ERR_FATAL] = "the connection broke",
	};

	return (size_t)status < sizeof(text) / sizeof(text[0]) && text[status] ? text[status]
									       : "unknown";
}

/* Handles a completion with an error: fails the connection. The function is rare and therefore out
 * of line, so that the common paths need no stack frame. */
static out_of_line void on_failure(struct weir_conn *conn, const struct fabric_wc *wc)
{
	struct weir_engine *engine = conn->ep.engine;

	if (conn->srq && wc->op == FABRIC_RECV)
		engine_srq_put(conn->srq, (struct mem_buf *)(uintptr_t)wc->wr_id);
	/* The connection was not established. An event with the reason follows, or the set-up times
	 * out. */
	if (wc->status == FABRIC_ERR_FLUSHED && conn->state == CONN_CONNECTING)
		return;
	/* The flushed work requests follow a completion that has the reason of the failure, unless
	 * the connection was disconnected. Only that completion is logged. */
	if (wc->status != FABRIC_ERR_FLUSHED)
		engine_log_peer(engine, &engine->ends, "connection to %s ends: %s", conn->peer,
				status_text(wc->status));
	if (wc->status != FABRIC_ERR_FLUSHED)
		conn_fail(conn, -EPROTO);
	else if (conn->qp && conn->ops->has_left && conn->ops->has_left(conn->qp))
		conn_fail(conn, -ESHUTDOWN);
	else
		conn_fail(conn, -ECONNRESET);
}

/* Adds a message to those that the connection holds. Receives must be shared. Returns false if the
 * connection then holds more messages than it may. */
static inline bool take_shared(struct weir_conn *conn, struct mem_buf *buf)
{
	LIST_INSERT_HEAD(&conn->held, buf, held);
	conn->active_since_tick = true;
	return ++conn->ep.blockers.nrecv_held <= conn_held_max(conn);
}

/* conn.h describes this function. It is out of line, too, so that its callers in the fast path need
 * no stack frame. */
out_of_line bool conn_hold_delivered(struct weir_conn *conn)
{
	struct mem_buf *buf = conn->srq->delivering;

	conn->srq->delivering = NULL;
	LIST_INSERT_HEAD(&conn->held, buf, held);
	conn->ep.blockers.nrecv_held++;
	return false;
}

/* conn.h describes this function. It is out of line, too, because the fast paths of the roles do
 * not need it. */
out_of_line bool conn_deliver(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len)
{
	struct weir_conn *conn = (struct weir_conn *)receiver;
	struct mem_buf *buf = (struct mem_buf *)(uintptr_t)wr_id;

	if (unlikely(conn->ep.is_reaping))
		return true;
	engine_want_ticks(&conn->ep);
	if (unlikely(conn->ep.blockers.nrecv_held >= conn_held_max(conn))) {
		take_shared(conn, buf);
		conn_share_exceeded(conn);
		return false;
	}
	conn_deliver_begin(conn, buf, len);
	if (unlikely(conn->state <= CONN_NEGOTIATING))
		conn_on_early(conn, buf, len, 0);
	else
		conn->role->on_message(conn, buf, len, 0);
	return conn_deliver_end(conn);
}

void conn_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	struct weir_conn *conn = (struct weir_conn *)ep;

	if (unlikely(wc->status != FABRIC_OK)) {
		on_failure(conn, wc);
		return;
	}
	if (wc->op != FABRIC_RECV) {
		conn_retire(conn, wc->wr_id, 0);
		return;
	}
	if (conn->srq && unlikely(!take_shared(conn, (struct mem_buf *)(uintptr_t)wc->wr_id))) {
		conn_share_exceeded(conn);
		return;
	}
	conn->bytes_received += wc->byte_len;
	if (unlikely(conn->state <= CONN_NEGOTIATING))
		conn_on_early(conn, (struct mem_buf *)(uintptr_t)wc->wr_id, wc->byte_len,
			      wc->inv_rkey);
	else
		conn->role->on_message(conn, (struct mem_buf *)(uintptr_t)wc->wr_id, wc->byte_len,
				       wc->inv_rkey);
}

void conn_chain_done(struct weir_conn *conn, struct mem_buf *chain)
{
	while (chain) {
		struct mem_buf *next = conn_chain_next(chain);

		conn_recv_done(conn, chain);
		chain = next;
	}
}
