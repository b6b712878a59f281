/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides what happens to a call next. The files of the steps carry out one step each, and return a
 * result to this file:
 *
 *   call_encode.c      chooses the form of a call and writes its transport header
 *   call_send.c        gathers its message, binds its windows, and queues the Send
 *   call_read_reply.c  checks a reply against what the call offered
 *   call_complete.c    calls 'done' and frees the call
 *   retransmit.c       puts a call back into the queue
 *
 * Steps that differ between versions of the protocol are operations of the connection's table
 * (lib/conn/protocol.h). version1.c and v2/protocol.c define these tables. The steps take and give
 * back slots, buffers, windows and keys by call_pool.c, call_header.c, call_windows.c and
 * call_revoke.c. requester_events.c passes the events of a connection to its calls. call_fast.c
 * submits and completes most calls itself, and leaves the others to this file. call_complete.c
 * stores the states of a call that has ended: 'done' runs, the call waits for its Send or, if it
 * was given up, for its late reply, or it is free.
 */
#include "call_complete.h"

#include <errno.h>

#include "call_chunks.h"
#include "call_read_reply.h"
#include "call_shape.h"
#include "call_stages.h"
#include "forked.h"
#include "seeded_bugs.h"

/* The time in which the device must invalidate the keys of a call that is given up. */
#define REVOKE_NS 1000000000u

static void on_revoked(struct conn_tx *tx, int error);
static void on_sent(struct conn_tx *tx, int error);

/* Begins to invalidate the keys of a call. on_revoked() is called when none of them is valid. */
static void revoke(struct weir_call *call)
{
	call->inv_tx.done = on_revoked;
	call_revoke(call);
}

/* Ends a call that timed out or was cancelled. If the responder can still read or write memory of
 * the application, that access must end before the application gets the memory back (RFC 8166
 * sections 4.4.1 and 4.5.4). Therefore the keys of the call are invalidated first, or the
 * connection is failed. */
void call_time_out(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;

	if (call->state == CALL_REVOKING) {
		conn_fail(conn, -ETIMEDOUT); /* the peer blocks the invalidations */
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

/* Handles the first queued call if there are too few free windows for it: counts the wait, and
 * gives the reserve buffer back if the call has it. */
static out_of_line void wait_windows(struct weir_call *call)
{
	const struct mem_buf *header_buf = call->header_buf ? call->header_buf : call->args;

	call_engine(call)->stats.window_waits++;
	if (header_buf->pool == call_engine(call)->reserve_pool)
		call_drop_header(call); /* meanwhile other connections need the reserve buffer */
}

/* Makes a call SENT, because its Sends are queued, and takes its credits. */
static inline void mark_sent(struct weir_call *call)
{
	struct requester *req = requester_of(call->conn);

	credit_take(&req->credits);
	credit_take_more(&req->credits, call->more);
	call->conn->rdma_bytes_sent += call_read_bytes(call);
	call_stage_sent(call);
	call->state = CALL_SENT;
	call->expected_reply = EXPECTED_REPLY_ANY;
	call_engine(call)->stats.calls_sent++;
}

/* Queues the Sends of a call. Returns false if the call must wait for a buffer or for windows. */
static bool transmit(struct weir_call *call)
{
	if (call_lacks_windows(call)) {
		wait_windows(call);
		return false;
	}
	call->tx.done = on_sent;
	if (!call->conn->protocol->send(call))
		return false;
	mark_sent(call);
	return true;
}

/* Sends a call at once if the driver can, and makes it SENT. Header and message of the call must be
 * contiguous. The driver does not need the message after that. Returns false, and has done nothing,
 * if the driver can't. */
static inline bool transmit_shape(struct weir_conn *conn, struct requester *req,
				  struct weir_call *call)
{
	uint32_t bytes = call->header_bytes + (uint32_t)weir_xdr_out_len(&call->out);

	if (!conn_send_direct(conn, call->header, bytes))
		return false;
	credit_take(&req->credits);
	if (unlikely(call->plan.reduced != 0))
		conn->rdma_bytes_sent += call_read_bytes(call);
	call_stage_sent(call);
	call->state = CALL_SENT;
	call->is_send_done = true;
	conn->ep.engine->stats.calls_sent++;
	return true;
}

/* Makes the queue wait for buffers. The next tick tries again. If the send pool is empty, the
 * requester also waits for its turn in the round-robin order, in which it can get the reserve
 * buffer. Always returns RESEND_LATER. */
static enum resend later(struct weir_conn *conn)
{
	const struct mem_pool *pool = conn->ep.engine->send_pool;

	if (pool->in_use == pool->count)
		requester_wait(conn, requester_of(conn));
	return RESEND_LATER;
}

/* Handles the first queued call if there are too few buffers for it. Each call of the queue was
 * sent before, or could have been sent, so each of them once had the buffers that it needs. At
 * present, other calls hold these buffers, and some of them can be calls that are later in the
 * queue.
 *
 * - While a call is in flight, the queue waits, because the end of that call gives buffers back.
 *   Returns LATER.
 * - Otherwise all later calls release their headers, and the first call that finds enough buffers
 *   overtakes the others. Returns OTHER.
 * - If no call finds enough buffers, other connections of the engine hold them. The queue waits for
 *   at most reconnect_delay_max_ms of the profile, and LATER is returned. After that the first call
 *   fails with -ENOBUFS, and OTHER is returned. */
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

/* Prepares the first queued call, which was in flight on a lost connection or needs a header.
 * Returns one of these results:
 *
 * - NOW: the call has its header, and can be sent.
 * - LATER: the call waits for buffers, or is a probe call that waits until no call is in flight.
 * - OTHER: another call is first, or the queue is empty. */
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
		call_fail(call, rc); /* the header exceeds the thresholds of the new connection */
		return RESEND_OTHER;
	}
	call->needs_header = false;
	return RESEND_NOW;
}

