/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of calls of an engine (call_pool.h), and the functions that give back what a call holds.
 */
#include "call_pool.h"

#include "alloc.h"
#include "rpc_msg.h"
#include "seeded_bugs.h"

struct weir_call call_free_sentinel;

/* The number of calls in addition to one for each buffer. A call whose 'done' runs can be without a
 * buffer, because a call that began in 'done' has taken the buffer (reclaim_args()). */
#define CALLS_IN_CALLBACKS 64u

static size_t calls_bytes(const struct call_pool *pool)
{
	return pool->ncalls * sizeof(pool->calls[0]);
}

static size_t window_bindings_bytes(const struct call_pool *pool)
{
	return (size_t)pool->ncalls * CALL_WINDOW_BINDINGS_MAX * sizeof(pool->window_bindings[0]);
}

/* Takes the buffer of the call whose 'done' is running, for another call that begins in 'done'.
 * mem_pool_get() calls this function if 'pool' is empty. Returns NULL if no 'done' is running, or
 * if the buffer is still in use or belongs to another pool. */
static struct mem_buf *reclaim_args(struct mem_pool *pool, void *arg)
{
	const struct call_pool *calls = arg;
	struct weir_call *call = calls->ending;
	struct mem_buf *buf;

	if (!call || (call->state != CALL_COMPLETING_REUSABLE && call->state != CALL_COMPLETING) ||
	    !call->is_send_done || !call->args || call->args->pool != pool)
		return NULL;
	buf = call->args;
	call->args = NULL;
	if (call->state == CALL_COMPLETING_REUSABLE)
		call->state = CALL_BUFFER_RECLAIMED;
	return buf;
}

/* Sets the function that the pools of message buffers call when they are empty. */
static void set_reclaim(struct call_pool *pool,
			struct mem_buf *(*reclaim)(struct mem_pool *pool, void *arg))
{
	struct mem_pool *bufs[] = {pool->engine->send_pool, pool->engine->long_pool};

	for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) {
		bufs[i]->reclaim = reclaim;
		bufs[i]->reclaim_arg = pool;
	}
}

static void destroy(struct call_pool *pool)
{
	set_reclaim(pool, NULL);
	mem_unreserve(pool->window_bindings, window_bindings_bytes(pool));
	mem_unreserve(pool->calls, calls_bytes(pool));
	mem_free(pool);
}

static struct call_pool *create(struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;
	bool has_own_keys = engine->uses_windows || engine->own_domains;
	struct call_pool *pool = mem_zalloc(sizeof(*pool));

	if (!pool)
		return NULL;
	pool->engine = engine;
	pool->view.result = (struct weir_result){.reply = &pool->view.reply,
						 .results = &pool->view.in,
						 .item_bytes = &pool->view.item_bytes};
	pool->view.reply.verf.body = rpc_no_body;
	pool->ncalls = profile->send_buffers + profile->long_buffers + CALLS_IN_CALLBACKS;
	pool->calls = mem_reserve(calls_bytes(pool));
	if (has_own_keys)
		pool->window_bindings = mem_reserve(window_bindings_bytes(pool));
	if (!pool->calls || (has_own_keys && !pool->window_bindings)) {
		destroy(pool);
		return NULL;
	}
	set_reclaim(pool, reclaim_args);
	return pool;
}

struct call_pool *call_pool_get(struct weir_engine *engine)
{
	if (!engine->calls)
		engine->calls = create(engine);
	if (engine->calls)
		engine->calls->refs++;
	return engine->calls;
}

void call_pool_put(struct call_pool *pool)
{
	if (--pool->refs > 0)
		return;
	pool->engine->calls = NULL;
	destroy(pool);
}

struct weir_call *call_pool_next(struct call_pool *pool)
{
	struct weir_call *call;

	if (pool->nused == pool->ncalls)
		return NULL;
	call = &pool->calls[pool->nused];
	if (pool->window_bindings)
		call->window_bindings =
			&pool->window_bindings[(size_t)pool->nused * CALL_WINDOW_BINDINGS_MAX];
	pool->nused++;
	return call;
}

static void put_buf(struct mem_buf **buf)
{
	if (*buf) {
		mem_pool_put(*buf);
		*buf = NULL;
	}
}

static inline void drop_windows(struct weir_call *call)
{
	if (call->nwindow_bindings > 0)
		call_drop_windows(call);
}

void call_release_sent(struct weir_call *call)
{
	put_buf(&call->header_buf);
	if (SEEDED_BUG(6))
		call->spill = NULL;
	put_buf(&call->spill);
}

void call_release_extra(struct weir_call *call)
{
	call_release_sent(call);
	put_buf(&call->long_call);
	put_buf(&call->long_reply);
	put_buf(&call->reply_copy);
	drop_windows(call);
	call->conn->protocol->release_call(call);
	call->has_extra = false;
}

void call_release_unread(struct weir_call *call)
{
	drop_windows(call);
	put_buf(&call->long_call);
	if (call->reply_copy)
		put_buf(&call->long_reply);
	if (call->is_send_done)
		call_release_sent(call);
}

void call_release(struct weir_call *call)
{
	put_buf(&call->args);
	if (unlikely(call->has_extra))
		call_release_extra(call);
	call_free_slot(requester_of(call->conn), call);
}
