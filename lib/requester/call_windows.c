/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exposure of a call's memory by windows (RFC 8166 section 8.1). Each segment that the header lists
 * is one exposure (struct window_binding), which passes these states:
 *
 *   planned  by call_header_expose() (call_header.c), when the call is submitted. The header has
 *            the key of the region instead of the key of a window.
 *   bound    by call_bind_windows(), when the call is sent. A window is bound to the memory, and
 *            the key of the window is written into the header. The binds are posted before the
 *            Send, so that each key is valid when the peer receives it.
 *   ended    when the responder invalidates the key with its reply, when a work request of this
 *            side that invalidates the key is complete (call_revoke.c), or when the queue pair is
 *            destroyed
 *   free     by call_drop_windows(), when the call is over. A call that is given up keeps its
 *            windows until the responder has replied, because a late access must not use a key that
 *            then belongs to another call.
 *
 * A call is not completed while one of its keys is valid (RFC 8166 sections 4.4.1 and 4.5.4).
 *
 * If each connection is a protection domain, with the policy 'pool', the exposures are planned in
 * the same way. call_bind_windows() then writes keys of the connection into the header. It binds no
 * window, and these keys do not end before the connection.
 */
#include "requester.h"

#include "exposure.h"
#include "wire.h"

_Static_assert(CALL_WINDOW_BINDINGS_MAX <= ENGINE_WINDOWS_MIN,
	       "a call must not wait for more windows than there are");

/* Finds the fields of the header that hold keys, like conn_protocol.find_handles(). Returns their
 * number. Sets *inv_handle to NULL if the header has no such field. */
static uint32_t find_handles(const struct weir_call *call,
			     uint8_t *handles[CALL_WINDOW_BINDINGS_MAX], uint8_t **inv_handle)
{
	*inv_handle = NULL;
	return call->conn->protocol->find_handles(call, handles, CALL_WINDOW_BINDINGS_MAX,
						  inv_handle);
}

/* Writes keys of the connection into the header of a call. These keys are valid as long as the
 * queue pair exists. */
static void write_keys(struct weir_call *call)
{
	const struct weir_conn *conn = call->conn;
	uint8_t *handles[CALL_WINDOW_BINDINGS_MAX], *inv_handle;
	uint32_t n = find_handles(call, handles, &inv_handle);

	for (uint32_t i = 0; i < n && i < call->nwindow_bindings; i++) {
		const struct window_binding *window_binding = &call->window_bindings[i];
		uint32_t rkey = conn->ops->qp_rkey(conn->qp, window_binding->lkey);

		wire_put_u32(handles[i], rkey);
		if (window_binding->copy)
			*window_binding->copy = rkey;
	}
}

void call_bind_windows(struct weir_call *call)
{
	struct weir_engine *engine = call->conn->ep.engine;
	uint8_t *handles[CALL_WINDOW_BINDINGS_MAX], *inv_handle;
	uint32_t n;

	if (engine->own_domains) {
		write_keys(call);
		return;
	}
	n = find_handles(call, handles, &inv_handle);
	for (uint32_t i = 0; i < n && i < call->nwindow_bindings; i++) {
		struct window_binding *window_binding = &call->window_bindings[i];
		struct fabric_sge sge = {window_binding->base, window_binding->len,
					 window_binding->lkey};

		window_binding->mw = engine_window_get(engine);
		conn_bind(call->conn, window_binding->mw, &sge, window_binding->access);
		window_binding->is_valid = true;
		call->nvalid++;
		wire_put_u32(handles[i], window_binding->mw->rkey);
		if (window_binding->copy)
			*window_binding->copy = window_binding->mw->rkey;
	}
	if (inv_handle)
		wire_put_u32(inv_handle, call->window_bindings[0].mw->rkey);
	engine->stats.windows_bound += call->nwindow_bindings;
}

bool call_may_keep_windows(const struct weir_call *call)
{
	const struct weir_engine *engine = call->conn->ep.engine;

	return engine->nwindows_free >= engine->nwindows / 2;
}

void call_drop_windows(struct weir_call *call)
{
	for (uint32_t i = 0; i < call->nwindow_bindings; i++) {
		struct window_binding *window_binding = &call->window_bindings[i];

		if (window_binding->mw)
			engine_window_put(call->conn->ep.engine, window_binding->mw);
		if (window_binding->copy)
			*window_binding->copy =
				window_binding
					->lkey; /* the planned key: the call may be sent again */
	}
	call->nwindow_bindings = 0;
	call->nvalid = 0;
	call->is_revoking = false;
}
