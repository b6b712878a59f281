/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_H
#define ENGINE_H

/*
 * The engine as the layers above it see it. Its files:
 *
 *   engine.c             creates and destroys engines
 *   poll.c               the poll loop
 *   tick.c               deadlines
 *   mailbox.[ch]         calls from other threads
 *   wait_queue.[ch]      who waits for buffers or for a peer, whose turn it is, and how long
 *                        one may block others: engine_wait_*() below
 *   reserve.h            the last send buffer, with which a message goes on where the pool is
 *                        empty
 *   shared_recv.[ch]     receives that connections share
 *   regions.[ch]         memory that a program registers
 *   exposure.[ch]        how memory is exposed to peers, and the stock of memory windows, which
 *                        calls bind (lib/requester/call_windows.c)
 *   peer.[ch]            accounts of peers; which connection was idle longest
 *   quota.h              how much of a pool a connection and its peer may hold
 *   profile*.c           the profile: its keys and defaults are in profile_keys.c
 *   lcores.c             lists of CPUs
 *   forked.[ch]          engines in a child process
 *   log.[ch], log_peer.c log lines
 */

#include <sys/queue.h>

#include <weir/engine.h>

#include "backlog.h"
#include "compiler.h"
#include "driver.h"
#include "log_rate.h"
#include "mem.h"
#include "rdma1.h"

#define ENGINE_WC_BURST	    64u
#define ENGINE_TICK_NS	    1000000u /* how often deadlines are looked at */
#define ENGINE_HEADROOM	    512u     /* bytes in front of a message, for its transport header */
#define ENGINE_REGIONS_MAX  48u
#define ENGINE_REQUESTS_MAX 64u /* for connections, that a listener has waiting */
#define ENGINE_ZEROS	    64u
/* What a message with two results in targets is gathered from: all else, and for each of these
 * zeros and the data. */
#define ENGINE_PLACE_SGES	 5u
#define ENGINE_TRANSMISSIONS_MAX 16u   /* of a message, that are ever sent or taken */
#define ENGINE_LONGER_MSG_BYTES	 4096u /* that any receiver takes, but by version 1 */
#define ENGINE_TARGET_ALIGN_MAX	 4096u /* of targets in receives: a page */
/* Receives beyond the credits, for messages outside of any credit. */
#define ENGINE_RECV_RESERVE 2u

/* Where version 2 is spoken, of a connection: messages of its own that belong to no call. */
#define ENGINE_CONTROLS	     4u
#define ENGINE_CONTROL_BYTES 256u

/* A time that does not come, and to which the present one can be added. */
#define ENGINE_NEVER_NS (UINT64_MAX / 2)

struct weir_engine;
struct engine_srq;
struct engine_peers;
struct batch_pool;
struct call_pool;
struct placed_replies;

/* What keeps a message from the shortest way, all in one word: most of the time it is 0. But for
 * 'is_idle' it is the owner's. */
struct engine_blockers {
	union {
		uint64_t any;
		struct {
			union {
				uint32_t sending;
				struct {
					bool is_idle; /* on the list of those, else on that of those
							 that tick */
					bool no_direct_send;
					bool has_probe;	  /* of a requester's: a call was sent alone
							   */
					uint8_t nbatched; /* queued in front of what is sent */
				};
			};
			uint32_t nrecv_held; /* messages that came and hold their receive */
		};
	};
};

/* What the engine drives: a connection or a listener. The first member of its owner. The functions
 * are never NULL. What a completion takes comes first: the first line. */
