/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes the events of a connection, and cancellations by the program, to the calls of the
 * connection. call.c decides what happens to each call. */
#include "call_inspect.h"
#include "call_stages.h"
#include "requester.h"

#include <errno.h>

#include "forked.h"
#include "owner.h"

int weir_call_cancel(struct weir_call *call)
{
	if (OTHER_THREAD(call->conn->ep.engine))
		return -EPERM;
	if (engine_is_forked(call->conn->ep.engine))
		return engine_fork_refuse();
	if (call->is_cancelled ||
	    (call->state != CALL_QUEUED && call->state != CALL_SENT && call->state != CALL_REPLIED))
		return -EINVAL;
	call->is_cancelled = true;
	call->deadline_ns = 0; /* the next tick ends the call like a time-out */
	return 0;
}

void requester_on_buffers(struct engine_waiter *waiter)
{
	struct requester *req =
		(struct requester *)((char *)waiter - offsetof(struct requester, buf_waiter));

	if (!TAILQ_EMPTY(&req->queue)) /* otherwise the buffers are not needed */
		requester_pump(TAILQ_FIRST(&req->queue)->conn);
}

void requester_on_open(struct weir_conn *conn)
{
	credit_first(&requester_of(conn)->credits, conn->protocol->first_credits(conn));
	/* The headers of queued calls were written for the previous queue pair and its peer. */
	requester_drop_headers(requester_of(conn));
	requester_pump(conn);
}

void requester_on_tick(struct weir_conn *conn, uint64_t now_ns)
{
	struct requester *req = requester_of(conn);

	/* 'ncalls' wraps less often than ticks run. */
	req->calls_before += (uint32_t)(req->ncalls - req->ncalls_seen);
	req->ncalls_seen = req->ncalls;
	if (conn->srq)
		requester_share_tick(conn, now_ns);
	conn->protocol->on_tick(conn, now_ns);
	if (req->nactive == 0)
		return;
	if (engine_stuck_is_due(conn->ep.engine, &req->next_stuck_ns))
		requester_report_stuck(conn);
	for (uint32_t i = 0; i < req->nslots && conn->state < CONN_LOST; i++) {
		struct weir_call *call = req->slots[i].call;

		if ((call->state == CALL_QUEUED || call->state == CALL_SENT ||
		     call->state == CALL_REPLIED || call->state == CALL_REVOKING) &&
		    now_ns >= call->deadline_ns)
			call_time_out(call);
	}
	if (conn_can_send(conn))
		requester_pump(conn);
}

uint64_t requester_next_tick(struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);
	uint64_t at_ns;

	if (req->nactive == 0)
		return ENGINE_NEVER_NS;
	if (!TAILQ_EMPTY(&req->queue) && conn_can_send(conn))
		return 0; /* each tick tries to send the queued calls */
	at_ns = engine_next_stuck(conn->ep.engine, req->next_stuck_ns);
	for (uint32_t i = 0; i < req->nslots; i++) {
		const struct weir_call *call = req->slots[i].call;

		if ((call->state == CALL_QUEUED || call->state == CALL_SENT ||
		     call->state == CALL_REPLIED || call->state == CALL_REVOKING) &&
		    call->deadline_ns < at_ns)
			at_ns = call->deadline_ns;
	}
	return at_ns;
}

void requester_on_suspend(struct weir_conn *conn, int error)
{
	struct requester *req = requester_of(conn);

	requester_note_queue(conn); /* calls do not wait for a credit while it is lost */
	engine_wait_cancel(conn->ep.engine, &req->buf_waiter);
	conn->protocol->on_suspend(conn);
	for (uint32_t i = 0; i < req->nslots; i++)
		call_deliver_kept(req->slots[i].call);
	for (uint32_t i = 0; i < req->nslots; i++)
		call_suspend(req->slots[i].call);
	credit_requester_init(&req->credits, req->credits.wanted);
	conn->ep.blockers.has_probe = false;
	/* The loop runs callbacks of the program. A callback can begin calls. It can also close the
	 * connection, which changes the state: the reaper then ends the other calls. */
	for (uint32_t i = 0; i < req->nslots && conn->state == CONN_LOST; i++)
		call_end_or_keep(req->slots[i].call, error);
}

void requester_fail_calls(struct weir_conn *conn, int error)
{
	struct requester *req = requester_of(conn);

	engine_wait_cancel(conn->ep.engine, &req->buf_waiter);
	for (uint32_t i = 0; i < req->nslots; i++)
		if (req->slots[i].call != &call_free_sentinel)
			call_lose(req->slots[i].call, error);
}

bool requester_is_idle(struct weir_conn *conn)
{
	return requester_of(conn)->nactive == 0;
}
