/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_H
#define ENGINE_H

/*
 * The interface of the engine for the layers above. The files of this folder:
 *
 *   engine.c             creates and destroys engines
 *   poll.c               the poll loop
 *   tick.c               deadlines
 *   mailbox.[ch]         calls from other threads
 *   wait_queue.[ch]      waiters for buffers or for a peer, their round-robin order, and how
 *                        long one may block others: engine_wait_*() below
 *   reserve.h            the reserve send buffer, for a message that needs one more while the
 *                        pool is empty
 *   shared_recv.[ch]     receives that connections share
 *   regions.[ch]         memory that a program registers
 *   exposure.[ch]        how memory is exposed to peers, and the stock of memory windows, which
 *                        calls bind (lib/requester/call_windows.c)
 *   peer.[ch]            accounts of peers; which connection was idle longest
 *   quota.h              how much of a pool a connection and its peer may hold
 *   profile*.c           the profile: its keys and defaults are in profile_keys.c
 *   version_needs.[ch]   the needs of the protocol versions that a profile allows
 *   lcores.c             lists of CPUs
 *   forked.[ch]          engines in a child process
 *   log.[ch], log_peer.c log lines; those that peers cause are limited in rate
 */

#include <sys/queue.h>

#include <weir/engine.h>

#include "backlog.h"
#include "compiler.h"
#include "driver.h"
#include "log_rate.h"
#include "mem.h"
#include "rdma1.h"
#include "version_needs.h"

#define ENGINE_WC_BURST	    64u
#define ENGINE_TICK_NS	    1000000u /* interval at which deadlines are checked */
#define ENGINE_HEADROOM	    512u     /* bytes before a message, for its transport header */
#define ENGINE_REGIONS_MAX  48u
#define ENGINE_REQUESTS_MAX 64u /* connection requests that wait at a listener */
#define ENGINE_ZEROS	    64u
/* The number of elements from which a message with two results in targets is gathered: one for all
 * other data, and for each result one for zeros and one for the data. */
#define ENGINE_PLACE_SGES	 5u
#define ENGINE_TRANSMISSIONS_MAX 16u   /* limit per message, for sending and receiving */
#define ENGINE_LONGER_MSG_BYTES	 4096u /* any receiver takes this, except with version 1 */
#define ENGINE_TARGET_ALIGN_MAX	 4096u /* for targets in receives: a page */
/* Receives in addition to the credits, for messages that use no credit. */
#define ENGINE_RECV_RESERVE 2u

/* Messages of a connection with version 2 that belong to no call: their number, and their size. */
#define ENGINE_CONTROLS	     4u
#define ENGINE_CONTROL_BYTES 256u

/* A time that is never reached. The current time can be added to it without overflow. */
#define ENGINE_NEVER_NS (UINT64_MAX / 2)

struct weir_engine;
struct engine_srq;
struct engine_peers;
struct batch_pool;
struct call_pool;
struct placed_replies;

/* The conditions that exclude the shortest code path for a message. They are in one word, so that
 * one comparison checks all of them. Most of the time it is 0. The owner of the endpoint sets them,
 * except 'is_idle'. */
struct engine_blockers {
	union {
		uint64_t any;
		struct {
			union {
				uint32_t sending;
				struct {
					/* The endpoint is on the list 'idle', otherwise on the list
					 * 'ticking'. */
					bool is_idle;
					bool no_direct_send;
					/* The requester has sent a probe call. */
					bool has_probe;
					uint8_t nbatched; /* work requests that are queued before
							   * the message */
				};
			};
			uint32_t nrecv_held; /* received messages that still hold their receive */
		};
	};
};

/* An object that the engine serves: a connection or a listener. It is the first member of its
 * owner. The functions are never NULL. The members that a completion needs come first, so that they
 * are in the first cache line. */
struct engine_endpoint {
	struct fabric_receiver receiver; /* of a connection: the device may deliver messages to
					  * it */
	void (*on_wc)(struct engine_endpoint *ep, const struct fabric_wc *wc);
	struct weir_engine *engine;
	struct engine_blockers blockers;
	bool is_flushing; /* on the list 'to_flush' */
	bool is_reaping;  /* it ends, and receives nothing more */
	bool is_to_reap;  /* on the list 'to_reap' */
	bool is_late;	  /* on_reap was too early; on the list 'late' */
	TAILQ_ENTRY(engine_endpoint) tick;
	TAILQ_ENTRY(engine_endpoint) flush;
	void (*on_flush)(struct engine_endpoint *ep); /* requested by engine_want_flush() */
	/* Returns whether the endpoint has a deadline: see engine_want_ticks(). */
	bool (*on_tick)(struct engine_endpoint *ep, uint64_t now_ns);
	void (*on_cm)(struct engine_endpoint *ep, const struct fabric_cm_event *event);
	void (*on_reap)(
		struct engine_endpoint *ep); /* requested by engine_want_reap(): free yourself */
	TAILQ_ENTRY(engine_endpoint) all;
	TAILQ_ENTRY(engine_endpoint) reap;
};

