/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poll loop. One pass does the following, in this order:
 *
 * - Poll completions, and process each of them to its end, with the program's handlers and
 *   callbacks.
 * - Poll connection events and the mailbox.
 * - Check deadlines, once per tick.
 * - Flush each connection that has something to send, so that a burst needs one doorbell.
 * - Free the endpoints that have ended. No completion or event that was polled can refer to these
 *   endpoints any more.
 */
#include <errno.h>
#include <stdatomic.h>

#include "engine.h"
#include "forked.h"
#include "log.h"
#include "mailbox.h"
#include "peer.h"
#include "shared_recv.h"
#include "wait_queue.h"

#include "compiler.h"
#include "owner.h"

/* Connection events are rare. They are polled when a poll finds no completion, and in every
 * CM_EVERY-th poll. */
#define CM_EVERY 32u
#define CM_BURST 8u

/* Polls completions, up to 'budget' and ENGINE_WC_BURST, and passes each one to its endpoint.
 * Returns how many completions and deliveries there were. */
static uint32_t poll_completions(struct weir_engine *engine, uint32_t budget)
{
	uint32_t want = budget < ENGINE_WC_BURST ? budget : ENGINE_WC_BURST;
	uint32_t delivered = engine->dev->ndelivered,
		 n = engine->ops->poll(engine->dev, engine->wcs, want);

	for (uint32_t i = 0; i < n; i++) {
		struct engine_endpoint *ep = engine->wcs[i].qp_ctx;

		if (likely(!ep->is_reaping)) {
			engine_want_ticks(ep);
			ep->on_wc(ep, &engine->wcs[i]);
		} else if (engine->srq && engine->wcs[i].op == FABRIC_RECV) {
			engine_srq_put(engine->srq,
				       (struct mem_buf *)(uintptr_t)engine->wcs[i].wr_id);
		}
	}
	return n + (engine->dev->ndelivered - delivered);
}

/* Polls connection events, and passes each one to its endpoint. A connection request for a listener
 * that ends is rejected. Returns how many events there were. */
static uint32_t poll_events(struct weir_engine *engine)
{
	struct fabric_cm_event events[CM_BURST];
	uint32_t n = engine->ops->cm_poll(engine->dev, events, CM_BURST);

	for (uint32_t i = 0; i < n; i++) {
		bool is_request = events[i].kind == FABRIC_CM_REQUEST;
		bool is_listeners = is_request || events[i].kind == FABRIC_CM_UNLISTENED;
		struct engine_endpoint *ep =
			is_listeners ? events[i].listener_ctx : events[i].qp_ctx;

		/* for the application's weir_accept_fn, which gets the structure */
		events[i].peer.struct_bytes = sizeof(events[i].peer);
		if (!ep->is_reaping) {
			engine_want_ticks(ep);
			ep->on_cm(ep, &events[i]);
		} else if (is_request) {
			engine->ops->reject(engine->dev, events[i].req, NULL, 0);
		}
	}
	return n;
}

static void flush(struct weir_engine *engine)
{
	struct engine_endpoint *ep;

	while ((ep = TAILQ_FIRST(&engine->to_flush))) {
		TAILQ_REMOVE(&engine->to_flush, ep, flush);
		ep->is_flushing = false;
		ep->on_flush(ep);
	}
}

static void reap(struct weir_engine *engine)
{
	struct engine_endpoint *ep;

	while ((ep = TAILQ_FIRST(&engine->to_reap))) {
		TAILQ_REMOVE(&engine->to_reap, ep, reap);
		ep->is_to_reap = false;
		ep->on_reap(ep);
	}
}

/* Refuses to poll the engine in one of its callbacks. */
static cold_code uint32_t refuse(const struct weir_engine *engine)
{
	static atomic_flag is_logged = ATOMIC_FLAG_INIT;

	if (engine_fork_refuses(engine))
		return 0;
	if (!atomic_flag_test_and_set(&is_logged))
		LOG(ENGINE, ERROR,
		    "weir_engine_poll() was called in a callback of its engine, and does nothing "
		    "there: return from the callback, and poll then");
	errno = EDEADLK;
	return 0;
}

uint32_t weir_engine_poll(struct weir_engine *engine, uint32_t budget, uint64_t now_ns)
{
	uint32_t work;

	OWN(engine);
	if (OTHER_THREAD(engine))
		return 0;
	if (unlikely(engine->in_poll))
		return refuse(engine);
	engine->now_ns = now_ns;
	engine->in_poll = true;
	engine->stats.polls++;
	if (!TAILQ_EMPTY(&engine->to_flush))
		flush(engine);
	work = poll_completions(engine, budget ? budget : engine->poll_budget);
	if (work == 0 || engine->stats.polls % CM_EVERY == 0) {
		if (engine_fork_refuses(engine)) {
			engine->in_poll = false;
			return 0;
		}
		work += poll_events(engine);
		work += mailbox_poll(engine);
		if (now_ns >= engine->next_tick_ns)
			engine_tick(engine);
		if (!TAILQ_EMPTY(&engine->reserve_queues))
			engine_wake_reserve(engine);
		if (!TAILQ_EMPTY(&engine->wait_queues))
			engine_wake(engine, engine->stats.polls % CM_EVERY == 0);
	}
	if (!TAILQ_EMPTY(&engine->to_flush))
		flush(engine);
	if (!TAILQ_EMPTY(&engine->to_reap))
		reap(engine);
	engine->stats.idle_polls += work == 0;
	engine->in_poll = false;
	return work;
}

void engine_want_reap(struct engine_endpoint *ep)
{
	if (!ep->is_reaping) {
		ep->is_reaping = true;
		ep->is_to_reap = true;
		TAILQ_INSERT_TAIL(&ep->engine->to_reap, ep, reap);
	}
}

void engine_reap_retry(struct engine_endpoint *ep)
{
	ep->is_late = true;
	TAILQ_INSERT_TAIL(&ep->engine->late, ep, reap);
}
