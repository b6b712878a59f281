/* SPDX-License-Identifier: BSD-3-Clause */
#include "wait_queue.h"

#include "peer.h"
#include "seeded_bugs.h"

/* How many waiters may be called in vain in a poll, and in one of many polls. */
#define WAKE_VAIN_FEW  1u
#define WAKE_VAIN_MOST 8u

#define BLOCK_TICKS 32u /* ticks for which waiters may block others without a pause */
#define REST_TICKS  3u	/* ticks without blocking for each tick with it */

static void count_blocking(struct weir_engine *engine)
{
	engine->nblocking = engine->blockers_rest ? 0 : engine->nblockers;
}

void engine_wait_tick(struct weir_engine *engine)
{
	bool blocked = engine->had_blockers && !engine->blockers_rest;

	if (blocked)
		engine->ticks_blocked += REST_TICKS;
	else if (engine->ticks_blocked > 0)
		engine->ticks_blocked--;
	if (engine->ticks_blocked >= BLOCK_TICKS * REST_TICKS)
		engine->blockers_rest = true;
	else if (engine->ticks_blocked == 0)
		engine->blockers_rest = false;
	engine->had_blockers = engine->nblockers > 0;
	count_blocking(engine);
}

static inline struct engine_wait_queues *queues_of(struct weir_engine *engine,
						   const struct engine_wait_queue *queue)
{
	return queue->is_reserve ? &engine->reserve_queues : &engine->wait_queues;
}

static void queue_add(struct weir_engine *engine, struct engine_waiter *waiter, bool first)
{
	struct engine_wait_queue *queue = waiter->wait_queue;
	struct engine_wait_queues *queues = queues_of(engine, queue);

	if (TAILQ_EMPTY(&queue->waiters)) {
		if (first)
			TAILQ_INSERT_HEAD(queues, queue, entry);
		else
			TAILQ_INSERT_TAIL(queues, queue, entry);
	}
	if (first)
		TAILQ_INSERT_HEAD(&queue->waiters, waiter, entry);
	else
		TAILQ_INSERT_TAIL(&queue->waiters, waiter, entry);
	waiter->is_waiting = true;
	if (queue->is_reserve)
		return;
	waiter->blocks = !waiter->is_own;
	engine->nblockers += waiter->blocks;
	engine->had_blockers |= waiter->blocks;
	count_blocking(engine);
	engine->nwaiting++;
	queue->nwaiting++;
	if (queue->peer)
		queue->peer->used.n[ENGINE_QUOTA_WAITERS]++;
}

/* Calls the first waiter of a wait queue, and moves the wait queue to the end of the round-robin
 * order. Returns whether the waiter waits again. If it does not, it may have been freed. */
static bool wake_first(struct weir_engine *engine, struct engine_wait_queue *queue)
{
	struct engine_wait_queues *queues = queues_of(engine, queue);
	struct engine_waiter *waiter = TAILQ_FIRST(&queue->waiters);

	engine_wait_cancel(engine, waiter);
	if (!TAILQ_EMPTY(&queue->waiters)) {
		TAILQ_REMOVE(queues, queue, entry);
		TAILQ_INSERT_TAIL(queues, queue, entry);
	}
	engine->waking = waiter;
	engine->waits_again = false;
	if (!SEEDED_BUG(9))
		waiter->on_buffers(waiter);
	engine->waking = NULL;
	return engine->waits_again;
}

/* Queues a waiter again that found too little. It stays the first of its wait queue, and the wait
 * queue stays the first in the round-robin order. */
static void keep_turn(struct weir_engine *engine, struct engine_waiter *waiter)
{
	struct engine_wait_queue *queue = waiter->wait_queue;

	if (!TAILQ_EMPTY(&queue->waiters)) {
		TAILQ_REMOVE(queues_of(engine, queue), queue, entry);
		TAILQ_INSERT_HEAD(queues_of(engine, queue), queue, entry);
	}
	queue_add(engine, waiter, true);
}

/* Queues a waiter again that waits for its own connection or peer. The wait queue moves to the end
 * of the round-robin order, and this poll calls no other waiter of it. So the cost of such waiters
 * does not grow with their number. */
static void pass_by(struct weir_engine *engine, struct engine_waiter *waiter)
{
	waiter->wait_queue->failed_poll = engine->stats.polls;
	queue_add(engine, waiter, false);
}

