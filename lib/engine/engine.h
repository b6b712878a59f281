/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_H
#define ENGINE_H

/* The engine as the layers above it see it. */

#include <sys/queue.h>

#include "driver.h"
#include "log_rate.h"
#include "mem.h"
#include "rdma1.h"
#include "weir_engine.h"

#define ENGINE_WC_BURST	   64u
#define ENGINE_TICK_NS	   1000000u /* how often deadlines are looked at */
#define ENGINE_HEADROOM	   512u	    /* bytes in front of a message, for its transport header */
#define ENGINE_REGIONS_MAX 48u
#define ENGINE_ZEROS	   64u
/* Receives beyond the credits, for messages outside of any credit. */
#define ENGINE_RECV_RESERVE 2u

struct weir_engine;
struct engine_shared;

/* What the engine drives: a connection or a listener. The first member of its owner. The functions
 * are never NULL. */
struct engine_endpoint {
	void (*on_wc)(struct engine_endpoint *ep, const struct fabric_wc *wc);
	void (*on_cm)(struct engine_endpoint *ep, const struct fabric_cm_event *event);
	void (*on_tick)(struct engine_endpoint *ep, uint64_t now_ns);
	void (*on_flush)(struct engine_endpoint *ep); /* asked for by engine_want_flush() */
	void (*on_reap)(struct engine_endpoint *ep);  /* asked for by engine_want_reap(): free yourself */
	struct weir_engine *engine;
	TAILQ_ENTRY(engine_endpoint) all;
	TAILQ_ENTRY(engine_endpoint) flush;
	TAILQ_ENTRY(engine_endpoint) reap;
	bool is_flushing; /* on the flush list */
	bool is_reaping;  /* it ends: nothing more is delivered to it */
	bool is_to_reap;  /* on the reap list */
};

TAILQ_HEAD(engine_endpoints, engine_endpoint);

struct engine_line;

/* Something that waits until a pool has buffers again. */
struct engine_waiter {
	void (*on_buffers)(struct engine_waiter *waiter);
	TAILQ_ENTRY(engine_waiter) entry;
	struct engine_line *line;
	bool is_waiting;
	bool is_own; /* what it waits for, only its own connection can bring: others need not wait behind it */
};

/* What waits of one connection. Lines have turns, so that many waiters of one don't keep others waiting. */
struct engine_line {
	TAILQ_HEAD(, engine_waiter) waiters;
	TAILQ_ENTRY(engine_line) entry;
};

TAILQ_HEAD(engine_lines, engine_line);

/* What outlives its connection, held by the application: told before the engine's buffers go. */
struct engine_orphan {
	void (*on_destroy)(struct engine_orphan *orphan);
	TAILQ_ENTRY(engine_orphan) entry;
};

TAILQ_HEAD(engine_orphans, engine_orphan);

struct weir_engine {
	/* the poll loop's */
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	uint64_t now_ns;
	uint64_t next_tick_ns;
	uint64_t call_timeout_ns; /* the profile's; UINT64_MAX: none */
	uint32_t poll_budget;
	bool in_poll;
	struct engine_endpoints to_flush;
	struct engine_endpoints to_reap;
	struct engine_lines lines; /* those with waiters */
	uint64_t pulling_bytes;	   /* of Read chunks */
	struct log_rate refusals;
	uint32_t nwaiting;
	struct engine_waiter *waking; /* whose turn it is */
	bool waits_again;	      /* that one */
	struct rte_ring *mailbox;
	struct weir_engine_stats stats;
	struct fabric_wc wcs[ENGINE_WC_BURST];

	/* the connections' */
	struct mem_pool *send_pool;   /* private: Sends of one message, with headroom */
	struct mem_pool *recv_pool;   /* private: Receives */
	struct engine_shared *shared; /* shared.h; NULL: each connection has receives of its own */
	struct mem_pool *long_pool;   /* exposed: Long Calls and Reply chunks of requesters */
	struct mem_pool *bulk_pool;   /* private: pulled chunks, long results, copies of Long Replies */
	struct mem_buf *zeros;	      /* a few zero bytes with a local key, for roundup padding */
	struct rdma1_limits limits;
	struct weir_profile profile;
	uint32_t slot;	   /* of regions' key tables */
	bool uses_windows; /* the exposure policy: see windows.h */
	bool revokes_access; /* what a call exposed can't be changed by its peer when the call ends: no need to copy */
	uint32_t nwindows;
	uint32_t nwindows_free;
	struct fabric_mw *windows;
	struct fabric_mw **windows_free;
	uint32_t nconnections;
	struct mem_registrar registrar;
	uint32_t nregions; /* the application's */
	struct weir_region *regions[ENGINE_REGIONS_MAX];
	struct engine_endpoints all;
	struct engine_orphans orphans;
	struct request_pool *requests; /* lib/responder's, where receives are shared */
	bool is_ending;		       /* weir_engine_destroy(): nothing new may begin */
};

void engine_add(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_remove(struct weir_engine *engine, struct engine_endpoint *ep);

/* on_flush before the present poll ends, or in the next one. */
static inline void engine_want_flush(struct engine_endpoint *ep)
{
	if (!ep->is_flushing) {
		ep->is_flushing = true;
		TAILQ_INSERT_TAIL(&ep->engine->to_flush, ep, flush);
	}
}

/* on_reap when no completion of the endpoint can be in the engine's hands any more. */
void engine_want_reap(struct engine_endpoint *ep);

/* Queue for buffers; on_buffers is called, once, when some came back. One that was called and asks again keeps its turn.
 * False: more wait already than the profile's waiting_requests allow. */
bool engine_wait_buffers(struct weir_engine *engine, struct engine_line *line, struct engine_waiter *waiter);
/* Whether others have been waiting for longer: who is new queues behind them. */
static inline bool engine_has_waiters(const struct weir_engine *engine, const struct engine_waiter *but)
{
	return engine->nwaiting > 0 && engine->waking != but;
}

void engine_wait_cancel(struct weir_engine *engine, struct engine_waiter *waiter);

/* Receives that a connection may have free and not posted yet, so that they are posted some at a time. */
static inline uint32_t engine_recv_slack(uint32_t credits)
{
	return credits / 8;
}

/* Receives that a connection of so many credits takes: as many as the credits are always posted or in use. */
static inline uint32_t engine_recvs(uint32_t credits)
{
	return credits + ENGINE_RECV_RESERVE + engine_recv_slack(credits);
}

/* Of a queue of so many receives that connections share: those that may be free and not posted yet, and the messages
 * that it can take in at any time. */
static inline uint32_t engine_shared_slack(uint32_t nbufs)
{
	return nbufs / 8 < 32 ? nbufs / 8 : 32;
}

static inline uint32_t engine_shared_capacity(uint32_t nbufs)
{
	return nbufs - engine_shared_slack(nbufs) - nbufs / 16 - ENGINE_RECV_RESERVE;
}

/* Whether keys may be ended with a reply, by either side's part in it (RFC 8797). */
static inline bool engine_may_invalidate(const struct weir_engine *engine)
{
	return engine->profile.remote_invalidation && engine->dev->attr.has_send_inv;
}

/* Keys of a region on this engine's device; lkey 0 when it was not added. */
static inline const struct mem_keys *engine_keys(const struct weir_engine *engine,
						 const struct weir_region *region)
{
	return &region->keys[engine->slot];
}

#endif
