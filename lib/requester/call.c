/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens to a call next. This file decides it; the files of the steps carry one step out and
 * return a result:
 *
 *   call_encode.c      chooses the form of a call and writes its transport header
 *   call_send.c        gathers its message, and queues the Send
 *   call_read_reply.c  checks a reply against what the call offered
 *   call_complete.c    calls 'done' and frees the call
 *   retransmit.c       puts a call back into the queue
 *
 * Steps that differ from one version of the protocol to another are operations of the connection's
 * table (lib/conn/protocol.h): version1.c or v2/protocol.c has it. Steps take and give back what a
 * call owns by call_pool.c, call_header.c, call_windows.c and call_revoke.c. requester_events.c
 * brings the events of a connection to its calls. call_fast.c does at once what most calls need,
 * and leaves any other call to this file.
 */
#include "call_complete.h"

#include <errno.h>

#include "call_read_reply.h"
#include "call_shape.h"
#include "forked.h"
#include "seeded_bugs.h"

/* The time in which the device must invalidate the keys of a call that is given up. */
#define REVOKE_NS 1000000000u

static void on_revoked(struct conn_tx *tx, int error);
static void on_sent(struct conn_tx *tx, int error);

/* Invalidate its keys: on_revoked() follows. */
static void revoke(struct weir_call *call)
{
	call->inv_tx.done = on_revoked;
	call_revoke(call);
}

/* Its time is over, or it was cancelled. Memory that the responder may still read or write goes
 * back to the application only when it can't any more: the keys are invalidated first, or the
 * connection is ended (RFC 8166 sections 4.4.1 and 4.5.4). */
void call_time_out(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;

	if (call->state == CALL_REVOKING) {
		conn_fail(conn, -ETIMEDOUT); /* the device does not get to it: the peer keeps it
						from that */
		return;
	}
	conn->ep.engine->stats.calls_timed_out += !call->is_cancelled;
	if (call->state == CALL_QUEUED) {
		bool ends_conn = !call->is_cancelled && requester_is_stuck(conn);

		call_fail(call, call->is_cancelled ? -ECANCELED : -ETIMEDOUT);
		if (ends_conn)
			conn_fail(conn, -ETIMEDOUT);
	} else if (call->state == CALL_SENT && call->nvalid > 0 && call_may_keep_windows(call) &&
		   !SEEDED_BUG(8)) {
		call->state = CALL_REVOKING;
		call->deadline_ns = conn->ep.engine->now_ns + REVOKE_NS;
		revoke(call);
	} else if ((call->is_exposed || (call->sends_app_memory && !call->is_send_done)) &&
		   !SEEDED_BUG(8)) {
		conn_fail(conn, call->is_cancelled ? -ECANCELED : -ETIMEDOUT);
	} else {
		call_give_up(call);
	}
}

/* There are too few windows for the first one queued: it is sent when there are. */
static out_of_line void wait_windows(struct weir_call *call)
{
	const struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;

	call_engine(call)->stats.window_waits++;
	if (header_buf->pool == call_engine(call)->reserve_pool)
		call_drop_header(call); /* others need it meanwhile */
}

/* Notes that the Sends of a call are queued. */
static inline void mark_sent(struct weir_call *call)
{
	struct requester *req = requester_of(call->conn);

	credit_take(&req->credits);
	credit_take_more(&req->credits, call->more);
	call->state = CALL_SENT;
	call->expected_reply = EXPECTED_REPLY_ANY;
	call_engine(call)->stats.calls_sent++;
}

/* Queues the Sends of a call. Returns false if the call must wait for a buffer or for windows. */
static bool transmit(struct weir_call *call)
{
	const struct conn_protocol *protocol = call->conn->protocol;
	struct call_message msg;

	if (call_lacks_windows(call)) {
		wait_windows(call);
		return false;
	}
	call->tx.done = on_sent;
	if (!protocol->gather(call, &msg))
		return false;
	if (call->nwindow_bindings > 0)
		call_bind_windows(call);
	protocol->send(call, &msg);
	mark_sent(call);
	return true;
}