struct engine_endpoint {
	struct fabric_receiver receiver; /* a connection's: the device may show it messages */
	void (*on_wc)(struct engine_endpoint *ep, const struct fabric_wc *wc);
	struct weir_engine *engine;
	struct engine_blockers blockers;
	bool is_flushing; /* on the flush list */
	bool is_reaping;  /* it ends: nothing more is delivered to it */
	bool is_to_reap;  /* on the reap list */
	bool is_late;	  /* it was too early for on_reap: on the list of those */
	TAILQ_ENTRY(engine_endpoint) tick;
	TAILQ_ENTRY(engine_endpoint) flush;
	void (*on_flush)(struct engine_endpoint *ep); /* asked for by engine_want_flush() */
	/* Returns whether time matters to it: see engine_want_ticks(). */
	bool (*on_tick)(struct engine_endpoint *ep, uint64_t now_ns);
	void (*on_cm)(struct engine_endpoint *ep, const struct fabric_cm_event *event);
	void (*on_reap)(
		struct engine_endpoint *ep); /* asked for by engine_want_reap(): free yourself */
	TAILQ_ENTRY(engine_endpoint) all;
	TAILQ_ENTRY(engine_endpoint) reap;
};

TAILQ_HEAD(engine_endpoints, engine_endpoint);

struct engine_wait_queue;

/* Something that waits until a pool has buffers again. */
struct engine_waiter {
	void (*on_buffers)(struct engine_waiter *waiter);
	TAILQ_ENTRY(engine_waiter) entry;
	struct engine_wait_queue *wait_queue;
	bool is_waiting;
	bool is_own; /* it waits for what its own connection or peer holds: others need not wait
			behind it */
	bool blocks; /* it is waiting, and others may wait behind it */
};

/* The waiters of one connection. Wait queues are served in turn, so that a connection with many
 * waiters does not keep others waiting. */
struct engine_wait_queue {
	TAILQ_HEAD(, engine_waiter) waiters;
	TAILQ_ENTRY(engine_wait_queue) entry;
	bool is_reserve;	  /* for a last buffer: see reserve.h */
	struct engine_peer *peer; /* whose waiters are counted; NULL: nobody's */
	uint32_t nwaiting;
	uint64_t failed_poll; /* number of the latest poll in which one of them woke and found that
				 it still has to wait */
};

