/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends the keys of a call, before its windows are freed (call_windows.c describes their life). The
 * responder ends a key with its reply. This side ends the other keys with work requests. The end of
 * the queue pair ends all keys.
 */
#include "requester.h"

#include "seeded_bugs.h"

static void all_ended(struct weir_call *call)
{
	call->is_exposed = false; /* a time-out need not end the connection to end the access */
	call->is_revoking = false;
	conn_wait_cancel(call->conn, &call->inv_waiter);
}

bool call_key_ended(struct weir_call *call, uint32_t rkey)
{
	for (uint32_t i = 0; i < call->nwindow_bindings; i++) {
		struct window_binding *window_binding = &call->window_bindings[i];

		if (!window_binding->mw || window_binding->mw->rkey != rkey)
			continue;
		/* Otherwise the call was given up, and both sides ended the key at the same time.
		 */
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
