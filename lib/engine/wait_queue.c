/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiters for buffers, and the order in which they are served. wait_queue.h describes the rules. */
#include "wait_queue.h"

#include "peer.h"
#include "seeded_bugs.h"

/* The number of waiters that a poll can call in vain, that is, that have to wait again but block
 * nobody: in most polls, and in each poll with 'many' (engine_wake()). */
#define WAKE_VAIN_FEW  1u
#define WAKE_VAIN_MOST 8u

#define BLOCK_TICKS 32u /* number of ticks for which waiters can block others without a pause */
#define REST_TICKS  3u	/* number of ticks without blocking that one with blocking costs */

/* Sets engine->nblocking from the other members. */
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

/* Returns the engine's list of wait queues that 'queue' belongs to. */
static inline struct engine_wait_queues *queues_of(struct weir_engine *engine,
						   const struct engine_wait_queue *queue)
{
	return queue->is_reserve ? &engine->reserve_queues : &engine->wait_queues;
}

/* Queues a waiter in its wait queue, and queues the wait queue if it was empty: both at the
 * beginning if 'first' is true, otherwise both at the end. */
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
 * order. Returns whether the waiter wants to wait again. If it does not, it is possible that the
 * waiter was freed. */
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

/* Queues a waiter again that blocks others and found too few buffers. The waiter stays the first of
 * its wait queue, and the wait queue stays the first in the round-robin order. */
static void keep_turn(struct weir_engine *engine, struct engine_waiter *waiter)
{
	struct engine_wait_queue *queue = waiter->wait_queue;

	if (!TAILQ_EMPTY(&queue->waiters)) {
		TAILQ_REMOVE(queues_of(engine, queue), queue, entry);
		TAILQ_INSERT_HEAD(queues_of(engine, queue), queue, entry);
	}
	queue_add(engine, waiter, true);
}

/* Queues a waiter again that blocks nobody, at the end of its wait queue. The wait queue moves to
 * the end of the round-robin order, and this poll calls no other waiter of this wait queue.
 * Therefore the cost of such waiters does not grow with their number. */
static void pass_by(struct weir_engine *engine, struct engine_waiter *waiter)
{
	waiter->wait_queue->failed_poll = engine->stats.polls;
	queue_add(engine, waiter, false);
}

/* Calls the first waiter of each wait queue, round-robin, until a waiter that blocks others finds
 * too few buffers. That waiter is the first in the next poll, so that a waiter that needs many
 * buffers is served, too. If a waiter does not block others, its wait can be long, and there can be
 * many such waiters. Therefore a poll stops when WAKE_VAIN_FEW of them (WAKE_VAIN_MOST if 'many')
 * had to wait again, and the next poll continues with the wait queues after theirs. */
void engine_wake(struct weir_engine *engine, bool many)
{
	/* the first wait queue that was passed by since a waiter was served; NULL: none */
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
		/* A waiter that has moved to the wait queue for a reserve buffer might hold buffers
		 * itself. Therefore such a call is not counted as made in vain. */
		if (waiter->is_own || engine->blockers_rest || waiter->wait_queue->is_reserve) {
			passed = passed ? passed : waiter->wait_queue;
			vain -= !waiter->wait_queue
					 ->is_reserve; /* not in vain if for the reserve */
			pass_by(engine, waiter);
			continue;
		}
		keep_turn(engine, waiter);
		break;
	}
}

/* Calls the waiters for a reserve buffer, round-robin, before others can take a buffer. It ends
 * when each wait queue had its turn, or when a waiter gets no buffer, which then keeps its
 * position. A waiter that got a buffer and waits for another one is queued as the last. */
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