TAILQ_HEAD(engine_endpoints, engine_endpoint);

struct engine_wait_queue;

/* A waiter for buffers of a pool. */
struct engine_waiter {
	void (*on_buffers)(struct engine_waiter *waiter);
	TAILQ_ENTRY(engine_waiter) entry;
	struct engine_wait_queue *wait_queue;
	bool is_waiting;
	/* The waiter needs what its own connection or peer holds. Therefore other waiters need not
	 * wait until this waiter is served. */
	bool is_own;
	bool blocks; /* it is waiting, and others may have to wait after it */
};

/* The waiters of one connection. Wait queues are served round-robin, so that a connection with many
 * waiters does not delay others. */
struct engine_wait_queue {
	TAILQ_HEAD(, engine_waiter) waiters;
	TAILQ_ENTRY(engine_wait_queue) entry;
	bool is_reserve;	  /* for a reserve buffer: see reserve.h */
	struct engine_peer *peer; /* the peer in whose account the waiters are counted; NULL:
				   * none */
	uint32_t nwaiting;
	/* The number of the latest poll in which a waiter of this queue was called and still had to
	 * wait. */
	uint64_t failed_poll;
};

TAILQ_HEAD(engine_wait_queues, engine_wait_queue);

/* An object of the application that may exist longer than its connection. on_destroy is called
 * before the engine's buffers are freed. */
struct engine_orphan {
	void (*on_destroy)(struct engine_orphan *orphan);
	TAILQ_ENTRY(engine_orphan) entry;
};

TAILQ_HEAD(engine_orphans, engine_orphan);

struct weir_engine {
	/* used by the poll loop */
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	uint64_t now_ns;
	uint64_t next_tick_ns;
	uint64_t call_timeout_ns; /* from the profile; ENGINE_NEVER_NS: none */
	uint32_t poll_budget;
	bool in_poll;
	struct engine_endpoints to_flush;
	struct engine_endpoints to_reap;
	/* Endpoints whose on_reap was too early. It is called again at a later tick. */
	struct engine_endpoints late;
	struct engine_wait_queues wait_queues; /* the wait queues that are not empty */
	/* The wait queues for a reserve buffer that are not empty. */
	struct engine_wait_queues reserve_queues;
	uint64_t pulling_bytes; /* of Read chunks that are being pulled */
	/* Rates of log lines about connections that peers can cause. */
	struct log_rate refusals, ends;
	uint32_t nwaiting;	/* waiters in 'wait_queues' */
	uint32_t nblockers;	/* of these, those that may block others: wait_queue.h */
	uint32_t nblocking;	/* the waiters that block others: nblockers or 0 */
	uint32_t ticks_blocked; /* grows by 3 per tick with blocking, shrinks by 1 per other
				 * tick: wait_queue.h */
	bool had_blockers;	/* since the latest tick there was such a waiter */
	bool blockers_rest;	/* these waiters block nobody at present */
	uint32_t npending;	/* replies that are queued or posted */
	/* Receives that are used by calls whose connection was freed. */
	uint32_t nrecvs_orphaned;
	struct engine_waiter *waking; /* the waiter that is being called */
	bool waits_again;	      /* the called waiter waits again */
	bool reserve_turn;	      /* the called waiter may take a reserve buffer */
	bool reserve_given;	      /* the called waiter got a buffer */
	struct rte_ring *mailbox;
	struct weir_engine_stats stats;
	struct fabric_wc wcs[ENGINE_WC_BURST];