/* Send a call of a shape at once, if the driver can. The driver is done with the message then. */
static inline bool transmit_shape(struct weir_conn *conn, struct requester *req,
				  struct weir_call *call)
{
	uint32_t bytes = call->header_bytes + (uint32_t)weir_xdr_out_len(&call->out);

	if (!conn_send_direct(conn, call->header, bytes))
		return false;
	credit_take(&req->credits);
	call->state = CALL_SENT;
	call->is_send_done = true;
	conn->ep.engine->stats.calls_sent++;
	return true;
}

/* It tries again: at a tick, and where the send pool is dry at its turn, too, when it may have the
 * reserve. */
static enum resend later(struct weir_conn *conn)
{
	const struct mem_pool *pool = conn->ep.engine->send_pool;

	if (pool->in_use == pool->count)
		requester_wait(conn, requester_of(conn));
	return RESEND_LATER;
}

/* Calls that were sent, or could have been, had the buffers that they need; now others may have
 * them, down to those behind in the queue. While something is in flight, that brings buffers back.
 * Else the first one that finds enough overtakes. If none does, other connections of the engine may
 * bring some, for a while. */
static enum resend without_buffers(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	const struct weir_engine *engine = conn->ep.engine;
	struct requester *req = requester_of(conn);
	struct weir_call *other = call;
	uint64_t since_ns;

	if (requester_has_in_flight(req))
		return later(conn);
	while ((other = TAILQ_NEXT(other, queue)))
		call_drop_header(other);
	for (other = call; other; other = TAILQ_NEXT(other, queue)) {
		if (call_prepare(other) != 0)
			continue;
		other->needs_header = false;
		TAILQ_REMOVE(&req->queue, other, queue);
		TAILQ_INSERT_HEAD(&req->queue, other, queue);
		return RESEND_OTHER;
	}
	since_ns =
		conn->opened_ns > call->needs_header_ns ? conn->opened_ns : call->needs_header_ns;
	if (engine->now_ns - since_ns < engine->profile.reconnect_delay_max_ms * 1000000ull)
		return later(conn);
	call_fail(call, -ENOBUFS);
	return RESEND_OTHER;
}

/* The first one queued, which was lost or needs a header. OTHER: the first one is another now, if
 * any. */
static enum resend resend(struct weir_call *call)
{
	int rc;

	if (call_waits_alone(call))
		return RESEND_LATER;
	if (!call->needs_header)
		return RESEND_NOW;
	rc = call_prepare(call);
	if (rc == -ENOBUFS)
		return without_buffers(call);
	if (rc != 0) {
		call_fail(call,
			  rc); /* the new connection's thresholds are too small for its header */
		return RESEND_OTHER;
	}
	call->needs_header = false;
	return RESEND_NOW;
}

/* When the first call of the queue may be sent, if it was lost, needs a header or several
 * transmissions. */
static out_of_line enum resend when_to_send(struct weir_call *call)
{
	enum resend when = call->needs_header || call->retransmits > 0 ? resend(call) : RESEND_NOW;

	if (when == RESEND_NOW)
		when = call->conn->protocol->claim_credits(call);
	if (when != RESEND_ANEW)
		return when;
	call_drop_header(call);
	return RESEND_OTHER;
}

