/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_H
#define ENGINE_H

/*
 * The interface of the engine for the layers above. The files of this folder:
 *
 *   engine.c             creates and destroys engines
 *   pools.[ch]           the pools of buffers: their sizes, and their creation
 *   poll.c               the poll loop
 *   tick.c               deadlines
 *   counter_list.h       the list of counters: engine_counters.h has them as a structure, and
 *                        counter_table.c as the table of weir/metrics.h
 *   mailbox.[ch]         calls from other threads
 *   inquiry.[ch]         questions of other threads about engines, for lib/telemetry
 *   sleep.[ch]           descriptors by which a thread waits for an engine
 *   idle.c               what a thread does when a poll finds no work
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
 *   latency.[ch]         histograms of the times of calls and requests
 *   latency_clock.c      the clock with which they are measured
 *   lcores.c             lists of CPUs
 *   forked.[ch]          engines in a child process
 *   owner.[ch]           checks that the owner's thread calls
 *   log_peer.c           log lines that peers cause, which are limited in rate
 */

#include <sys/queue.h>

#include <weir/engine.h>
#include <weir/log.h>

#include "backlog.h"
#include "compiler.h"
#include "driver.h"
#include "engine_counters.h"
#include "log_rate.h"
#include "mem.h"
#include "rdma1.h"
#include "version_needs.h"
#include "waker.h"

#define ENGINE_WC_BURST 64u
#define ENGINE_TICK_NS	1000000u /* interval in ns at which deadlines are checked */
/* bytes of a send buffer before the message, for its transport header */
#define ENGINE_HEADROOM	   512u
#define ENGINE_REGIONS_MAX 48u
/* connection requests that can wait at the listeners of an engine */
#define ENGINE_REQUESTS_MAX 64u
/* the length of engine->zeros in bytes, from which roundup padding is sent */
#define ENGINE_ZEROS 64u
/* The number of elements (SGEs) from which a message with two results in targets is gathered: one
 * for all other data and, for each result, one for the zeros before it and one for its data. */
#define ENGINE_PLACE_SGES 5u
/* the most transmissions of one message, both sent and received */
#define ENGINE_TRANSMISSIONS_MAX 16u
/* with version 2, any receiver accepts messages of this length */
#define ENGINE_LONGER_MSG_BYTES 4096u
#define ENGINE_TARGET_ALIGN_MAX 4096u /* the largest alignment of targets in receives: a page */
/* Receives of each connection in addition to its credits, for messages that use no credit. */
#define ENGINE_RECV_RESERVE 2u

/* Messages of a connection with version 2 that belong to no call: how many buffers each connection
 * has for them, and the size of a buffer in bytes. */
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
struct latency;
struct capture_tap;

/* The conditions that exclude the shortest code path for a message. All of them are in the one word
 * 'any', so that one comparison checks all conditions. 'any' is 0 most of the time. The owner of
 * the endpoint sets the members, except 'is_idle', which the engine sets. */
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
					/* Messages cannot be sent by send_direct() at present. */
					bool no_direct_send : 1;
					/* The engine measures times. A submission then reads the
					 * clock before it takes the fast path. */
					bool is_timed : 1;
					/* The requester has sent a probe call. */
					bool has_probe;
					/* work requests that are queued, and that must be posted
					 * before the next message */
					uint8_t nbatched;
				};
			};
			/* number of received messages whose receive is still held */
			uint32_t nrecv_held;
		};
	};
};

/* the value of 'sending' if no member is set except 'is_timed' */
#define ENGINE_TIMED (((struct engine_blockers){.is_timed = true}).sending)

/* An object that the engine serves: a connection, a listener or the SRQ. An endpoint is the first
 * member of the structure of its owner. The engine calls the functions, which are never NULL. The
 * members that a completion needs come first, so that they are in the first cache line. */
