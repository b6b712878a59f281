/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends the keys of a call, before its windows are freed. call_windows.c describes the states of a
 * window. A key ends in one of these ways:
 *
 * - The responder invalidates it with its reply.
 * - A work request of this side invalidates it.
 * - The queue pair is destroyed.
 */
#include "requester.h"

#include "seeded_bugs.h"

static void all_ended(struct weir_call *call)
{
	/* A time-out of the call then need not fail the connection to end the peer's access. */
	call->is_exposed = false;
	call->is_revoking = false;
	conn_wait_cancel(call->conn, &call->inv_waiter);
}

bool call_key_ended(struct weir_call *call, uint32_t rkey)
{
	for (uint32_t i = 0; i < call->nwindow_bindings; i++) {
		struct window_binding *window_binding = &call->window_bindings[i];

		if (!window_binding->mw || window_binding->mw->rkey != rkey)
			continue;
		/* If the key is being invalidated, the call was given up, and both sides end the
		 * key at the same time. on_revoked() of call.c then counts it. */
		if (window_binding->is_valid && !call->is_revoking) {
			window_binding->is_valid = false;
			call->conn->ep.engine->stats.keys_ended_remote++;
			if (--call->nvalid == 0)
				all_ended(call);
		}
		return true;
	}
	return false;
}

static void on_room(struct conn_waiter *waiter)
{
	call_revoke((struct weir_call *)((char *)waiter - offsetof(struct weir_call, inv_waiter)));
}

void call_revoke(struct weir_call *call)
{
	struct weir_conn *conn = call->conn;
	uint32_t left = call->nvalid;

	if (call->is_revoking)
		return; /* the call was refused before, and is being given up */
	if (!conn_tx_reserve(conn, left, 0)) {
		call->inv_waiter.on_room = on_room;
		conn_wait_tx(conn, &call->inv_waiter, left);
		return;
	}
	call->is_revoking = true;
	for (uint32_t i = 0; i < call->nwindow_bindings; i++) {
		if (!call->window_bindings[i].is_valid)
			continue;
		if (SEEDED_BUG(13) && left > 1)
			left--;
		else
			conn_local_inv(conn, call->window_bindings[i].mw->rkey,
				       call->state != CALL_REPLIED,
				       --left == 0 ? &call->inv_tx : NULL);
	}
}

void call_keys_gone(struct weir_call *call)
{
	for (uint32_t i = 0; i < call->nwindow_bindings; i++)
		call->window_bindings[i].is_valid = false;
	call->nvalid = 0;
	all_ended(call);
}
