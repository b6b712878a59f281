/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deadlines are checked once per tick. If there are thousands of connections, most of them wait for
 * nothing. To check each of them would read memory that is not in the caches any more, and would
 * take about a millisecond in each millisecond.
 *
 * So endpoints that said that they have no deadline are idle. Each tick checks a few of them,
 * round-robin, until something happens to them. Something may happen to thousands of endpoints in
 * each tick, so a tick checks only a limited number of the active ones as well. If more are active,
 * a deadline may be late by as many ticks as it takes to check all of them.
 */
#include "engine.h"
#include "shared_recv.h"
#include "wait_queue.h"

#define IDLE_FEW     16u
#define TICKING_MOST 128u
#define LATE_FEW     16u

void engine_tick_begin(struct engine_endpoint *ep)
{
	TAILQ_REMOVE(&ep->engine->idle, ep, tick);
	TAILQ_INSERT_TAIL(&ep->engine->ticking, ep, tick);
	ep->blockers.is_idle = false;
}

/* Checks a few idle endpoints. Those that become idle in this tick are after 'last' in the list. */
static void tick_idle(struct weir_engine *engine)
{
	const struct engine_endpoint *last = TAILQ_LAST(&engine->idle, engine_endpoints);
	struct engine_endpoint *ep = NULL;

	for (uint32_t i = 0; i < IDLE_FEW && ep != last && (ep = TAILQ_FIRST(&engine->idle)); i++) {
		bool matters = !ep->is_reaping && ep->on_tick(ep, engine->now_ns);

		if (!ep->blockers.is_idle)
			continue; /* it became active itself, in on_tick */
		TAILQ_REMOVE(&engine->idle, ep, tick);
		TAILQ_INSERT_TAIL(&engine->idle, ep, tick);
		if (matters)
			engine_tick_begin(ep);
	}
}

/* Checks active endpoints. Endpoints that request ticks during this tick are checked from the next
 * tick on: otherwise two of them could keep requesting each other's ticks for ever. */
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

/* Lets a few endpoints that could not end yet try again. A peer can cause as many of them as there
 * can be endpoints, so not all are tried, and not in each poll. */
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
		engine_srq_post(engine->srq); /* what the device did not accept before */
	tick_idle(engine);
	tick_ticking(engine);
}
