/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of a connection that is remade (lib/conn/reconnect.c). Its queue pair is gone, so that
 * nobody reads or writes their memory any more. A call that was SENT is QUEUED again, in front of
 * those that never were, in the order of the polls in which they were submitted: with its message,
 * which has been kept for this, and its XID. Its transport header, chunks and long buffers go: they
 * are made anew when it is sent, by what the new connection agreed on (call.c).
 *
 * A call may be what the connection broke on, each time (RFC 8166 section 4.5.3). One that was lost
 * twice is on trial: it is sent when nothing else is in flight, and what is queued waits for its
 * end, so that it takes no others with it. One that was lost more often than the profile's
 * 'resends' fails with -ENOTRECOVERABLE.
 */
#include "requester.h"

#include <endian.h>
#include <string.h>

#include "compiler.h"
#include "seeded_bugs.h"

#define RETRANSMITS_PROBE 2u

/* When it was submitted. Time-outs differ from call to call, so the deadline alone does not tell. A
 * call that was cancelled ends at the next tick, whatever its place in the queue. */
static uint64_t submitted_ns(const struct weir_call *call)
{
	return call->is_cancelled ? 0 : call->deadline_ns - call->timeout_ns;
}

static void put_behind_older(struct requester *req, struct weir_call *call)
{
	struct weir_call *other;

	TAILQ_FOREACH(other, &req->queue, queue)
	{
		if (other->retransmits == 0 || submitted_ns(other) > submitted_ns(call)) {
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

void call_requeue(struct weir_call *call)
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
	put_behind_older(req, call);
}

void call_drop_header(struct weir_call *call)
{
	call_release_extra(call);
	note_stale(call);
}

void requester_drop_headers(struct requester *req)
{
	struct weir_call *call;

	TAILQ_FOREACH(call, &req->queue, queue) call_drop_header(call);
}

bool requester_has_in_flight(const struct requester *req)
{
	for (uint32_t i = 0; i < req->nslots; i++) {
		const struct weir_call *call = req->slots[i].call;

		if (call->state == CALL_SENT || call->state == CALL_REPLIED)
			return true;
	}
	return false;
}

bool requester_is_stuck(const struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);
	uint32_t with_zombies = 0;

	if (!conn->reconnects || conn->state != CONN_OPEN || credit_available(&req->credits) > 0)
		return false;
	for (uint32_t i = 0; i < req->nslots; i++)
		if (req->slots[i].call->state == CALL_ZOMBIE)
			with_zombies += 1 + req->slots[i].call->more;
	return with_zombies > 0 && with_zombies == req->credits.in_flight;
}

bool call_waits_alone(const struct weir_call *call)
{
	return call->retransmits >= RETRANSMITS_PROBE &&
	       requester_has_in_flight(requester_of(call->conn));
}

bool requester_probe_in_flight(struct weir_conn *conn)
{
	struct requester *req = requester_of(conn);
	struct engine_blockers *blockers = &conn->ep.blockers;
	const struct weir_call *call;

	call = call_find(req, req->probe_xid);
	blockers->has_probe = call && (call->state == CALL_SENT || call->state == CALL_REPLIED);
	return blockers->has_probe;
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