struct engine_endpoint {
	/* for connections: the device may deliver messages to this receiver */
	struct fabric_receiver receiver;
	void (*on_wc)(struct engine_endpoint *ep, const struct fabric_wc *wc);
	struct weir_engine *engine;
	struct engine_blockers blockers;
	bool is_flushing; /* on the list 'to_flush' */
	bool is_reaping;  /* the endpoint ends, and gets no completion, event or tick any more */
	bool is_to_reap;  /* on the list 'to_reap' */
	bool is_late;	  /* on_reap could not free the endpoint yet; on the list 'late' */
	TAILQ_ENTRY(engine_endpoint) tick;
	TAILQ_ENTRY(engine_endpoint) flush;
	/* Is called after engine_want_flush(). Posts what the endpoint has queued. */
	void (*on_flush)(struct engine_endpoint *ep);
	/* Returns whether the endpoint has a deadline: see engine_want_ticks(). */
	bool (*on_tick)(struct engine_endpoint *ep, uint64_t now_ns);
	/* Returns the time at which on_tick has to be called next, if nothing happens before. 0: at
	 * the next tick. ENGINE_NEVER_NS: there is no deadline except limits on idle time. It is
	 * called before the engine sleeps, for active endpoints. */
	uint64_t (*next_tick)(struct engine_endpoint *ep);
	void (*on_cm)(struct engine_endpoint *ep, const struct fabric_cm_event *event);
	void (*on_reap)(
		struct engine_endpoint *ep); /* after engine_want_reap(): frees the endpoint */
	TAILQ_ENTRY(engine_endpoint) all;
	TAILQ_ENTRY(engine_endpoint) reap;
};

TAILQ_HEAD(engine_endpoints, engine_endpoint);

struct engine_wait_queue;

/* An object that waits for buffers, such as a request. The engine calls on_buffers when the waiter
 * has its turn: see engine_wait_buffers(). */
struct engine_waiter {
	void (*on_buffers)(struct engine_waiter *waiter);
	TAILQ_ENTRY(engine_waiter) entry;
	struct engine_wait_queue *wait_queue;
	bool is_waiting;
	/* The waiter waits for something that its own connection or peer holds. Therefore other
	 * waiters need not wait until this waiter is served. */
	bool is_own;
	/* The waiter is waiting, and is counted in engine->nblockers: waiters that come later might
	 * have to wait for it. */
	bool blocks;
};

/* The waiters of one connection. Wait queues are served round-robin, so that a connection with many
 * waiters does not delay others. */
struct engine_wait_queue {
	TAILQ_HEAD(, engine_waiter) waiters;
	TAILQ_ENTRY(engine_wait_queue) entry;
	bool is_reserve; /* the waiters wait for a reserve buffer: see reserve.h */
	/*
	 * the peer in whose account the waiters are counted; NULL: they are counted in no account
	 */
	struct engine_peer *peer;
	uint32_t nwaiting;
	/* The latest poll, by the counter stats.polls, in which a waiter of this queue was called,
	 * had to wait again, and was moved to the end of its queue. */
	uint64_t failed_poll;
};

TAILQ_HEAD(engine_wait_queues, engine_wait_queue);

/* Bytes since the creation of a connection or of an engine, as in struct weir_conn_info. */
struct engine_bytes {
	uint64_t messages_sent, messages_received;
	uint64_t rdma_sent, rdma_received;
};

/* An object that the application holds, such as a request, and that can exist longer than its
 * connection. weir_engine_destroy() calls on_destroy before it frees the engine's buffers. */
struct engine_orphan {
	void (*on_destroy)(struct engine_orphan *orphan);
	TAILQ_ENTRY(engine_orphan) entry;
};

TAILQ_HEAD(engine_orphans, engine_orphan);

