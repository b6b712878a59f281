/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_POOL_H
#define CALL_POOL_H

/*
 * The calls of all requesters of an engine. A call belongs to a connection from weir_call_begin()
 * until its slot in the connection is free again. Thus connections that make no calls need no
 * memory for calls. The call that became free latest is taken next, whatever its connection was,
 * because its memory is most likely in the cache.
 *
 * Each call that has begun holds a buffer for its message. Therefore the number of these buffers
 * determines the number of calls. The memory of a call is first touched when the call is first
 * taken.
 */

#include "compiler.h"
#include "requester.h"

/* The result that is passed to 'done' for replies that the fast path handles. One object is enough
 * for all calls, because it is valid only until 'done' returns. Most of its members never change.
 */
struct call_view {
	struct weir_result result;
	struct weir_rpc_reply_header reply; /* accepted, AUTH_NONE, SUCCESS */
	struct weir_xdr_in in;
	uint32_t item_bytes;
};

struct call_pool {
	struct weir_engine *engine;
	uint32_t refs;		  /* number of requesters */
	uint32_t ncalls;	  /* entries of 'calls' */
	uint32_t nused;		  /* the first 'nused' calls were taken at least once */
	struct weir_call *free;	  /* the free ones among these, as a list */
	struct weir_call *ending; /* the call whose 'done' was called latest; its state says whether
				     'done' is still running */
	struct weir_call *calls;
	struct window_binding *window_bindings; /* CALL_WINDOW_BINDINGS_MAX for each call; NULL if
						   keys belong to the engine */
	struct call_view view;
};

/* call_pool_get() returns the pool of an engine with a reference. It creates the pool for the first
 * requester, and returns NULL if there is no memory. call_pool_put() gives the reference back, and
 * destroys the pool with the last reference. */
struct call_pool *call_pool_get(struct weir_engine *engine);
void call_pool_put(struct call_pool *pool);

/* Takes a call that was never taken before. Returns NULL if there is none. */
struct weir_call *call_pool_next(struct call_pool *pool);

/* Takes a free call. Returns NULL if there is none. */
static inline struct weir_call *call_pool_take(struct call_pool *pool)
{
	struct weir_call *call = pool->free;

	if (unlikely(!call))
		return call_pool_next(pool);
	pool->free = call->next_free;
	return call;
}

/* Sets the members that have the same value in each call that begins, in their order in memory. */
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

/* Assigns a free slot of the connection, and thus an XID, to the call. There must be a free slot.
 */
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

/* Frees the slot of the call. The call is not freed. */
static inline void call_leave_slot(struct requester *req, const struct weir_call *call)
{
	struct call_slot *slot = &req->slots[call->slot];

	slot->call = &call_free_sentinel;
	slot->next_free = req->free_slot;
	req->free_slot = call->slot;
}

/* Frees the slot of the call and the call, which must hold nothing else. */
static inline void call_free_slot(struct requester *req, struct weir_call *call)
{
	call_leave_slot(req, call);
	call->state = CALL_FREE;
	call->next_free = req->pool->free;
	req->pool->free = call;
}

#endif