/* Prepares the first queued call if necessary, and returns when it can be sent: NOW, LATER or
 * OTHER. The call was in flight on a lost connection, needs a header, or needs several
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
		call_renew_credits(call, req);
		if (!call->is_contiguous || !transmit_shape(conn, req, call)) {
			if (!conn_tx_reserve(conn, 1 + call->more + call->nwindow_bindings,
					     call_sges_max(call)))
				break;
			/* conn_tx_reserve() can have ended calls, whose callbacks can have sent
			 * this call. */
			if (call != TAILQ_FIRST(&req->queue) ||
			    credit_available(&req->credits) <= call->more)
				continue;
			if (!transmit(call))
				break; /* if it waits for windows, the next tick tries again */
		}
		TAILQ_REMOVE(&req->queue, call, queue);
		if (unlikely(call->retransmits > 0))
			call_note_resent(call);
	}
	requester_note_queue(conn);
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
	call_stage_submitted(call);
	req->nactive++;
	req->ncalls++;
	may_send = TAILQ_EMPTY(&req->queue) && credit_available(&req->credits) > 0 &&
		   !requester_has_probe(conn);
	if (is_shaped) {
		if (likely(may_send && transmit_shape(conn, req, call)))
			return 0;
		call_close_piece(call); /* transmit() requires it */
		call->is_contiguous = true;
	}
	if (engine_is_forked(conn->ep.engine)) {
		req->nactive--;
		req->ncalls--;
		return engine_fork_refuse();
	}
	/* conn_tx_reserve() can end calls, whose callbacks take credits and queue calls. Therefore
	 * queue and credits are checked after it. */
	if (may_send &&
	    conn_tx_reserve(conn, 1 + call->more + call->nwindow_bindings, call_sges_max(call)) &&
	    TAILQ_EMPTY(&req->queue) && credit_available(&req->credits) > call->more &&
	    transmit(call))
		return 0;
	call->state = CALL_QUEUED;
	conn->ep.engine->stats.calls_queued++;
	TAILQ_INSERT_TAIL(&req->queue, call, queue);
	requester_note_queue(conn);
	if (!conn_can_send(conn))
		call_drop_header(call); /* a reconnect can take long */
	return 0;
}

/* Ends a call by a reply in one message, which need not wait. If the reply must be dropped, counts
 * it, and the call waits for another reply. */
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
	call_accept_grant(req, call, hdr);
	if (is_given_up)
		call_free_when_sent(call);
	else
		call_complete(call, &result);
	requester_go_on(req);
}

/* Returns whether the reply to a call must wait. The application gets its memory back with 'done'.
 * Therefore the reply waits while the device might read that memory for the Send, or the peer has a
 * valid key for it. */