	/* used by the connections */
	struct mem_pool *send_pool;    /* private: Sends of one message, with headroom */
	struct mem_pool *reserve_pool; /* private: reserve buffers of the same size, see
					* reserve.h */
	struct mem_pool *recv_pool;    /* private: Receives */
	/* The shared receives (shared_recv.h). NULL: each connection has its own receives. */
	struct engine_srq *srq;
	struct mem_pool *long_pool; /* exposed: Long Calls and Reply chunks of requesters */
	/* private: pulled chunks, long results, copies of Long Replies */
	struct mem_pool *bulk_pool;
	/* private: ENGINE_CONTROLS per connection; NULL: the versions need none */
	struct mem_pool *control_pool;
	struct mem_buf *zeros; /* some zero bytes with a local key, for roundup padding */
	/* If Sends may place data: one private buffer of zeros for the gaps between the data. It is
	 * as long as the longest message, so that each gap needs one element. NULL: Sends do not
	 * place data. */
	struct mem_pool *gap_pool;
	struct mem_buf *gap;
	struct rdma1_limits limits;
	struct weir_profile profile;
	/* If the longest item has at least this length, it is sent as a Read chunk, even if the
	 * message would fit inline. 0: the length is no reason for a Read chunk. */
	uint32_t chunk_bytes;
	/* The length of the longest message that a buffer can hold: inline_bytes, or the 4096 bytes
	 * of version 2 if that is more. */
	uint32_t msg_bytes;
	uint32_t small_bytes; /* a call or a reply of up to this length needs no long buffer */
	/* The length of a receive. It is at least msg_bytes. It may be more if receives have
	 * targets. The first target is at the profile's lead_bytes. */
	uint32_t recv_bytes;
	/* Transmissions per message that this engine accepts, 1 to ENGINE_TRANSMISSIONS_MAX. */
	uint32_t group_max;
	uint32_t slot;	   /* index in the key tables of regions */
	bool uses_windows; /* the exposure policy: see exposure.h */
	bool own_domains;  /* each connection is a protection domain; not with memory windows */
	/* When a call has ended, the peer cannot change the memory that the call exposed. No copy
	 * is necessary. */
	bool revokes_access;
	uint32_t nwindows;
	uint32_t nwindows_free;
	struct fabric_mw *windows;
	struct fabric_mw **windows_free;
	uint32_t nconnections;
	uint32_t nending;	    /* of these, the connections that only wait to be freed */
	uint32_t nfreed;	    /* number of freed connections; wraps */
	struct engine_peers *peers; /* accounts of peers: peer.h */
	struct mem_registrar registrar;
	uint32_t nregions; /* regions of the application */
	struct weir_region *regions[ENGINE_REGIONS_MAX];
	struct engine_endpoints all;
	struct engine_endpoints ticking, idle; /* each endpoint is in one of these */
	struct engine_orphans orphans;
	struct batch_pool *batches;    /* used by lib/conn; NULL: there is no connection */
	struct call_pool *calls;       /* used by lib/requester; NULL: this engine has no
					* requester */
	struct request_pool *requests; /* used by lib/responder, if receives are shared */
	/* used by lib/responder, if Sends place results */
	struct placed_replies *placed_replies;
	/* Used by lib/responder: connection requests that wait for room. */
	struct backlog arrivals;
	bool is_ending; /* weir_engine_destroy() was called: nothing new may begin */
	bool is_forked; /* this process is a child of the one that created the engine: forked.h */
	_Alignas(64) struct fabric_ops driver; /* the table to which 'ops' points */
};

