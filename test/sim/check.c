/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the conditions that must hold after each step and at the end of a run.
 *
 * The checks do not rely on counters. They find each buffer that a pool counts as taken, with
 * exactly that number of owners. Each credit must belong to a call that the responder has. Each
 * request that a program holds must be counted for that program.
 */
#include "call_pool.h"
#include "wsim.h"

struct owned {
	uint32_t send, reserve, recv, lng, bulk, windows, keys;
};

static void count_buf(const struct weir_engine *engine, const struct mem_buf *buf,
		      struct owned *owned)
{
	if (!buf)
		return;
	owned->send += buf->pool == engine->send_pool;
	owned->reserve += buf->pool == engine->reserve_pool;
	owned->recv += buf->pool == engine->recv_pool;
	owned->lng += buf->pool == engine->long_pool;
	owned->bulk += buf->pool == engine->bulk_pool;
}

/* Counts the buffers of a chain. Each buffer refers to the next one. */
static void count_chain(const struct weir_engine *engine, const struct mem_buf *buf,
			struct owned *owned)
{
	for (; buf; buf = (const struct mem_buf *)(uintptr_t)buf->user[0])
		count_buf(engine, buf, owned);
}

static void check_requester(struct wsim_side *side, const struct weir_conn *conn,
			    struct owned *owned)
{
	const struct requester *req = requester_of(conn);
	uint32_t nfree = 0, nlisted = 0, nactive = 0, in_flight = 0, nvalid = 0, reserved = 0;

	for (uint32_t i = 0; i < req->nslots; i++) {
		const struct weir_call *call = req->slots[i].call;

		nfree += call == &call_free_sentinel;
		if (call == &call_free_sentinel)
			continue;
		if (call->state == CALL_FREE || call->conn != conn || call->slot != i)
			wsim_violation(side->run, "slot %u has a call that is not its own", i);
		nactive += call->state == CALL_QUEUED || call->state == CALL_SENT ||
			   call->state == CALL_REPLIED || call->state == CALL_REVOKING;
		if (call->state == CALL_SENT || call->state == CALL_REPLIED ||
		    call->state == CALL_REVOKING || call->state == CALL_ZOMBIE)
			in_flight += 1 + call->more;
		reserved += call->reply_reserved;
		nvalid = 0;
		for (uint32_t j = 0; j < call->nwindow_bindings; j++) {
			owned->windows += call->window_bindings[j].mw != NULL;
			nvalid += call->window_bindings[j].is_valid;
		}
		owned->keys += nvalid;
		if (nvalid != call->nvalid)
			wsim_violation(side->run, "%u keys of a call hold, %u are counted", nvalid,
				       call->nvalid);
		if (nvalid > 0 && call->state != CALL_SENT && call->state != CALL_REPLIED &&
		    call->state != CALL_REVOKING)
			wsim_violation(side->run, "a key holds, but its call is over");
		count_buf(side->engine, call->args, owned);
		count_buf(side->engine, call->header_buf, owned);
		count_buf(side->engine, call->long_call, owned);
		count_buf(side->engine, call->long_reply, owned);
		count_buf(side->engine, call->reply_copy, owned);
		count_buf(side->engine, call->reply_join, owned);
		count_buf(side->engine, call->spill, owned);
		count_chain(side->engine, call->group_bufs, owned);
	}
	for (uint32_t slot = req->free_slot; slot != CALL_NO_SLOT && nlisted <= nfree; nlisted++)
		slot = req->slots[slot].next_free;
	for (uint32_t i = 0; i < req->pool->nused; i++) {
		const struct weir_call *call = &req->pool->calls[i];

		if (call->state == CALL_FREE && (call->args || call->spill || call->long_reply ||
						 call->reply_join || call->group_bufs))
			wsim_violation(side->run, "a call that is over has buffers");
	}
	if (nfree != nlisted)
		wsim_violation(side->run, "%u slots of calls are free, %u are listed", nfree,
			       nlisted);
	if (nactive != req->nactive)
		wsim_violation(side->run, "%u calls are under way, %u are counted", nactive,
			       req->nactive);
	if (in_flight != req->credits.in_flight)
		wsim_violation(side->run,
			       "the responder has %u messages of calls, %u credits are taken",
			       in_flight, req->credits.in_flight);
	if (reserved != req->reply_reserved || reserved > req->reply_recvs)
		wsim_violation(side->run, "calls have reserved %u receives, %u are counted, of %u",
			       reserved, req->reply_reserved, req->reply_recvs);
	if (in_flight > req->credits.wanted || req->credits.granted == 0 ||
	    req->credits.granted > req->credits.wanted)
		wsim_violation(side->run, "%u calls in flight, %u granted, %u asked for", in_flight,
			       req->credits.granted, req->credits.wanted);
}

