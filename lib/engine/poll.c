/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poll loop. One pass: completions, which run the handlers and callbacks to their end;
 * connection events and the mailbox; deadlines, once a tick; then one flush for each connection
 * that has something to send, so that a burst costs one doorbell; then those that ended are freed,
 * when nothing that was polled can name them any more.
 */
#include "engine.h"
#include "forked.h"
#include "mailbox.h"
#include "peer.h"
#include "seeded_bugs.h"
#include "shared_recv.h"

/* Connection events are rare: look at them when there is nothing else, or after this many polls. */
#define CM_EVERY 32u
#define CM_BURST 8u
/* Waiters that are tried in vain in a poll, and in one of CM_EVERY polls. */
#define WAKE_VAIN_FEW  1u
#define WAKE_VAIN_MOST 8u

static uint32_t poll_completions(struct weir_engine *engine, uint32_t budget)
{
	uint32_t want = budget < ENGINE_WC_BURST ? budget : ENGINE_WC_BURST;
	uint32_t delivered = engine->dev->ndelivered,
		 n = engine->ops->poll(engine->dev, engine->wcs, want);

	for (uint32_t i = 0; i < n; i++) {
		struct engine_endpoint *ep = engine->wcs[i].qp_ctx;

		if (__builtin_expect(!ep->is_reaping, 1)) {
			engine_want_ticks(ep);
			ep->on_wc(ep, &engine->wcs[i]);
		} else if (engine->srq && engine->wcs[i].op == FABRIC_RECV) {
			engine_srq_put(engine->srq,
				       (struct mem_buf *)(uintptr_t)engine->wcs[i].wr_id);
		}
	}
	return n + (engine->dev->ndelivered - delivered);
}

static uint32_t poll_events(struct weir_engine *engine)
{
	struct fabric_cm_event events[CM_BURST];
	uint32_t n = engine->ops->cm_poll(engine->dev, events, CM_BURST);

	for (uint32_t i = 0; i < n; i++) {
		bool is_request = events[i].kind == FABRIC_CM_REQUEST;
		bool is_listeners = is_request || events[i].kind == FABRIC_CM_UNLISTENED;
		struct engine_endpoint *ep =
			is_listeners ? events[i].listener_ctx : events[i].qp_ctx;

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
	engine->nblocking += waiter->blocks;
	engine->nwaiting++;
	queue->nwaiting++;
	if (queue->peer)
		queue->peer->held.n[ENGINE_SHARE_WAITERS]++;
}

/* The first of a line, which is the last one in turn then. Whether it waits again; it may be gone,
 * else. */
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

/* It found too little, and is the first one in turn the next time, too. */
static void keep_turn(struct weir_engine *engine, struct engine_waiter *waiter)
{
	struct engine_wait_queue *queue = waiter->wait_queue;

	if (!TAILQ_EMPTY(&queue->waiters)) {
		TAILQ_REMOVE(queues_of(engine, queue), queue, entry);
		TAILQ_INSERT_HEAD(queues_of(engine, queue), queue, entry);
	}
	queue_add(engine, waiter, true);
}

/* One of the first line waits for its own connection or peer. The line is the last one in turn, and
 * in this poll no other of it is tried: what many such waiters cost does not grow with their
 * number. */
static void pass_by(struct weir_engine *engine, struct engine_waiter *waiter)
{
	waiter->wait_queue->failed_poll = engine->stats.polls;
	queue_add(engine, waiter, false);
}

/* The first of each line in turn, until one finds too little: it goes first the next time, so that
 * one that needs much gets it, too. Those that wait for their own peer may wait long, and there may
 * be many of them: a poll passes a few by, and the next poll goes on behind these. */
static void wake_waiters(struct weir_engine *engine)
{
	const struct engine_wait_queue *passed =
		NULL; /* the first of those passed by since one was served */
	uint32_t vain = engine->stats.polls % CM_EVERY == 0 ? WAKE_VAIN_MOST : WAKE_VAIN_FEW;

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
		if (waiter->is_own || waiter->wait_queue->is_reserve) {
			passed = passed ? passed : waiter->wait_queue;
			vain -= !waiter->wait_queue
					 ->is_reserve; /* others need what the reserve gives */
			pass_by(engine, waiter);
			continue;
		}
		keep_turn(engine, waiter);
		break;
	}
}

/* Those that wait for a last buffer, before others could take it; one that got it and wants another
 * goes to the end. */
static void wake_reserve_waiters(struct weir_engine *engine)
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

uint32_t weir_engine_poll(struct weir_engine *engine, uint32_t budget, uint64_t now_ns)
{
	uint32_t work;

	engine->now_ns = now_ns;
	engine->in_poll = true;
	engine->stats.polls++;
	if (!TAILQ_EMPTY(&engine->to_flush))
		flush(engine);
	work = poll_completions(engine, budget ? budget : engine->poll_budget);
	if (work == 0 || engine->stats.polls % CM_EVERY == 0) {
		if (engine_is_forked(engine)) {
			engine_fork_refuse();
			engine->in_poll = false;
			return 0;
		}
		work += poll_events(engine);
		work += mailbox_poll(engine);
		if (now_ns >= engine->next_tick_ns)
			engine_tick(engine);
		if (!TAILQ_EMPTY(&engine->reserve_queues))
			wake_reserve_waiters(engine);
		if (!TAILQ_EMPTY(&engine->wait_queues))
			wake_waiters(engine);
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
	uint64_t peers = queue->peer ? queue->peer->held.n[ENGINE_SHARE_WAITERS] : 0;

	if (is_new && !engine_share_allows(queue->nwaiting, peers, left, 1)) {
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
		engine->nblocking -= waiter->blocks;
		engine->nwaiting--;
		waiter->wait_queue->nwaiting--;
		if (waiter->wait_queue->peer)
			waiter->wait_queue->peer->held.n[ENGINE_SHARE_WAITERS]--;
	}
	TAILQ_REMOVE(&waiter->wait_queue->waiters, waiter, entry);
	if (TAILQ_EMPTY(&waiter->wait_queue->waiters))
		TAILQ_REMOVE(queues_of(engine, waiter->wait_queue), waiter->wait_queue, entry);
}