void requester_pump(struct weir_conn *conn)
{
	struct requester *req = requester_of(conn);
	struct weir_call *call;

	while ((call = TAILQ_FIRST(&req->queue)) && credit_available(&req->credits) > 0 &&
	       conn_can_send(conn) && !requester_has_probe(conn)) {
		if (unlikely(call->needs_header || call->retransmits > 0 || call->more > 0)) {
			enum resend when = when_to_send(call);

			if (when == RESEND_OTHER)
				continue;
			if (when == RESEND_LATER)
				break;
		}
		if (!call->is_contiguous || !transmit_shape(conn, req, call)) {
			if (!conn_tx_reserve(conn, 1 + call->more + call->nwindow_bindings,
					     call_sges_max(call)))
				break;
			/* Making room may have ended calls, and this one been sent from there. */
			if (call != TAILQ_FIRST(&req->queue) ||
			    credit_available(&req->credits) <= call->more)
				continue;
			if (!transmit(call))
				break; /* for windows, the next tick tries again */
		}
		TAILQ_REMOVE(&req->queue, call, queue);
		if (unlikely(call->retransmits > 0))
			call_note_resent(call);
	}
}

out_of_line void requester_send_more(struct weir_conn *conn)
{
	if (conn->srq)
		requester_share_grow(conn);
	requester_pump(conn);
}

int call_submit_any(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);
	bool is_shaped, may_send;

	if (unlikely(call->state != CALL_BUILDING))
		return -EINVAL;
	if (unlikely(call->out.failed))
		return -ENOSPC;
	if (unlikely(conn->ep.blockers.is_idle))
		requester_wake(conn);
	is_shaped = conn->protocol->prepare_shape(call);
	if (!is_shaped) {
		int rc = call_prepare(call);

		if (unlikely(rc != 0))
			return rc;
	}
	call_set_deadline(call, conn->ep.engine);
	req->nactive++;
	may_send = TAILQ_EMPTY(&req->queue) && credit_available(&req->credits) > 0 &&
		   !requester_has_probe(conn);
	if (is_shaped) {
		if (likely(may_send && transmit_shape(conn, req, call)))
			return 0;
		call_close_piece(call); /* as transmit() wants it */
		call->is_contiguous = true;
	}
	if (engine_is_forked(conn->ep.engine)) {
		req->nactive--;
		return engine_fork_refuse();
	}
	/* Making room may end calls, whose callbacks take credits: looked at again behind it. */
	if (may_send &&
	    conn_tx_reserve(conn, 1 + call->more + call->nwindow_bindings, call_sges_max(call)) &&
	    TAILQ_EMPTY(&req->queue) && credit_available(&req->credits) > call->more &&
	    transmit(call))
		return 0;
	call->state = CALL_QUEUED;
	conn->ep.engine->stats.calls_queued++;
	TAILQ_INSERT_TAIL(&req->queue, call, queue);
	if (!conn_can_send(conn))
		call_drop_header(call); /* its connection is remade, which may take long */
	return 0;
}

/* A reply that need not wait. */
static void end_by_reply(struct weir_call *call, const struct rdma1_header *hdr,
			 const struct mem_buf *buf, uint32_t len)
{
	struct requester *req = requester_of(call->conn);
	bool is_given_up = call->state == CALL_ZOMBIE && !SEEDED_BUG(1);
	struct call_content content;
	struct weir_result result;

	req->conn->got_message = true;
	if (!is_given_up && !call_read_reply(call, hdr, buf->data, len, &content, &result)) {
		req->conn->ep.engine->stats.dropped++;
		return;
	}
	call_take_credits(req, call, hdr);
	if (is_given_up)
		call_free_when_sent(call);
	else
		call_complete(call, &result);
	requester_go_on(req);
}

/* The application gets its memory back with 'done': not while the device may read it for the Send,
 * nor while the peer has a key for it. */
static bool must_wait(const struct weir_call *call)
{
	return call->state != CALL_ZOMBIE &&
	       ((call->sends_app_memory && !call->is_send_done) || call->nvalid > 0);
}

/* The reply came, and it may have to wait: then it is kept, and the call's keys are invalidated. */
static bool keep_reply(struct weir_call *call, struct mem_buf *reply, uint32_t bytes, bool is_chain)
{
	bool is_new = call->state == CALL_SENT;

	if (!must_wait(call))
		return false;
	call->state = CALL_REPLIED;
	call->is_reply_chain |= is_chain;
	call->reply = reply;
	call->reply_bytes = bytes;
	if (call->nvalid > 0 && is_new)
		revoke(call);
	return true;
}