TAILQ_HEAD(engine_wait_queues, engine_wait_queue);

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
	uint64_t call_timeout_ns; /* the profile's; ENGINE_NEVER_NS: none */
	uint32_t poll_budget;
	bool in_poll;
	struct engine_endpoints to_flush;
	struct engine_endpoints to_reap;
	struct engine_endpoints late;	       /* asked in vain: their turn comes at a later tick */
	struct engine_wait_queues wait_queues; /* those with waiters */
	struct engine_wait_queues
		reserve_queues;		/* of these, the ones that wait for a last buffer */
	uint64_t pulling_bytes;		/* of Read chunks */
	struct log_rate refusals, ends; /* lines on connections that peers bring about */
	uint32_t nwaiting;		/* in 'wait_queues' */
	uint32_t nblockers;		/* of these, those that may block: wait_queue.h */
	uint32_t nblocking;		/* those that others wait behind: all of these, or none */
	uint32_t ticks_blocked;		/* that have to come back, times three */
	bool had_blockers;		/* since the latest tick */
	bool blockers_rest;		/* none of them blocks */
	uint32_t npending;		/* replies that are queued or posted */
	uint32_t nrecvs_behind; /* of recv_pool, in use by calls whose connections have gone */
	struct engine_waiter *waking; /* whose turn it is */
	bool waits_again;	      /* that one */
	bool reserve_turn;	      /* it waits for a reserve buffer */
	bool reserve_given;	      /* and got what it waited for */
	struct rte_ring *mailbox;
	struct weir_engine_stats stats;
	struct fabric_wc wcs[ENGINE_WC_BURST];

	/* the connections' */
	struct mem_pool *send_pool;    /* private: Sends of one message, with headroom */
	struct mem_pool *reserve_pool; /* private: one more of those, see reserve.h */
	struct mem_pool *recv_pool;    /* private: Receives */
	struct engine_srq *srq; /* shared_recv.h; NULL: each connection has receives of its own */
	struct mem_pool *long_pool; /* exposed: Long Calls and Reply chunks of requesters */
	/* private: pulled chunks, long results, copies of Long Replies */
	struct mem_pool *bulk_pool;
	/* private: ENGINE_CONTROLS a connection; NULL: version 1 alone */
	struct mem_pool *control_pool;
	struct mem_buf *zeros; /* a few zero bytes with a local key, for roundup padding */
	/* Where data may be placed by Sends: one private buffer of zeros, as long as any message,
	 * for what lies between the data, so that each gap is one element; NULL: they are not. */
	struct mem_pool *gap_pool;
	struct mem_buf *gap;
	struct rdma1_limits limits;
	struct weir_profile profile;
	uint32_t chunk_bytes; /* the longest item is a Read chunk if it has so many, even of a
				 message that would fit inline; 0: none is */
	uint32_t msg_bytes;   /* the longest message that buffers hold: inline_bytes, or version 2's
				 4096 */
	uint32_t small_bytes; /* a call or a reply of up to that is no matter of long buffers */
	uint32_t recv_bytes; /* of a receive: msg_bytes at least, and more where it has targets, the
				first of which lies behind the profile's lead_bytes */
	uint32_t group_max;  /* transmissions of a message that are taken in, 1 to
				ENGINE_TRANSMISSIONS_MAX */
	uint32_t slot;	     /* of regions' key tables */
	bool uses_windows;   /* the exposure policy: see exposure.h */
	bool own_domains;    /* each connection's keys are its own; without windows */
	bool revokes_access; /* what a call exposed can't be changed by its peer when the call ends:
				no need to copy */
	uint32_t nwindows;
	uint32_t nwindows_free;
	struct fabric_mw *windows;
	struct fabric_mw **windows_free;
	uint32_t nconnections;
	uint32_t nending;	    /* of these, those that only wait to be freed */
	uint32_t nfreed;	    /* connections; wraps */
	struct engine_peers *peers; /* accounts of peers: peer.h */
	struct mem_registrar registrar;
	uint32_t nregions; /* the application's */
	struct weir_region *regions[ENGINE_REGIONS_MAX];
	struct engine_endpoints all;
	struct engine_endpoints ticking, idle; /* together, all */
	struct engine_orphans orphans;
	struct batch_pool *batches;    /* lib/conn's; NULL: there is no connection */
	struct call_pool *calls;       /* lib/requester's; NULL: there is none on this engine */
	struct request_pool *requests; /* lib/responder's, where receives are shared */
	/* lib/responder's, where results are placed by Sends */
	struct placed_replies *placed_replies;
	struct backlog
		arrivals; /* lib/responder's: requests for connections that wait for a place */
	bool is_ending;	  /* weir_engine_destroy(): nothing new may begin */
	bool is_forked;	  /* this process is a child of the one that made it: forked.h */
	_Alignas(64) struct fabric_ops driver; /* what 'ops' points to */
};