static void count_request(const struct weir_engine *engine, const struct weir_request *req,
			  struct owned *owned)
{
	count_buf(engine, req->reply, owned);
	count_buf(engine, req->header_buf, owned);
	count_buf(engine, req->spill, owned);
	count_chain(engine, req->group_bufs, owned);
	for (uint32_t i = 0; i < req->nchunks; i++)
		count_buf(engine, req->chunk_bufs[i], owned);
}

static uint32_t check_responder(struct wsim_side *side, const struct weir_conn *conn,
				struct owned *owned)
{
	const struct responder *responder = responder_of(conn);
	uint32_t handling = 0, busy = 0;

	for (uint32_t i = 0; i < responder->pool->nused; i++) {
		const struct weir_request *req = &responder->pool->requests[i];

		if (req->responder != responder)
			continue;

		busy += req->state != REQUEST_FREE;
		if ((req->state != REQUEST_FREE) != (req->outstanding.le_prev != NULL))
			wsim_violation(side->run, "a request is %s its connection's list",
				       req->outstanding.le_prev ? "still in" : "not in");
		handling += req->state == REQUEST_HANDLING;
		count_request(side->engine, req, owned);
	}
	if (busy != responder->nbusy)
		wsim_violation(side->run, "%u requests are busy, %u were taken", busy,
			       responder->nbusy);
	return handling;
}

static void check_pool(struct wsim_side *side, const char *what, const struct mem_pool *pool,
		       uint32_t owned)
{
	if (pool->in_use != owned)
		wsim_violation(side->run, "engine %u: %u %s buffers are taken, %u have an owner",
			       side->index, pool->in_use, what, owned);
}

/* Checks that the counters contain no error that no fault could have caused. */
static void check_stats(struct wsim_side *side)
{
	struct engine_counters stats = {0};

	test_counters(side->engine, &stats);
	if (stats.rnr)
		wsim_violation(side->run, "engine %u: a message met no receive", side->index);
	/*
	 * A responder can access the memory of a call after the call was given up and its key was
	 * invalidated.
	 */
	if (stats.remote_access_errors &&
	    !(side->engine->uses_windows && (stats.calls_timed_out || side->ncancelled)))
		wsim_violation(side->run, "engine %u: a key was used that does not open the memory",
			       side->index);
	if (stats.dropped || stats.protocol_errors)
		wsim_violation(side->run, "engine %u: a message was not sound", side->index);
	if (stats.zero_grants)
		wsim_violation(side->run, "engine %u: no credit was granted", side->index);
}

static void check_side(struct wsim_side *side)
{
	const struct wsim_run *run = side->run;
	struct owned owned = {.send = 1}; /* the buffer of zeros that the engine holds */
	const struct engine_srq *srq = side->engine->srq;
	uint32_t nconns = 0, handling = 0, held = 0;
	const struct engine_endpoint *ep;

	TAILQ_FOREACH(ep, &side->engine->all, all)
	{
		const struct weir_conn *conn = (const struct weir_conn *)ep;

		if (ep->on_wc != conn_on_wc)
			continue;
		nconns++;
		owned.recv += conn->nrecvs;
		if (conn->sq_posted - conn->sq_retired > conn->sq_size ||
		    (!conn->srq && conn->nrecv_free > conn->nrecvs))
			wsim_violation(side->run, "a queue holds more than it can");
		if (side->is_requester)
			check_requester(side, conn, &owned);
		else
			handling += check_responder(side, conn, &owned);
	}
	for (uint32_t i = 0; i < run->nheld; i++) {
		const struct weir_request *req = run->held[i].req;

		if (run->held[i].side != side)
			continue;
		held++;
		if (!weir_request_conn(req)) { /* a request without a connection, and its message */
			handling++;
			count_request(side->engine, req, &owned);
			if (req->has_chain)
				count_chain(side->engine, req->msg, &owned);
			else
				count_buf(side->engine, req->msg, &owned);
		}
	}
	if (nconns != side->engine->nconnections)
		wsim_violation(side->run, "engine %u: %u connections, %u counted", side->index,
			       nconns, side->engine->nconnections);
	if (handling != held)
		wsim_violation(side->run,
			       "engine %u: programs have %u requests, %u are known to them",
			       side->index, handling, held);
	check_pool(side, "send", side->engine->send_pool, owned.send);
	check_pool(side, "reserve", side->engine->reserve_pool, owned.reserve);
	if (srq) {
		owned.recv = srq->nbufs;
		if (srq->credits.shared > srq->credits.capacity)
			wsim_violation(side->run,
				       "engine %u: shares of %u receives, where there are %u",
				       side->index, srq->credits.shared, srq->credits.capacity);
	}
	check_pool(side, "receive", side->engine->recv_pool, owned.recv);
	check_pool(side, "long", side->engine->long_pool, owned.lng);
	check_pool(side, "bulk", side->engine->bulk_pool, owned.bulk);
	if (side->engine->nwindows - side->engine->nwindows_free != owned.windows)
		wsim_violation(side->run, "engine %u: %u windows are taken, %u have an owner",
			       side->index, side->engine->nwindows - side->engine->nwindows_free,
			       owned.windows);
	if (sim_windows_bound(wsim_device(side)) > owned.keys)
		wsim_violation(side->run, "engine %u: %u windows are bound, for %u keys of calls",
			       side->index, sim_windows_bound(wsim_device(side)), owned.keys);
	check_stats(side);
}

