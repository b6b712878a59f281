/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of a connection that is remade (lib/conn/reconnect.c). Its queue pair is gone, so that
 * nobody reads or writes their memory any more. A call that was SENT is QUEUED again, in front of
 * those that never were, the oldest first: with its message, which has been kept for this, and its
 * XID. Its transport header, chunks and long buffers go: they are made anew when it is sent, by
 * what the new connection agreed on (call_resend).
 *
 * A call may be what the connection broke on, each time (RFC 8166 section 4.5.3). One that was lost
 * twice is on trial: it is sent when nothing else is in flight, and what is queued waits for its
 * end, so that it takes no others with it. One that was lost more often than the profile's
 * 'resends' fails with -ENOTRECOVERABLE.
 */
#include "requester.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "compiler.h"
#include "seeded_bugs.h"

#define RETRANSMITS_PROBE 2u

static void put_behind_older(struct requester *req, struct weir_call *call)
{
	struct weir_call *other;

	TAILQ_FOREACH(other, &req->queue, queue)
	{
		if (other->retransmits == 0 || other->deadline_ns > call->deadline_ns) {
			TAILQ_INSERT_BEFORE(other, call, queue);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&req->queue, call, queue);
}

static void note_stale(struct weir_call *call)
{
	if (call->needs_header)
		return;
	call->needs_header = true;
	call->needs_header_ns = call->conn->ep.engine->now_ns;
}

static void hold(struct weir_call *call)
{
	struct requester *req = requester_of(call->conn);

	credit_lost(&req->credits, 1 + call->more);
	call_close_piece(call); /* one that went out by a short cut has none yet */
	call_release_extra(call);
	if (SEEDED_BUG(12)) {
		uint32_t xid = htobe32(call->xid += req->slot_mask + 1);

		req->slots[call->slot].xid = call->xid;
		memcpy(call->out.start, &xid, sizeof(xid));
	}
	call->is_send_done = false;
	call->is_refused = false;
	call->sends_app_memory = false;
	call->retransmits++; /* the profile's bound of 'resends' is below its own */
	note_stale(call);
	call->state = CALL_QUEUED;
	put_behind_older(req, call);
}

/* What came before the connection was lost counts: its Send is done with now. */
static void retransmit_deliver(struct weir_call *call)
{
	call_keys_gone(call);
	call_take_reply(call);
}

static void end_or_keep(struct weir_call *call, int error)
{
	struct weir_engine *engine = call->conn->ep.engine;
	uint32_t resends = engine->profile.resends;

	if (engine->now_ns >= call->deadline_ns) {
		engine->stats.calls_timed_out +=
			call->deadline_ns != 0; /* else that was said before */
		call_fail(call, call->is_cancelled ? -ECANCELED : -ETIMEDOUT);
	} else if (call->retransmits > resends) {
		engine->stats.calls_given_up++;
		call_fail(call, resends == 0 ? error : -ENOTRECOVERABLE);
	}
}

static bool is_in_state(const struct requester *req, uint32_t slot, enum call_state state)
{
	return req->slots[slot].call->state == state;
}

void requester_on_suspend(struct weir_conn *conn, int error)
{
	struct requester *req = requester_of(conn);

	engine_wait_cancel(conn->ep.engine, &req->buf_waiter);
	conn->protocol->on_suspend(conn);
	for (uint32_t i = 0; i < req->nslots; i++)
		if (is_in_state(req, i, CALL_REPLIED))
			retransmit_deliver(req->slots[i].call);
	for (uint32_t i = 0; i < req->nslots; i++) {
		struct weir_call *call = req->slots[i].call;

		if (call->state == CALL_REVOKING)
			call->deadline_ns = 0; /* it was given up */
		if (call->state == CALL_SENT || call->state == CALL_REVOKING)
			hold(call);
		else if (call->state == CALL_ZOMBIE || call->state == CALL_SENDING)
			call_release(call);
	}
	credit_requester_init(&req->credits, req->credits.wanted);
	conn->ep.blockers.has_probe = false;
	/* Callbacks from here on: they may begin calls, and close the connection, which then ends
	 * the others. */
	for (uint32_t i = 0; i < req->nslots && conn->state == CONN_LOST; i++)
		if (is_in_state(req, i, CALL_QUEUED))
			end_or_keep(req->slots[i].call, error);
}

void call_drop_header(struct weir_call *call)
{
	call_release_extra(call);
	note_stale(call);
}

void requester_on_open(struct weir_conn *conn)
{
	struct weir_call *call;

	credit_first(&requester_of(conn)->credits, conn->protocol->first_credits(conn));
	/* Made for a connection that is no more. */
	TAILQ_FOREACH(call, &requester_of(conn)->queue, queue) call_drop_header(call);
	requester_pump(conn);
}

/* Calls that the responder has and that still matter. */
static bool has_others_in_flight(const struct requester *req)
{
	for (uint32_t i = 0; i < req->nslots; i++)
		if (is_in_state(req, i, CALL_SENT) || is_in_state(req, i, CALL_REPLIED))
			return true;
	return false;
}

bool requester_has_probe(struct weir_conn *conn)
{
	struct requester *req = requester_of(conn);
	struct engine_blockers *blockers = &conn->ep.blockers;
	const struct weir_call *call;

	if (likely(!blockers->has_probe))
		return false;
	call = call_find(req, req->probe_xid);
	blockers->has_probe = call && (call->state == CALL_SENT || call->state == CALL_REPLIED);
	return blockers->has_probe;
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

	if (has_others_in_flight(req))
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

enum resend call_resend(struct weir_call *call)
{
	struct requester *req = requester_of(call->conn);
	int rc;

	if (call->retransmits >= RETRANSMITS_PROBE && has_others_in_flight(req))
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

void call_note_resent(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;

	conn->ep.engine->stats.calls_resent++;
	if (call->retransmits < RETRANSMITS_PROBE)
		return;
	conn->ep.blockers.has_probe = true;
	requester_of(conn)->probe_xid = call->xid;
}

uint32_t weir_call_retransmits(const struct weir_call *call)
{
	return call->retransmits;
}