/* A reply of several transmissions that need not wait. */
static void end_by_group(struct weir_call *call, struct mem_buf *chain, uint32_t bytes)
{
	struct weir_conn *conn = call->conn;
	struct requester *req = requester_of(conn);
	bool is_given_up = call->state == CALL_ZOMBIE;
	struct call_content content;
	struct weir_result result;
	uint32_t credit;
	bool is_last;

	conn->got_message = true;
	is_last = conn->protocol->read_group(call, chain, bytes, &credit,
					     is_given_up ? NULL : &content, &result);
	credit_lost(&req->credits, call->more);
	if (!credit_reply(&req->credits, credit))
		conn->ep.engine->stats.zero_grants++;
	if (is_given_up) {
		call_free_when_sent(call);
	} else if (is_last) {
		call_complete(call, &result);
	} else {
		/* The responder has it none the less. */
		call->is_reply_chain = false;
		req->credits.in_flight += 1 + call->more;
	}
	conn_chain_done(conn, chain);
	requester_go_on(req);
}

/* It was refused, and the device is done with its Sends: it is sent again by the base. */
static void requeue_refused(struct weir_call *call)
{
	struct requester *req = requester_of(call->conn);

	credit_lost(&req->credits, 1 + call->more);
	call->is_send_done = false;
	call->sends_app_memory = false;
	call_drop_header(call);
	call->state = CALL_QUEUED;
	TAILQ_INSERT_HEAD(&req->queue, call, queue);
	requester_pump(call->conn);
}

/* The responder has not carried it out, and says so. */
static void on_refused(struct weir_call *call)
{
	call->conn->got_message = true;
	if (call->state == CALL_ZOMBIE) {
		credit_lost(&requester_of(call->conn)->credits, 1 + call->more);
		call_free_when_sent(call);
	} else if (call->state == CALL_REVOKING) {
		call->is_refused = true; /* call_give_up() then waits for no reply */
	} else if (call->state == CALL_SENT && !call->is_refused) {
		call_engine(call)->stats.fallbacks_refused++;
		call->is_refused = true;
		if (call->nvalid > 0)
			revoke(call);
		else if (call->is_send_done)
			requeue_refused(call);
	}
}

/* A message that may be the reply to a call, by its header. */
static void on_header(struct weir_conn *conn, struct mem_buf *buf, uint32_t len, uint32_t inv_rkey,
		      const struct reply_in *in)
{
	struct weir_engine *engine = conn->ep.engine;
	struct weir_call *call = NULL;
	bool is_kept = false;

	if (in->verdict == RDMA1_V_OK)
		call = call_find(requester_of(conn), in->hdr.xid);
	if (!call || !call_waits_for_reply(call)) {
		engine->stats.dropped++;
		engine->stats.replies_unmatched += in->verdict == RDMA1_V_OK;
	} else {
		if (unlikely(inv_rkey != 0) && call_key_ended(call, inv_rkey))
			inv_rkey = 0;
		is_kept = keep_reply(call, buf, len, false);
		if (!is_kept)
			end_by_reply(call, &in->hdr, buf, len);
	}
	/* A key that is not of the call that was replied to: another call's, or none that was in
	 * use (RFC 8797). */
	if (unlikely(inv_rkey != 0))
		conn_fail(conn, -EPROTO);
	if (!is_kept)
		conn_recv_done(conn, buf);
}

static void on_message(struct weir_conn *conn, struct mem_buf *buf, uint32_t len, uint32_t inv_rkey,
		       bool is_again)
{
	struct reply_in in;

	switch (conn->protocol->receive_reply(conn, buf, len, inv_rkey, is_again, &in)) {
	case REPLY_MESSAGE:
		on_header(conn, buf, len, inv_rkey, &in);
		break;
	case REPLY_GROUP:
		if (!keep_reply(in.call, in.chain, in.chain_bytes, true))
			end_by_group(in.call, in.chain, in.chain_bytes);
		break;
	case REPLY_REFUSED:
		on_refused(in.call);
		conn_recv_done(conn, buf);
		break;
	case REPLY_SHRUNK:
		requester_drop_headers(requester_of(conn));
		break;
	case REPLY_NONE:
		break;
	}
}