void engine_add(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_remove(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_tick_begin(struct engine_endpoint *ep);
/* Checks deadlines. The poll loop calls this when next_tick_ns is reached. */
void engine_tick(struct weir_engine *engine);

/*
 * Requests on_tick at each tick, until on_tick returns that the endpoint has no deadline. Every
 * completion calls this function.
 *
 * Each tick checks only a few of the idle endpoints, so that thousands of them cost as much as a
 * few. As a consequence, a deadline may be late:
 * - A deadline of an idle endpoint for which nobody called this function: by as many ticks as it
 *   takes to check all idle endpoints.
 * - A deadline of an active endpoint, if more than tick.c's TICKING_MOST endpoints are active: by
 *   as many ticks as it takes to check all of them.
 */
static inline void engine_want_ticks(struct engine_endpoint *ep)
{
	if (unlikely(ep->blockers.is_idle))
		engine_tick_begin(ep);
}

/* Requests on_flush, before the current poll ends or in the next poll. */
static inline void engine_want_flush(struct engine_endpoint *ep)
{
	if (!ep->is_flushing) {
		ep->is_flushing = true;
		TAILQ_INSERT_TAIL(&ep->engine->to_flush, ep, flush);
	}
}

/* Requests on_reap. It is called when the engine holds no completion of the endpoint any more. */
void engine_want_reap(struct engine_endpoint *ep);
/* Is called by on_reap if the endpoint cannot be freed yet. Requests on_reap again at a later tick,
 * round-robin with other endpoints. */
void engine_reap_retry(struct engine_endpoint *ep);

/* Queues a waiter for buffers. on_buffers is called once, when buffers were returned. If on_buffers
 * queues the same waiter again, the waiter keeps its position. Returns false if the profile's
 * waiting_requests, as divided by quotas, does not allow one more waiter of this queue and its
 * peer. */
bool engine_wait_buffers(struct weir_engine *engine, struct engine_wait_queue *queue,
			 struct engine_waiter *waiter);
/* Does the same without that limit. It is for waiters that cannot be refused any more. Their number
 * is limited in another way: each request has one at most. */
void engine_wait_unbounded(struct weir_engine *engine, struct engine_wait_queue *queue,
			   struct engine_waiter *waiter);
/* Returns whether a new waiter has to wait, because others have been waiting for longer. It is
 * queued after them, and after all waiters of its own wait queue. The result is false for a waiter
 * that the engine is calling: pass it as 'but'. */
static inline bool engine_has_waiters(const struct weir_engine *engine,
				      const struct engine_wait_queue *queue,
				      const struct engine_waiter *but)
{
	return (engine->nblocking | queue->nwaiting) > 0 && engine->waking != but;
}

void engine_wait_cancel(struct weir_engine *engine, struct engine_waiter *waiter);

/* Returns how many free receives a connection may keep before it posts them. Receives are posted
 * several at a time. */
static inline uint32_t engine_recv_slack(uint32_t credits)
{
	return credits / 8;
}

/* Returns how many receives a connection with this number of credits needs. As many receives as
 * credits are then always posted or in use. */
static inline uint32_t engine_recvs(uint32_t credits)
{
	return credits + ENGINE_RECV_RESERVE + engine_recv_slack(credits);
}

/* Returns the maximum number of receives that the calls of a requester may reserve for continued
 * replies. If receives are shared, each reservation is made from the shared ones, as far as enough
 * are left. Otherwise the connection has this many receives in addition to engine_recvs(). */
static inline uint32_t engine_reply_recvs(const struct weir_profile *profile, uint32_t credits)
{
	if (!version_extends(profile, WEIR_EXTENSION_CONTINUATION))
		return 0;
	return credits > profile->transmissions ? credits : profile->transmissions;
}

/*
 * For an SRQ of 'nbufs' receives: engine_srq_slack() returns how many of them may be free before
 * they are posted. engine_srq_capacity() returns how many messages the SRQ can receive at any time.
 */
static inline uint32_t engine_srq_slack(uint32_t nbufs)
{
	return nbufs / 8 < 32 ? nbufs / 8 : 32;
}

static inline uint32_t engine_srq_capacity(uint32_t nbufs)
{
	return nbufs - engine_srq_slack(nbufs) - nbufs / 16 - ENGINE_RECV_RESERVE;
}

/* Returns whether a profile allows 'auto' to choose shared receives. There must be one receive for
 * each of the maximum number of connections, and in addition twice as many as the credits of one
 * connection, because one busy connection alone gets half of them. An SRQ belongs to one protection
 * domain, so a protection domain per connection excludes it. */
static inline bool engine_may_share(const struct weir_profile *profile)
{
	return profile->shared_receives == WEIR_SHARED_RECEIVES_AUTO &&
	       profile->protection != WEIR_PROTECTION_CONNECTION &&
	       engine_srq_capacity(profile->recv_buffers) >=
		       profile->connections + 2 * profile->credits;
}

/* Returns whether Sends may place data. This is false if the device gathers too few elements: a
 * peer that receives targets of this side assumes that this side can place results in the peer's
 * targets. */
static inline bool engine_places(const struct weir_profile *profile,
				 const struct fabric_dev_attr *attr)
{
	return version_extends(profile, WEIR_EXTENSION_PLACEMENT) &&
	       attr->max_sge >= ENGINE_PLACE_SGES;
}

/* Returns the alignment of targets in receives. */
static inline uint32_t engine_target_align(const struct weir_profile *profile)
{
	uint32_t align = profile->target_bytes & (0u - profile->target_bytes);

	return align < ENGINE_TARGET_ALIGN_MAX ? align : ENGINE_TARGET_ALIGN_MAX;
}

/* Logs a line that a peer can cause. 'rate' belongs to this kind of line. A few lines per second
 * are written, and the others are counted. */
printf_like(3, 4) void engine_log_peer(struct weir_engine *engine, struct log_rate *rate,
				       const char *format, ...);

/* Returns whether a reply may invalidate a key, as far as this side decides (RFC 8797). */
static inline bool engine_may_invalidate(const struct weir_engine *engine)
{
	return engine->profile.remote_invalidation && engine->dev->attr.has_send_inv;
}

/* Returns the keys of a region on this engine's device. lkey is 0 if the region was not added. */
static inline const struct mem_keys *engine_keys(const struct weir_engine *engine,
						 const struct weir_region *region)
{
	return &region->keys[engine->slot];
}

#endif