void engine_add(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_remove(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_tick_begin(struct engine_endpoint *ep);
/* Deadlines, when it is time. */
void engine_tick(struct weir_engine *engine);

/* on_tick at each tick again, until it says that time does not matter. Quiet endpoints have it a
 * few at a time, so that thousands cost what a few do: a deadline that nobody asked this for is
 * late by one tick for each of those few; and one of more than tick.c's TICKING_MOST that are busy,
 * for each so many. A completion asks for it. */
static inline void engine_want_ticks(struct engine_endpoint *ep)
{
	if (unlikely(ep->blockers.is_idle))
		engine_tick_begin(ep);
}

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
/* From on_reap, which could not be done yet: again at a later tick, in turn with others. */
void engine_reap_retry(struct engine_endpoint *ep);

/* Queue for buffers; on_buffers is called, once, when some came back. One that was called and asks
 * again keeps its turn. False: more wait already than the profile's waiting_requests allow. */
bool engine_wait_buffers(struct weir_engine *engine, struct engine_wait_queue *queue,
			 struct engine_waiter *waiter);
/* The same without that limit, for what can't be refused any more, and is bounded by what is
 * waiting: one of a request each. */
void engine_wait_unbounded(struct weir_engine *engine, struct engine_wait_queue *queue,
			   struct engine_waiter *waiter);
/* Returns whether others have been waiting for longer. A new waiter queues behind them, and behind
 * all of its own wait queue. */
static inline bool engine_has_waiters(const struct weir_engine *engine,
				      const struct engine_wait_queue *queue,
				      const struct engine_waiter *but)
{
	return (engine->nblocking | queue->nwaiting) > 0 && engine->waking != but;
}

void engine_wait_cancel(struct weir_engine *engine, struct engine_waiter *waiter);

/* Receives that a connection may have free and not posted yet, so that they are posted some at a
 * time. */
static inline uint32_t engine_recv_slack(uint32_t credits)
{
	return credits / 8;
}

/* Receives that a connection of so many credits takes: as many as the credits are always posted or
 * in use. */
static inline uint32_t engine_recvs(uint32_t credits)
{
	return credits + ENGINE_RECV_RESERVE + engine_recv_slack(credits);
}

/* The most that calls of a requester may reserve for replies that are continued. Where receives are
 * shared, each reservation is of those, as far as there are some left; else the connection takes as
 * many besides engine_recvs(). */
static inline uint32_t engine_reply_recvs(const struct weir_profile *profile, uint32_t credits)
{
	if (!(profile->extension & WEIR_EXTENSION_CONTINUATION) ||
	    profile->protocol == WEIR_PROTOCOL_V1)
		return 0;
	return credits > profile->transmissions ? credits : profile->transmissions;
}

/* Of a queue of so many receives that connections share: those that may be free and not posted yet,
 * and the messages that it can take in at any time. */
static inline uint32_t engine_srq_slack(uint32_t nbufs)
{
	return nbufs / 8 < 32 ? nbufs / 8 : 32;
}

static inline uint32_t engine_srq_capacity(uint32_t nbufs)
{
	return nbufs - engine_srq_slack(nbufs) - nbufs / 16 - ENGINE_RECV_RESERVE;
}

/* What 'auto' asks of a profile: receives for all connections that there may be, and as many as one
 * asks for, twice, for the one that is busy alone gets half. Protection domains of connections and
 * a queue of one domain don't go together. */
static inline bool engine_may_share(const struct weir_profile *profile)
{
	return profile->shared_receives == WEIR_SHARED_RECEIVES_AUTO &&
	       profile->protection != WEIR_PROTECTION_CONNECTION &&
	       engine_srq_capacity(profile->recv_buffers) >=
		       profile->connections + 2 * profile->credits;
}

/* Whether data may be placed by Sends; not so with a device that gathers too few elements: a peer
 * that is told of targets takes it that results can be placed in its own. */
static inline bool engine_places(const struct weir_profile *profile,
				 const struct fabric_dev_attr *attr)
{
	return profile->extension & WEIR_EXTENSION_PLACEMENT &&
	       profile->protocol != WEIR_PROTOCOL_V1 && attr->max_sge >= ENGINE_PLACE_SGES;
}

/* What targets in receives are aligned to. */
static inline uint32_t engine_target_align(const struct weir_profile *profile)
{
	uint32_t align = profile->target_bytes & (0u - profile->target_bytes);

	return align < ENGINE_TARGET_ALIGN_MAX ? align : ENGINE_TARGET_ALIGN_MAX;
}

/* A line that a peer can bring about, of the kind that 'rate' is of: a few a second, the others are
 * counted. */
printf_like(3, 4) void engine_log_peer(struct weir_engine *engine, struct log_rate *rate,
				       const char *format, ...);

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