out_of_line void requester_on_reply(struct weir_conn *conn, struct mem_buf *buf, uint32_t len,
				    uint32_t inv_rkey)
{
	on_message(conn, buf, len, inv_rkey, false);
}

/* The reply that waited: look at it once more. */
static void take_reply(struct weir_call *call)
{
	call->state = CALL_SENT;
	call->expected_reply = EXPECTED_REPLY_ANY;
	if (call->is_reply_chain)
		end_by_group(call, call->reply, call->reply_bytes);
	else
		on_message(call->conn, call->reply, call->reply_bytes, 0, true);
}

/* REPLIED, and something that it waited for has come: goes on when nothing is left to wait for. */
static void resume(struct weir_call *call)
{
	if (call->state == CALL_REPLIED && !must_wait(call))
		take_reply(call);
}

static void on_sent(struct conn_tx *tx, int error)
{
	struct weir_call *call = (struct weir_call *)tx;

	call->is_send_done = true;
	if (unlikely(call->has_extra) && call_holds_sent(call))
		call_release_sent(call); /* others may be waiting for it */
	if (call->state == CALL_SENDING)
		call_release(call);
	else if (unlikely(call->is_refused) && call->state == CALL_SENT && call->nvalid == 0 &&
		 error == 0)
		requeue_refused(call);
	else if (error == 0)
		resume(call);
}

static void on_revoked(struct conn_tx *tx, int error)
{
	struct weir_call *call =
		(struct weir_call *)((char *)tx - offsetof(struct weir_call, inv_tx));

	if (error != 0)
		return; /* the connection is over, and ends its calls */
	call->conn->ep.engine->stats.keys_ended_local += call->nvalid;
	call_keys_gone(call);
	if (call->state == CALL_REVOKING)
		call_give_up(call);
	else if (call->is_refused && call->state == CALL_SENT && call->is_send_done)
		requeue_refused(call);
	else
		resume(call);
}

void call_deliver_kept(struct weir_call *call)
{
	if (call->state != CALL_REPLIED)
		return;
	call_keys_gone(call);
	take_reply(call);
}

void call_suspend(struct weir_call *call)
{
	if (call->state == CALL_REVOKING)
		call->deadline_ns = 0; /* it was given up */
	if (call->state == CALL_SENT || call->state == CALL_REVOKING) {
		call_requeue(call);
		call->state = CALL_QUEUED;
	} else if (call->state == CALL_ZOMBIE || call->state == CALL_SENDING) {
		call_release(call);
	}
}

void call_end_or_keep(struct weir_call *call, int error)
{
	struct weir_engine *engine;
	uint32_t resends;

	/* Slots without a call have one that has no connection. */
	if (call->state != CALL_QUEUED)
		return;
	engine = call->conn->ep.engine;
	resends = engine->profile.resends;
	if (engine->now_ns >= call->deadline_ns) {
		engine->stats.calls_timed_out +=
			call->deadline_ns != 0; /* else that was said before */
		call_fail(call, call->is_cancelled ? -ECANCELED : -ETIMEDOUT);
	} else if (call->retransmits > resends) {
		engine->stats.calls_given_up++;
		call_fail(call, resends == 0 ? error : -ENOTRECOVERABLE);
	}
}

void call_lose(struct weir_call *call, int error)
{
	if ((call->state == CALL_QUEUED && !SEEDED_BUG(3)) || call->state == CALL_SENT ||
	    call->state == CALL_REPLIED || call->state == CALL_REVOKING)
		call_fail(call, error);
	else
		call_release(call);
}