static bool must_wait(const struct weir_call *call)
{
	return call->state != CALL_ZOMBIE &&
	       ((call->sends_app_memory && !call->is_send_done) || call->nvalid > 0);
}

/* Keeps a reply that must wait, and begins to invalidate the keys of its call. The call becomes
 * REPLIED. Returns false, and does nothing, if the reply need not wait. */
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

/* Ends a call by a reply of the extension, which need not wait. 'chain' has the transmissions of
 * the reply, and the first of them has 'bytes' bytes. The call goes on if the responder will send
 * another reply. */
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
		/* The responder still has the call. Therefore the credits that were given back
		 * above are taken again. */
		call->is_reply_chain = false;
		req->credits.in_flight += 1 + call->more;
	}
	conn_chain_done(conn, chain);
	requester_go_on(req);
}

/* Queues a call that the responder refused, so that it is sent again by the base protocol. The
 * device must have completed the Sends of the call. */
static void requeue_refused(struct weir_call *call)
{
	struct requester *req = requester_of(call->conn);

	credit_lost(&req->credits, 1 + call->more);
	call->is_send_done = false;
	call->sends_app_memory = false;
	call_drop_header(call);
	call_stage_requeued(call);
	call->state = CALL_QUEUED;
	TAILQ_INSERT_HEAD(&req->queue, call, queue);
	requester_pump(call->conn);
}

/* Handles a message by which the responder refuses a call, which it has not executed. */
static void on_refused(struct weir_call *call)
{
	call->conn->got_message = true;
	if (call->state == CALL_ZOMBIE) {
		credit_lost(&requester_of(call->conn)->credits, 1 + call->more);
		call_free_when_sent(call);
	} else if (call->state == CALL_REVOKING) {
		call->is_refused = true; /* call_give_up() then does not wait for a reply */
	} else if (call->state == CALL_SENT && !call->is_refused) {
		call_engine(call)->stats.fallbacks_refused++;
		call->is_refused = true;
		if (call->nvalid > 0)
			revoke(call);
		else if (call->is_send_done)
			requeue_refused(call);
	}
}

/* Handles a message that is a reply if its header is valid and names a call that waits for a reply.
 * Any other message is dropped and counted. */
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
	/* The peer must not invalidate a key that does not belong to the call of the reply (RFC
	 * 8797). */
	if (unlikely(inv_rkey != 0))
		conn_fail(conn, -EPROTO);
	if (!is_kept)
		conn_recv_done(conn, buf);
}

/* Handles any message. 'is_again' means that the message is the reply of a call that was REPLIED.
 */
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

/* Ends a REPLIED call by the reply that waited. */
static void take_reply(struct weir_call *call)
{
	call->state = CALL_SENT;
	call->expected_reply = EXPECTED_REPLY_ANY;
	if (call->is_reply_chain)
		end_by_group(call, call->reply, call->reply_bytes);
	else
		on_message(call->conn, call->reply, call->reply_bytes, 0, true);
}

/* Ends a call by its reply if the call is REPLIED and the reply need not wait any more. */
static void resume(struct weir_call *call)
{
	if (call->state == CALL_REPLIED && !must_wait(call))
		take_reply(call);
}

/* Is called when the device does not need the buffers of a call's Sends any more. */
static void on_sent(struct conn_tx *tx, int error)
{
	struct weir_call *call = (struct weir_call *)tx;

	call->is_send_done = true;
	if (unlikely(call->has_extra) && call_holds_sent(call))
		call_release_sent(call); /* other calls might wait for these buffers */
	if (call->state == CALL_SENDING)
		call_release(call);
	else if (unlikely(call->is_refused) && call->state == CALL_SENT && call->nvalid == 0 &&
		 error == 0)
		requeue_refused(call);
	else if (error == 0)
		resume(call);
}

/* Is called when the invalidations of a call's keys are complete. */
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
		call->deadline_ns = 0; /* the call was given up */
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

	/* A slot without a call has call_free_sentinel, which has no connection. */
	if (call->state != CALL_QUEUED)
		return;
	engine = call->conn->ep.engine;
	resends = engine->profile.resends;
	if (engine->now_ns >= call->deadline_ns) {
		engine->stats.calls_timed_out +=
			call->deadline_ns != 0; /* 0: the call was cancelled, or counted before */
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