struct weir_engine {
	/* members for the poll loop */
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	/* the time that was passed to the current or latest poll */
	uint64_t now_ns;
	/* time of the next tick */
	uint64_t next_tick_ns;
	/* the profile's call_timeout_ms in ns; ENGINE_NEVER_NS: calls have no time limit */
	uint64_t call_timeout_ns;
	struct latency *latency; /* latency.h; NULL: the engine does not measure times */
	uint32_t poll_budget;
	/* A callback of the application may be running: weir_engine_poll() or weir_engine_destroy()
	 * is running, or engine_call_back() was called. */
	bool in_poll;
	/* since the latest tick, the engine was armed, so that ticks may have been left out */
	bool has_slept;
	struct engine_endpoints to_flush;
	struct engine_endpoints to_reap;
	/* Endpoints that on_reap could not free yet. A later tick calls on_reap again. */
	struct engine_endpoints late;
	struct engine_wait_queues wait_queues; /* the wait queues that are not empty */
	/* The wait queues for a reserve buffer that are not empty. */
	struct engine_wait_queues reserve_queues;
	uint64_t pulling_bytes; /* total length of the Read chunks that responders are pulling */
	/* Rates of log lines about connections that peers can cause. */
	struct log_rate refusals, ends;
	struct log_rate refused_calls; /* the same for log lines about calls that are refused */
	uint32_t nwaiting;	       /* waiters in 'wait_queues' */
	/* of these waiters, those that are allowed to block others: wait_queue.h */
	uint32_t nblockers;
	/* the waiters that block others at present: nblockers, or 0 if blockers_rest */
	uint32_t nblocking;
	/* Measures how long waiters have blocked others: grows by 3 in each tick in which they do,
	 * and shrinks by 1 in each other tick (wait_queue.h). */
	uint32_t ticks_blocked;
	/* since the latest tick, there was a waiter that is counted in nblockers */
	bool had_blockers;
	bool blockers_rest; /* the waiters in nblockers block nobody at present */
	uint32_t npending;  /* replies that are queued or posted */
	/* If receives are not shared: receives that requests still hold after their connection was
	 * freed. */
	uint32_t nrecvs_orphaned;
	struct engine_waiter *waking; /* the waiter whose on_buffers is being called; NULL: none */
	/* the waiter 'waking' has been queued again by its on_buffers */
	bool waits_again;
	/* the waiter 'waking' has its turn at the reserve, and may take a reserve buffer */
	bool reserve_turn;
	/* the waiter 'waking' got a buffer of the send pool or of the reserve */
	bool reserve_given;
	struct rte_ring *mailbox;
	struct engine_counters stats;
	struct fabric_waker waker; /* wakes the engine's thread: waker.h */
	/* weir_engine_idle(): the policy, AUTO until the first idle poll; the number of polls
	 * without work since the latest one with work, and the time of the first of them */
	enum weir_idle idle_policy;
	uint32_t nidle;
	uint64_t idle_since_ns;
	struct fabric_wc wcs[ENGINE_WC_BURST];