/* Calls the first waiter of each wait queue, round-robin, until one finds too little. That one is
 * the first in the next poll, so that a waiter that needs much is served, too. Waiters that wait
 * for their own peer may wait long, and there may be many of them. So a poll passes only a few of
 * them by, and the next poll continues after these. */
void engine_wake(struct weir_engine *engine, bool many)
{
	/* the first wait queue that was passed by since a waiter was served */
	const struct engine_wait_queue *passed = NULL;
	uint32_t vain = many ? WAKE_VAIN_MOST : WAKE_VAIN_FEW;

	for (uint32_t tries = engine->nwaiting; tries > 0 && vain > 0; tries--) {
		struct engine_wait_queue *queue = TAILQ_FIRST(&engine->wait_queues);
		struct engine_waiter *waiter;

		if (!queue || queue == passed)
			break;
		if (queue->failed_poll == engine->stats.polls) {
			TAILQ_REMOVE(&engine->wait_queues, queue, entry);
			TAILQ_INSERT_TAIL(&engine->wait_queues, queue, entry);
			passed = passed ? passed : queue;
			continue;
		}
		waiter = TAILQ_FIRST(&queue->waiters);
		if (!wake_first(engine, queue)) {
			passed = NULL;
			continue;
		}
		if (waiter->is_own || engine->blockers_rest || waiter->wait_queue->is_reserve) {
			passed = passed ? passed : waiter->wait_queue;
			vain -= !waiter->wait_queue
					 ->is_reserve; /* such a waiter may hold buffers itself */
			pass_by(engine, waiter);
			continue;
		}
		keep_turn(engine, waiter);
		break;
	}
}

/* Calls the waiters for a reserve buffer, before others can take it. A waiter that got one and
 * wants another is queued as the last. */
void engine_wake_reserve(struct weir_engine *engine)
{
	const struct engine_wait_queue *queue,
		*last = TAILQ_LAST(&engine->reserve_queues, engine_wait_queues);

	engine->reserve_turn = true;
	do {
		struct engine_waiter *waiter;

		queue = TAILQ_FIRST(&engine->reserve_queues);
		waiter = TAILQ_FIRST(&queue->waiters);
		engine->reserve_given = false;
		if (!wake_first(engine, TAILQ_FIRST(&engine->reserve_queues)))
			continue;
		if (!engine->reserve_given) {
			keep_turn(engine, waiter);
			break;
		}
		queue_add(engine, waiter, false);
	} while (queue != last && !TAILQ_EMPTY(&engine->reserve_queues));
	engine->reserve_turn = false;
}

void engine_wait_unbounded(struct weir_engine *engine, struct engine_wait_queue *queue,
			   struct engine_waiter *waiter)
{
	if (waiter->is_waiting)
		return;
	if (waiter == engine->waking) {
		waiter->wait_queue = queue;
		engine->waits_again = true;
		return;
	}
	engine->stats.buffer_waits++;
	waiter->wait_queue = queue;
	queue_add(engine, waiter, false);
}

bool engine_wait_buffers(struct weir_engine *engine, struct engine_wait_queue *queue,
			 struct engine_waiter *waiter)
{
	bool is_new = !waiter->is_waiting && waiter != engine->waking;
	uint32_t most = engine->profile.waiting_requests;
	uint32_t left = engine->nwaiting < most ? most - engine->nwaiting : 0;
	uint64_t peers = queue->peer ? queue->peer->used.n[ENGINE_QUOTA_WAITERS] : 0;

	if (is_new && !engine_quota_allows(queue->nwaiting, peers, left, 1)) {
		engine->stats.waits_rejected++;
		return false;
	}
	engine_wait_unbounded(engine, queue, waiter);
	return true;
}

void engine_wait_cancel(struct weir_engine *engine, struct engine_waiter *waiter)
{
	if (waiter == engine->waking)
		engine->waits_again = false;
	if (!waiter->is_waiting)
		return;
	waiter->is_waiting = false;
	if (!waiter->wait_queue->is_reserve) {
		engine->nblockers -= waiter->blocks;
		count_blocking(engine);
		engine->nwaiting--;
		waiter->wait_queue->nwaiting--;
		if (waiter->wait_queue->peer)
			waiter->wait_queue->peer->used.n[ENGINE_QUOTA_WAITERS]--;
	}
	TAILQ_REMOVE(&waiter->wait_queue->waiters, waiter, entry);
	if (TAILQ_EMPTY(&waiter->wait_queue->waiters))
		TAILQ_REMOVE(queues_of(engine, waiter->wait_queue), waiter->wait_queue, entry);
}