/*
 * Returns true if all receives are back in their pool. It is called when no connection is left.
 * Shared receives stay with the engine, but none of them may be held.
 */
static bool receives_are_back(const struct weir_engine *engine)
{
	const struct engine_srq *srq = engine->srq;

	if (!srq)
		return engine->recv_pool->in_use == 0;
	for (uint32_t i = 0; i < srq->nbufs; i++)
		if (engine_srq_is_held(srq->bufs[i]))
			return false;
	return engine->recv_pool->in_use == srq->nbufs && srq->credits.shared == 0;
}

/*
 * Checks the memory of calls that have ended: nobody has written to it, and no window exposes it.
 * With the policy 'window' this includes all access. With 'pool' the keys of whole regions always
 * stay valid.
 */
static void check_memory(struct wsim_side *side)
{
	uint32_t slot = side->run->step % WSIM_SLOTS; /* each step checks one slot */

	if (side->slots[slot].is_busy)
		return;
	if (!wsim_slot_is_calm(side, slot))
		wsim_violation(side->run, "engine %u: memory of a call that is over was written to",
			       side->index);
	if (sim_windows_over(wsim_device(side), side->mem + slot * WSIM_SLOT_BYTES,
			     WSIM_SLOT_BYTES) > 0)
		wsim_violation(side->run, "engine %u: a key opens memory of a call that is over",
			       side->index);
}

void wsim_check_step(struct wsim_run *run)
{
	for (uint32_t i = 0; i < wsim_nsides(run); i++) {
		if (run->sides[i].is_dead)
			continue;
		check_side(&run->sides[i]);
		check_memory(&run->sides[i]);
	}
	if (sim_sources_changed(run->world) > 0)
		wsim_violation(run, "memory was changed that a device was still sending from");
}

void wsim_check_rest(struct wsim_run *run)
{
	for (uint32_t i = 0; i < run->ncalls; i++)
		if (run->calls[i].is_submitted && run->calls[i].done != 1)
			wsim_violation(run, "call %u: completed %u times", i, run->calls[i].done);
	for (uint32_t i = 0; i < wsim_nsides(run); i++) {
		struct wsim_side *side = &run->sides[i];

		if (side->engine->nconnections != 0)
			wsim_violation(run, "engine %u: %u connections are left", i,
				       side->engine->nconnections);
		if (side->engine->send_pool->in_use != 1 ||
		    side->engine->reserve_pool->in_use != 0 || !receives_are_back(side->engine) ||
		    side->engine->long_pool->in_use != 0 || side->engine->bulk_pool->in_use != 0)
			wsim_violation(run, "engine %u: buffers are left", i);
		if (side->engine->nwindows_free != side->engine->nwindows)
			wsim_violation(run, "engine %u: windows are left", i);
		if (side->on_sent_done != side->on_sent_asked)
			wsim_violation(run, "engine %u: %lu of %lu replies gave their memory back",
				       i, (unsigned long)side->on_sent_done,
				       (unsigned long)side->on_sent_asked);
		if (side->nslots_busy != 0)
			wsim_violation(run, "engine %u: memory of %u calls is left", i,
				       side->nslots_busy);
		for (uint32_t slot = 0; slot < WSIM_SLOTS; slot++)
			if (!wsim_slot_is_calm(side, slot))
				wsim_violation(
					run,
					"engine %u: memory of a call that is over was written to",
					i);
	}
}
