/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes when a connection has too few credits for its queued calls, for the stage CREDIT. */
#include "call_stages.h"

/* Returns whether the first queued call could be sent if the connection had more credits. */
static bool lacks_credits(struct weir_conn *conn, const struct requester *req)
{
	const struct weir_call *first = TAILQ_FIRST(&req->queue);

	return first && conn_can_send(conn) && !requester_has_probe(conn) &&
	       credit_available(&req->credits) <= first->more;
}

out_of_line void requester_update_wait(struct weir_conn *conn)
{
	struct requester *req = requester_of(conn);
	struct credit_wait *wait = &req->credit_wait;
	uint64_t now_ns;

	if (!engine_measures_stages(conn->ep.engine) ||
	    lacks_credits(conn, req) == wait->is_waiting)
		return;
	now_ns = engine_clock_ns(conn->ep.engine);
	wait->total_ns = credit_wait_ns(wait, now_ns);
	wait->changed_ns = now_ns;
	wait->is_waiting = !wait->is_waiting;
}
