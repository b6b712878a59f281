/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deadlines are looked at once a tick. Of thousands of connections most wait for nothing: each look
 * would fetch what the caches have long lost, a millisecond's worth of it in each millisecond. So
 * those that said that time does not matter to them are looked at a few at a time, in turn, until
 * something happens to them. And where something happens to thousands in each tick, so many of
 * these: a deadline may be late then by one tick for each of those.
 */
#include "engine.h"
#include "shared_recv.h"
#include "wait_queue.h"

#define QUIET_FEW    16u
#define TICKING_MOST 128u
#define LATE_FEW     16u

void engine_tick_begin(struct engine_endpoint *ep)
{
	TAILQ_REMOVE(&ep->engine->idle, ep, tick);
	TAILQ_INSERT_TAIL(&ep->engine->ticking, ep, tick);
	ep->blockers.is_idle = false;
}

/* Those that become quiet in this tick come behind 'last'. */
static void tick_quiet(struct weir_engine *engine)
{
	const struct engine_endpoint *last = TAILQ_LAST(&engine->idle, engine_endpoints);
	struct engine_endpoint *ep = NULL;

	for (uint32_t i = 0; i < QUIET_FEW && ep != last && (ep = TAILQ_FIRST(&engine->idle));
	     i++) {
		bool matters = !ep->is_reaping && ep->on_tick(ep, engine->now_ns);

		if (!ep->blockers.is_idle)
			continue; /* it asked for that itself */
		TAILQ_REMOVE(&engine->idle, ep, tick);
		TAILQ_INSERT_TAIL(&engine->idle, ep, tick);
		if (matters)
			engine_tick_begin(ep);
	}
}

/* Those that ask for ticks in this one have them from the next on: two may go on asking for each
 * other's. */
static void tick_ticking(struct weir_engine *engine)
{
	const struct engine_endpoint *last = TAILQ_LAST(&engine->ticking, engine_endpoints);
	struct engine_endpoint *ep = NULL;

	for (uint32_t i = 0; i < TICKING_MOST && ep != last && (ep = TAILQ_FIRST(&engine->ticking));
	     i++) {
		bool matters = ep->is_reaping || ep->on_tick(ep, engine->now_ns);

		TAILQ_REMOVE(&engine->ticking, ep, tick);
		TAILQ_INSERT_TAIL(matters ? &engine->ticking : &engine->idle, ep, tick);
		ep->blockers.is_idle = !matters;
	}
}

/* A peer may bring about as many endpoints that cannot end yet as there can be. So a few of them
 * are asked again, and none in each poll. */
static void tick_late(struct weir_engine *engine)
{
	struct engine_endpoint *ep;

	for (uint32_t i = 0; i < LATE_FEW && (ep = TAILQ_FIRST(&engine->late)); i++) {
		TAILQ_REMOVE(&engine->late, ep, reap);
		ep->is_late = false;
		ep->is_to_reap = true;
		TAILQ_INSERT_TAIL(&engine->to_reap, ep, reap);
	}
}

void engine_tick(struct weir_engine *engine)
{
	engine->next_tick_ns = engine->now_ns + ENGINE_TICK_NS;
	tick_late(engine);
	engine_wait_tick(engine);
	if (engine->srq)
		engine_srq_post(engine->srq); /* what the device did not take before */
	tick_quiet(engine);
	tick_ticking(engine);
}
