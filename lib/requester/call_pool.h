/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_POOL_H
#define CALL_POOL_H

/*
 * The calls of all requesters of an engine. A call belongs to a connection from weir_call_begin()
 * until its slot in the connection is free again. Thus connections that make no calls need no
 * memory for calls. The call that was returned latest is taken next, whatever its connection was,
 * because it is in the cache.
 *
 * Each call in use holds a buffer for its message. The number of these buffers determines the
 * number of calls. The memory of calls that were never used is never touched.
 */

#include "compiler.h"
#include "requester.h"

/* The arguments of 'done' for most replies. One object is enough for all calls, because it is valid
 * during the callback only. Nearly all of it is set once. */
struct call_view {
	struct weir_result result;
	struct weir_rpc_reply_header reply; /* accepted, AUTH_NONE, SUCCESS */
	struct weir_xdr_in in;
	uint32_t item_bytes;
};

struct call_pool {
	struct weir_engine *engine;
	uint32_t refs; /* number of requesters */
	uint32_t ncalls;
	uint32_t nused; /* calls that were ever in use: the first ones */
	struct weir_call *free;
	struct weir_call *ending; /* its 'done' is being called, or was: check its state */
	struct weir_call *calls;
	struct window_binding *window_bindings; /* CALL_WINDOW_BINDINGS_MAX for each call; NULL if
						   keys belong to the engine */
	struct call_view view;
};

/* call_pool_get() returns the engine's pool, which it creates for the first requester. It returns
 * NULL if there is no memory. call_pool_put() reverses it. */
struct call_pool *call_pool_get(struct weir_engine *engine);
void call_pool_put(struct call_pool *pool);

/* Returns a call that was never used. Returns NULL if none is left. */
struct weir_call *call_pool_next(struct call_pool *pool);

static inline struct weir_call *call_pool_take(struct call_pool *pool)
{
	struct weir_call *call = pool->free;

	if (unlikely(!call))
		return call_pool_next(pool);
	pool->free = call->next_free;
	return call;
}

/* Sets the members that are the same for each call that begins, in their order in memory. */
static inline void call_set_building(struct weir_call *call)
{
	call->state = CALL_BUILDING;
	call->expected_reply = EXPECTED_REPLY_ANY;
	call->is_send_done = false;
	call->is_exposed = false;
	call->retransmits = 0;
	call->sends_app_memory = false;
	call->needs_header = false;
	call->avoids_extension = false;
	call->is_cancelled = false;
	call->has_extra = false;
	call->is_contiguous = false;
	call->nitems = 0;
	call->nresults = 0;
	call->npieces = 0;
	call->piece_start = 0;
	call->op_at = 0;
}

/* Gives the call a free slot, of which there must be one. */
static inline void call_enter_slot(struct weir_conn *conn, struct requester *req,
				   struct weir_call *call)
{
	struct call_slot *slot = &req->slots[req->free_slot];

	slot->call = call;
	slot->xid += req->slot_mask + 1;
	call->conn = conn;
	call->slot = req->free_slot;
	call->xid = slot->xid;
	req->free_slot = slot->next_free;
}

static inline void call_leave_slot(struct requester *req, const struct weir_call *call)
{
	struct call_slot *slot = &req->slots[call->slot];

	slot->call = &call_free_sentinel;
	slot->next_free = req->free_slot;
	req->free_slot = call->slot;
}

/* Frees the slot and the call. */
static inline void call_free_slot(struct requester *req, struct weir_call *call)
{
	call_leave_slot(req, call);
	call->state = CALL_FREE;
	call->next_free = req->pool->free;
	req->pool->free = call;
}

#endif
