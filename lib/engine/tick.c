/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the deadlines of endpoints, once per tick of a millisecond. If there are thousands of
 * connections, most of them wait for nothing. A check of each connection would read memory that is
 * not in the caches any more, and would take about a millisecond in each tick.
 *
 * Therefore an endpoint whose on_tick returns that it has no deadline becomes idle. It becomes
 * active again when engine_want_ticks() is called for it. Each tick checks a few of the idle
 * endpoints, round-robin. Thousands of endpoints can be active at the same time, so that a tick
 * checks only a limited number of the active ones, too. If more endpoints are active, a deadline
 * can be noticed late, by as many ticks as it takes to check all active endpoints.
 *
 * While the engine's thread sleeps, there are no ticks. engine_next_tick() says how long it may
 * sleep.
 */
#include "engine.h"
#include "shared_recv.h"
#include "wait_queue.h"

/* How many idle, active and late endpoints a tick checks at most. */
#define IDLE_FEW     16u
#define TICKING_MOST 128u
#define LATE_FEW     16u
/* How many idle endpoints the first tick after a sleep checks, because a sleep leaves out ticks. */
#define IDLE_AFTER_SLEEP 256u
#define SLEEP_LOOKS	 16u

void engine_tick_begin(struct engine_endpoint *ep)
{
	TAILQ_REMOVE(&ep->engine->idle, ep, tick);
	TAILQ_INSERT_TAIL(&ep->engine->ticking, ep, tick);
	ep->blockers.is_idle = false;
}

/* Checks a few idle endpoints. Endpoints that become idle in this tick are after 'last' in the
 * list, and are not checked. */
static void tick_idle(struct weir_engine *engine)
{
	const struct engine_endpoint *last = TAILQ_LAST(&engine->idle, engine_endpoints);
	uint32_t few = engine->has_slept ? IDLE_AFTER_SLEEP : IDLE_FEW;
	struct engine_endpoint *ep = NULL;

	for (uint32_t i = 0; i < few && ep != last && (ep = TAILQ_FIRST(&engine->idle)); i++) {
		bool matters = !ep->is_reaping && ep->on_tick(ep, engine->now_ns);

		if (!ep->blockers.is_idle)
			continue; /* it became active itself, in on_tick */
		TAILQ_REMOVE(&engine->idle, ep, tick);
		TAILQ_INSERT_TAIL(&engine->idle, ep, tick);
		if (matters)
			engine_tick_begin(ep);
	}
}

/* Checks active endpoints. An endpoint that becomes active during this tick is checked from the
 * next tick on. Otherwise two endpoints could activate each other for ever within one tick. */
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

/* Moves a few endpoints that could not be freed before to the list 'to_reap', so that this poll
 * calls their on_reap again. A peer can cause as many such endpoints as there can be endpoints.
 * Therefore a tick does not try all of them. */
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
		/* the buffers that the device did not accept before */
		engine_srq_post(engine->srq);
	tick_idle(engine);
	engine->has_slept = false;
	tick_ticking(engine);
}

/* Returns whether the next tick has work that belongs to no active endpoint. */
static bool has_tick_work(const struct weir_engine *engine)
{
	return !TAILQ_EMPTY(&engine->late) || !TAILQ_EMPTY(&engine->wait_queues) ||
	       !TAILQ_EMPTY(&engine->reserve_queues) || engine->ticks_blocked > 0 ||
	       (engine->srq && engine_srq_is_behind(engine->srq));
}

/* Returns the longest sleep in ns of an engine with connections. Limits on idle time are checked
 * about SLEEP_LOOKS times in the shortest of them, because a search for the connection whose limit
 * is over first would take long. */
static uint64_t longest_sleep_ns(const struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;
	uint64_t ms = UINT64_MAX;

	if (engine->nconnections == 0)
		return ENGINE_NEVER_NS;
	if (profile->idle_timeout_ms > 0)
		ms = profile->idle_timeout_ms;
	if (profile->first_call_timeout_ms > 0 && profile->first_call_timeout_ms < ms)
		ms = profile->first_call_timeout_ms;
	return ms == UINT64_MAX ? ENGINE_NEVER_NS : ms * 1000000u / SLEEP_LOOKS;
}

uint64_t engine_next_tick(struct weir_engine *engine, uint64_t now_ns)
{
	uint64_t at_ns = now_ns + longest_sleep_ns(engine);
	struct engine_endpoint *ep;
	uint32_t n = 0;

	if (has_tick_work(engine))
		return engine->next_tick_ns;
	TAILQ_FOREACH(ep, &engine->ticking, tick)
	{
		uint64_t next_ns = n++ < TICKING_MOST ? ep->next_tick(ep) : 0;

		if (ep->is_reaping || next_ns <= engine->next_tick_ns)
			return engine->next_tick_ns;
		if (next_ns < at_ns)
			at_ns = next_ns;
	}
	return at_ns >= ENGINE_NEVER_NS ? UINT64_MAX : at_ns;
}