	/* members for the connections and listeners */
	/* private: buffers for Sends. Each holds one message, with ENGINE_HEADROOM before it */
	struct mem_pool *send_pool;
	/* private: reserve buffers (reserve.h), of the size of send buffers */
	struct mem_pool *reserve_pool;
	struct mem_pool *recv_pool; /* private: buffers for receives */
	/* The shared receives (shared_recv.h). NULL: each connection has its own receives. */
	struct engine_srq *srq;
	/* exposed to peers: Long Calls and Reply chunks of requesters */
	struct mem_pool *long_pool;
	/* private: pulled chunks, long results, copies of Long Replies */
	struct mem_pool *bulk_pool;
	/* Private: ENGINE_CONTROLS buffers per connection, for messages that belong to no call.
	 * NULL: the protocol versions of the profile have no such messages. */
	struct mem_pool *control_pool;
	/* a buffer of the send pool with at least ENGINE_ZEROS zero bytes, for roundup padding */
	struct mem_buf *zeros;
	/* If Sends can place data: a pool with the one buffer 'gap'. This private buffer holds
	 * zeros for the gaps between the data. It is as long as the longest message, so that each
	 * gap needs one element (SGE). NULL: Sends do not place data. */
	struct mem_pool *gap_pool;
	struct mem_buf *gap;
	struct rdma1_limits limits;
	struct weir_profile profile;
	/* If the longest argument item of a call has at least this length in bytes, the item is
	 * sent as a Read chunk, even if the message would fit inline. 0: the length of an item is
	 * no reason for a Read chunk. */
	uint32_t chunk_bytes;
	/* The length in bytes of the longest message that fits in one Send: the profile's
	 * inline_bytes, or the 4096 bytes of version 2 if that is more. */
	uint32_t msg_bytes;
	/* a call or a reply of up to this length in bytes needs no long buffer */
	uint32_t small_bytes;
	/* The length of a receive in bytes. It is at least msg_bytes, and longer if receives have
	 * targets that need more. The first target is at offset lead_bytes (profile). */
	uint32_t recv_bytes;
	/* The largest number of transmissions per message that this engine accepts, 1 to
	 * ENGINE_TRANSMISSIONS_MAX. */
	uint32_t group_max;
	uint32_t slot;	   /* index in the key tables of regions */
	bool uses_windows; /* the exposure policy is 'window': see exposure.h */
	bool own_domains;  /* each connection is a protection domain; not with memory windows */
	/* true: when a call has ended, the peer cannot change the memory that the call exposed, so
	 * that no copy is necessary. */
	bool revokes_access;
	/* The memory windows of the engine, and a stack of those that are not bound: see
	 * exposure.h. */
	uint32_t nwindows;
	uint32_t nwindows_free;
	struct fabric_mw *windows;
	struct fabric_mw **windows_free;
	uint32_t nconnections;
	uint32_t nending; /* of these connections, those that only wait to be freed */
	/* number of connections that were freed since the start; wraps */
	uint32_t nfreed;
	struct engine_peers *peers; /* accounts of peers: peer.h */
	struct mem_registrar registrar;
	uint32_t nregions; /* number of 'regions', which are those of the application */
	struct weir_region *regions[ENGINE_REGIONS_MAX];
	struct engine_endpoints all;
	/* each endpoint of 'all' is in one of these two lists */
	struct engine_endpoints ticking, idle;
	struct engine_orphans orphans;
	struct batch_pool *batches; /* belongs to lib/conn; NULL: there was no connection yet */
	/* belongs to lib/requester; NULL: the engine had no requester yet */
	struct call_pool *calls;
	/* belongs to lib/responder; NULL if receives are not shared */
	struct request_pool *requests;
	/* belongs to lib/responder; NULL if Sends do not place results */
	struct placed_replies *placed_replies;
	/* belongs to lib/capture; NULL: no connection of the engine is captured */
	struct capture_tap *capture;
	/* The profile's stuck_call_ms in ns; 0: stuck calls are not reported. The rate of the log
	 * lines about them. */
	uint64_t stuck_ns;
	struct log_rate stuck_lines;
	/* Belongs to lib/responder: connection requests that wait until a connection ends and they
	 * can be accepted. */
	struct backlog arrivals;
	/* The bytes of connections that were freed. Those of the others are in their objects. */
	struct engine_bytes freed_bytes;
	bool is_ending; /* weir_engine_destroy() was called: nothing new may begin */
	/* this process is a child of the process that created the engine: forked.h */
	bool is_forked;
	/* the thread that owns the engine; NULL: none, or not a build with checks (owner.h) */
	_Atomic(const struct engine_owner *) owner;
	/* the table of the driver's operations to which 'ops' points */
	_Alignas(64) struct fabric_ops driver;
};

/* Called around a callback of the application that can run outside weir_engine_poll(), so that the
 * engine refuses to be polled or destroyed in it. engine_call_back() returns the value that
 * engine_called_back() gets. */
static inline bool engine_call_back(struct weir_engine *engine)
{
	bool in_poll = engine->in_poll;

	engine->in_poll = true;
	return in_poll;
}

static inline void engine_called_back(struct weir_engine *engine, bool in_poll)
{
	engine->in_poll = in_poll;
}

/* engine_add() adds an endpoint to an engine, as an active one. engine_remove() removes it from all
 * lists of the engine. engine_tick_begin() makes an idle endpoint active; engine_want_ticks() calls
 * it. */
