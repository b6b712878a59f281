/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues the calls of a lost connection, so that they are retransmitted when the connection is
 * established again (lib/conn/reconnect.c). The queue pair was destroyed, so neither the device nor
 * the peer reads or writes the memory of the calls. A call that was SENT is QUEUED again, with its
 * XID and its message, whose buffer was kept for this purpose. Retransmitted calls are queued
 * before calls that were never sent, in the order of the polls in which they were submitted. The
 * transport header, chunks and long buffers of a call are released. Before the call is sent again,
 * call.c creates them again for the parameters of the new connection.
 *
 * A call can be the reason for which each connection fails (RFC 8166 section 4.5.3). Therefore a
 * call that was in flight on two or more lost connections is a probe call: it is sent while no
 * other call is in flight, and queued calls wait for its end. If the connection is lost again, no
 * other call was in flight. If a call was in flight on more lost connections than the profile's
 * 'resends' allows, it fails with -ENOTRECOVERABLE.
 */
#include "requester.h"

#include <endian.h>
#include <string.h>

#include "call_stages.h"
#include "compiler.h"
#include "owner.h"
#include "seeded_bugs.h"

#define RETRANSMITS_PROBE 2u /* from this value of 'retransmits' on, a call is a probe call */

/* Returns the time at which the call was submitted, as of the poll. It is computed from the
 * deadline, because calls have different time-outs. The result for a cancelled call is 0. Such a
 * call ends at the next tick, so its position in the queue does not matter. */
static uint64_t submitted_ns(const struct weir_call *call)
{
	return call->is_cancelled ? 0 : call->deadline_ns - call->timeout_ns;
}

/* Inserts a retransmitted call into the queue, after those that were submitted earlier. */
static void insert_after_older(struct requester *req, struct weir_call *call)
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

/* Notes that the header of a queued call must be written again, and since when. */
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
	call_close_piece(call); /* a call that was sent by the fast path has no piece yet */
	call_release_extra(call);
	if (SEEDED_BUG(12)) {
		uint32_t xid = htobe32(call->xid += req->slot_mask + 1);

		req->slots[call->slot].xid = call->xid;
		memcpy(call->out.start, &xid, sizeof(xid));
	}
	call->is_send_done = false;
	call->is_refused = false;
	call->sends_app_memory = false;
	call->retransmits++; /* no overflow: the maximum of 'resends' is smaller */
	note_stale(call);
	call_stage_requeued(call);
	insert_after_older(req, call);
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
	if (OTHER_THREAD(call->conn->ep.engine))
		return 0;
	return call->retransmits;
}