void engine_add(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_remove(struct weir_engine *engine, struct engine_endpoint *ep);
void engine_tick_begin(struct engine_endpoint *ep);
/* Does the work of one tick: checks deadlines of endpoints, and reaps endpoints that could not be
 * freed before. The poll loop calls this function when next_tick_ns is reached. */
void engine_tick(struct weir_engine *engine);
/* Returns the time at which engine_tick() has to be called next, if nothing happens before, or
 * UINT64_MAX if no deadline is set. */
uint64_t engine_next_tick(struct weir_engine *engine, uint64_t now_ns);

/*
 * Makes the engine call the endpoint's on_tick at each tick, until on_tick returns false because
 * the endpoint has no deadline. This function is called for every completion.
 *
 * Each tick checks only a few of the idle endpoints, so that thousands of them cost as much as a
 * few. As a consequence, a deadline can be noticed late:
 * - A deadline of an idle endpoint, for which nobody called this function, by as many ticks as it
 *   takes to check all idle endpoints.
 * - A deadline of an active endpoint, if more endpoints are active than TICKING_MOST of tick.c, by
 *   as many ticks as it takes to check all active endpoints.
 */
static inline void engine_want_ticks(struct engine_endpoint *ep)
{
	if (unlikely(ep->blockers.is_idle))
		engine_tick_begin(ep);
}

/* Makes the engine call the endpoint's on_flush once, before the current poll ends or in the next
 * poll. */
static inline void engine_want_flush(struct engine_endpoint *ep)
{
	if (!ep->is_flushing) {
		ep->is_flushing = true;
		TAILQ_INSERT_TAIL(&ep->engine->to_flush, ep, flush);
	}
}

/* Makes the engine call the endpoint's on_reap once, when the engine holds no completion of the
 * endpoint any more. From this call on, the endpoint gets no completion and no event. */
void engine_want_reap(struct engine_endpoint *ep);
/* on_reap calls this function if the endpoint cannot be freed yet. The engine then calls on_reap
 * again at a later tick, round-robin with other endpoints. */
void engine_reap_retry(struct engine_endpoint *ep);

/* Queues a waiter for buffers, at the end of the wait queue. on_buffers is called once, when
 * buffers might be available. If on_buffers queues the same waiter again, the waiter keeps its
 * position, unless others need not wait for it. Returns true if the waiter is queued. Returns false
 * if the profile's waiting_requests, as divided by quotas (quota.h), allows no further waiter of
 * this queue and its peer. */
bool engine_wait_buffers(struct weir_engine *engine, struct engine_wait_queue *queue,
			 struct engine_waiter *waiter);
/* Queues a waiter as engine_wait_buffers() does, but without the limit waiting_requests. This
 * function is for waiters that cannot be refused any more. Their number is limited in another way,
 * because each request has at most one waiter. */
void engine_wait_unbounded(struct weir_engine *engine, struct engine_wait_queue *queue,
			   struct engine_waiter *waiter);
/* Returns whether the waiter 'but' has to be queued even if there are buffers, because others have
 * been waiting for longer: waiters that block others, or waiters of its own wait queue 'queue'.
 * Returns false if the engine is calling 'but', because it is then the turn of this waiter. */
static inline bool engine_has_waiters(const struct weir_engine *engine,
				      const struct engine_wait_queue *queue,
				      const struct engine_waiter *but)
{
	return (engine->nblocking | queue->nwaiting) > 0 && engine->waking != but;
}

/* Removes a waiter from its wait queue. Does nothing if the waiter does not wait. If the engine is
 * calling the waiter, the waiter is not queued again. */
void engine_wait_cancel(struct weir_engine *engine, struct engine_waiter *waiter);

/* Returns how many free receives a connection with this number of credits keeps before it posts
 * them. Receives are posted several at a time. */
static inline uint32_t engine_recv_slack(uint32_t credits)
{
	return credits / 8;
}

/* Returns how many receives a connection with this number of credits needs. Of this number of
 * receives, at least one for each credit is always posted or holds a message. */
static inline uint32_t engine_recvs(uint32_t credits)
{
	return credits + ENGINE_RECV_RESERVE + engine_recv_slack(credits);
}

/* Returns the maximum number of receives that the calls of a requester can reserve for continued
 * replies, or 0 without continuation. If receives are shared, the reservations are made from the
 * shared receives, as far as enough are left. Otherwise the connection has this many receives in
 * addition to engine_recvs(). */
static inline uint32_t engine_reply_recvs(const struct weir_profile *profile, uint32_t credits)
{
	if (!version_extends(profile, WEIR_EXTENSION_CONTINUATION))
		return 0;
	return credits > profile->transmissions ? credits : profile->transmissions;
}

/*
 * These functions are for an SRQ of 'nbufs' receives. engine_srq_slack() returns how many receives
 * can be free before they are posted together. engine_srq_capacity() returns how many messages the
 * SRQ can receive at any time, that is, how many receives are divided among connections.
 */
static inline uint32_t engine_srq_slack(uint32_t nbufs)
{
	return nbufs / 8 < 32 ? nbufs / 8 : 32;
}

static inline uint32_t engine_srq_capacity(uint32_t nbufs)
{
	return nbufs - engine_srq_slack(nbufs) - nbufs / 16 - ENGINE_RECV_RESERVE;
}

/* Returns whether the profile allows that 'shared_receives = auto' chooses shared receives. The
 * conditions are:
 *
 * - There are enough receives: one for each of the maximum number of connections, and in addition
 *   twice as many as the credits of one connection, because one busy connection alone gets half of
 *   these.
 * - The connections are not protection domains, because an SRQ belongs to a single protection
 *   domain. */
static inline bool engine_may_share(const struct weir_profile *profile)
{
	return profile->shared_receives == WEIR_SHARED_RECEIVES_AUTO &&
	       profile->protection != WEIR_PROTECTION_CONNECTION &&
	       engine_srq_capacity(profile->recv_buffers) >=
		       profile->connections + 2 * profile->credits;
}

/* Returns whether Sends can place data in targets, and receives have targets. This needs the
 * profile's extension 'placement' and a device that gathers enough elements (SGEs). If the device
 * gathers too few, this side offers no targets either, because a peer that receives targets of this
 * side assumes that this side can place results in the peer's targets. */
static inline bool engine_places(const struct weir_profile *profile,
				 const struct fabric_dev_attr *attr)
{
	return version_extends(profile, WEIR_EXTENSION_PLACEMENT) &&
	       attr->max_sge >= ENGINE_PLACE_SGES;
}

/* Returns the alignment in bytes of targets in receives: the largest power of two that divides
 * target_bytes, up to ENGINE_TARGET_ALIGN_MAX. */
static inline uint32_t engine_target_align(const struct weir_profile *profile)
{
	uint32_t align = profile->target_bytes & (0u - profile->target_bytes);

	return align < ENGINE_TARGET_ALIGN_MAX ? align : ENGINE_TARGET_ALIGN_MAX;
}

/* Logs a line that a peer can cause. 'rate' limits lines of the same kind. A few lines per second
 * are written, and the number of the others is logged with the next line that is written. */
printf_like(3, 4) void engine_log_peer(struct weir_engine *engine, struct log_rate *rate,
				       const char *format, ...);

/* Counts a call or a request that is stuck, and logs a line about it, at a limited rate. */
printf_like(3, 4) void engine_log_stuck(struct weir_engine *engine, enum weir_log_category category,
					const char *format, ...);

/* Has a descriptor of the application wake the engine's thread while it is readable. Returns 0,
 * also if the driver cannot wake a thread, or -errno. */
int engine_watch(struct weir_engine *engine, int fd);

/* Returns the number of engines of the process. Any thread. */
uint32_t engine_count(void);

/* Returns the time until which the thread may sleep, for an object whose next check for stuck calls
 * is at next_ns. */
static inline uint64_t engine_next_stuck(const struct weir_engine *engine, uint64_t next_ns)
{
	return engine->stuck_ns == 0 ? ENGINE_NEVER_NS : next_ns;
}

/* Returns whether an object that checks its calls at ticks has to look for stuck ones, and sets the
 * time of its next check. The check is made 8 times in the time after which a call is stuck. */
static inline bool engine_stuck_is_due(const struct weir_engine *engine, uint64_t *next_ns)
{
	if (engine->stuck_ns == 0 || engine->now_ns < *next_ns)
		return false;
	*next_ns = engine->now_ns + engine->stuck_ns / 8;
	return true;
}

/* Returns whether this side allows and supports that a reply invalidates a key (RFC 8797). The peer
 * must support this, too. */
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
