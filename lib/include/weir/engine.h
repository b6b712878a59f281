/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_ENGINE_H
#define WEIR_ENGINE_H

/*
 * Engines. An engine has all objects of weir that one polling thread uses: a device, connections,
 * buffers and keys. It has no thread of its own, and works only inside weir_engine_poll(). The
 * thread that owns the engine calls that function in a loop. This can be a DPDK lcore, an SPDK
 * reactor or any other thread. Use everything that belongs to an engine on that thread only.
 * Another thread can run a function on it with weir_engine_post().
 *
 * fork(2). An engine belongs to the process that created it. In a child process:
 *   - Functions on the engine, and on its connections, listeners, calls and requests, fail with
 *     -ECHILD. Functions that return a pointer or a count set errno to ECHILD. Functions that
 *     return nothing do nothing. weir_conn_is_open() returns false. weir_engine_stats() returns the
 *     counts at the time of the fork. weir_call_reuse(), weir_call_args() and the functions that
 *     describe a call or results can still work on the child's copy, but weir_call_submit() fails.
 *     No callback runs. The first such use logs one line.
 *   - weir_engine_destroy() releases the child's copy of the engine's memory. It reports nothing to
 *     peers. It does not free connections and calls, which end with the process.
 *   - fork() closes the child's copies of sockets. A child therefore does not hide the end of its
 *     parent from peers. Peers over shm also notice the end of the process if the child was created
 *     by clone(2) or _Fork(3), which do not run handlers of pthread_atfork(3). Such a child must
 *     not call weir. Over RDMA, a child keeps the device open, so it should soon exit or call exec.
 *   - Regions stay mapped and are shared with the parent. The child may read them and must not
 *     write to them.
 *   - A child may create engines of its own if no other thread of the parent was inside weir or
 *     DPDK at the time of the fork.
 * exec closes all descriptors of weir, and those of EAL if weir started it. vfork(2) and
 * posix_spawn(3) need no care.
 */

#include <weir/common.h>
#include <weir/memory.h>
#include <weir/profile.h>

WEIR_BEGIN_DECLS

struct weir_engine;

/**
 * Statistics of an engine since its creation. Counters never decrease.
 *
 * "Peer" is the process or host at the other end; see weir/peer.h.
 */
struct weir_engine_stats {
	size_t struct_bytes; /**< set by the application; see weir/common.h */
	uint64_t polls;	     /**< calls of weir_engine_poll() */
	uint64_t idle_polls; /**< polls that found nothing to do */

	/* Messages. */
	uint64_t calls_sent;	    /**< calls sent, including retransmissions */
	uint64_t calls_completed;   /**< calls that ended, with or without error */
	uint64_t calls_failed;	    /**< of calls_completed: calls that ended with an error */
	uint64_t calls_timed_out;   /**< of calls_failed: calls that timed out */
	uint64_t requests_received; /**< requests that arrived */
	uint64_t replies_sent;	    /**< replies sent */
	uint64_t long_calls;	    /**< calls sent as Long Calls */
	uint64_t long_replies;	    /**< Long Replies, sent or received */
	uint64_t read_chunks;	    /**< Read chunks listed in calls sent, or pulled for requests */
	uint64_t write_chunks;	    /**< Write chunks listed in calls sent, or filled by replies */
	uint64_t errors_sent;	    /**< RDMA_ERROR answers sent */
	uint64_t errors_received;   /**< RDMA_ERROR answers received for calls */
	uint64_t dropped;	    /**< messages discarded as RFC 8166 section 4.5 requires */
	uint64_t replies_unmatched; /**< discarded replies whose XID no call waits for */
	uint64_t zero_grants;	    /**< replies that granted 0 credits; treated as 1 */
	uint64_t calls_queued;	    /**< calls queued by weir_call_submit(), mostly for a credit */
	uint64_t replays;	    /**< duplicates answered from the duplicate request cache */

	/* Buffers, quotas and limits. */
	/**
	 * Times that a request or a message began to wait, for a buffer or until others of its
	 * connection had got theirs.
	 */
	uint64_t buffer_waits;
	/**
	 * Times that a pool had free buffers, but the connection or its peer had used up its quota,
	 * and connections that were refused because their peer had used up its quota.
	 */
	uint64_t quota_refusals;
	/** Requests that were not allowed to wait for a buffer, because of waiting_requests. */
	uint64_t waits_rejected;
	/** Calls not executed because executing calls occupied all of replay_entries. */
	uint64_t replays_refused;
	uint64_t replay_cache_overflows; /**< replies too long to keep in replay_bytes */
	uint64_t send_pool_empty;	 /**< failed allocations from send_buffers */
	uint64_t recv_pool_empty;	 /**< failed allocations from recv_buffers */
	uint64_t long_pool_empty;	 /**< failed allocations from long_buffers */
	uint64_t bulk_pool_empty;	 /**< failed allocations from bulk_buffers */
	/** Messages that exceeded the profile's limits on chunks, segments or bytes. */
	uint64_t limits_exceeded;
	/**
	 * Calls whose Read chunks waited until those of other calls were pulled, because of
	 * pull_bytes or pull_bytes_connection.
	 */
	uint64_t pull_waits;
	uint64_t connect_timeouts;    /**< connections ended by connect_timeout_ms */
	uint64_t first_call_timeouts; /**< connections ended by first_call_timeout_ms */
	uint64_t pull_timeouts;	      /**< connections ended by pull_timeout_ms */
	uint64_t close_timeouts;      /**< connections ended by close_timeout_ms */
	uint64_t send_timeouts;	      /**< connections ended by send_timeout_ms */
	uint64_t connections_refused; /**< connections refused to peers */
	uint64_t peer_limit_refused;  /**< of connections_refused: because of connections_peer */
	/** Connections that ended to make room for those of peers with fewer connections. */
	uint64_t connections_evicted;
	/**
	 * Connection requests that were displaced by newer ones before the engine processed them:
	 * too many were waiting at a listener.
	 */
	uint64_t requests_displaced;
	uint64_t idle_timeouts; /**< connections ended by idle_timeout_ms */
	/**
	 * Shm only: connections refused because the driver's options do not name the peer's user,
	 * or because too many descriptors of that user's earlier connections are not closed yet.
	 */
	uint64_t users_refused;
	/**
	 * Shm only: connections ended because memory of their peer cannot be mapped, or a limit
	 * does not allow it.
	 */
	uint64_t maps_refused;
	/** Connections ended because the peer sent more calls than it had credits. */
	uint64_t credits_exceeded;
	/** Log lines suppressed: peers cause at most five lines of each kind per second. */
	uint64_t log_lines_left_out;

	/* Exposure policy 'window'. */
	uint64_t windows_bound;	    /**< memory windows bound for calls */
	uint64_t keys_ended_local;  /**< keys invalidated by this side */
	uint64_t keys_ended_remote; /**< keys invalidated by the responder's reply (RFC 8797) */
	uint64_t window_waits;	    /**< times that a call waited for free windows */

	/* Connections. */
	uint64_t connections_opened; /**< each reconnection counts */
	uint64_t connections_lost;   /**< each loss counts */
	uint64_t connections_v2;     /**< connections opened by this side that use version 2 */
	/** Times that a peer did not support version 2, or did not answer in time. */
	uint64_t versions_refused;
	/** Attempts of a peer to change a property that must not change. */
	uint64_t properties_refused;

	/* Version 2's extension (rtrext-01). */
	/*
	 * A fallback is a call that is sent by explicit RDMA (chunks) instead of the extension. The
	 * draft is draft-dnoveck-nfsv4-rpcrdma-rtrext-01.
	 */
	uint64_t extended_calls;    /**< calls sent by Transmit Request */
	uint64_t continued_calls;   /**< of extended_calls: calls in several transmissions */
	uint64_t directed_calls;    /**< of extended_calls: with items or directions for results */
	uint64_t placed_sent;	    /**< items sent into targets of the peer's receives */
	uint64_t placed_received;   /**< items received in targets of this side's receives */
	uint64_t continued_replies; /**< replies sent in several transmissions */
	uint64_t groups_received;   /**< calls and replies received in several transmissions */
	uint64_t fallbacks_credits; /**< fallbacks: too few credits */
	uint64_t fallbacks_limits;  /**< fallbacks: a limit of either side */
	uint64_t fallbacks_buffers; /**< fallbacks: too few receives or buffers */
	uint64_t fallbacks_costs;   /**< fallbacks: explicit RDMA costs less, by [costs] */
	uint64_t fallbacks_refused; /**< fallbacks: sent again, because the peer refused the call */
	/** Groups of transmissions that were dropped: malformed, interrupted or too late. */
	uint64_t groups_broken;
	uint64_t group_timeouts;   /**< of groups_broken: incomplete after group_timeout_ms */
	uint64_t reports_sent;	   /**< Report Error messages sent */
	uint64_t reports_received; /**< Report Error messages received */
	/** Replies sent again by the base protocol after the requester reported an error. */
	uint64_t replies_resent;

	/* Reconnection. */
	uint64_t reconnect_attempts;  /**< attempts to re-establish a lost connection */
	uint64_t reconnects;	      /**< of reconnect_attempts: successful ones */
	uint64_t reconnects_given_up; /**< connections ended by reconnect_give_up_ms */
	uint64_t calls_resent;	      /**< calls retransmitted; calls_sent includes them */
	uint64_t calls_given_up;      /**< calls ended because of the profile's resends */

	/* Work. */
	/** Copies of DDP-eligible data by weir or its driver, in addition to the transfer itself.
	 */
	uint64_t bulk_copies;
	/** Long messages copied once before validation because the device cannot revoke access. */
	uint64_t long_copies;
	/** Allocations by weir and the drivers shm and verbs; not those of other libraries. */
	uint64_t allocations;
	uint64_t registrations;	       /**< memory registrations with the device */
	uint64_t doorbells;	       /**< posts that notified the peer or the device */
	uint64_t sends;		       /**< Sends that the driver carried out */
	uint64_t recvs;		       /**< receives that the driver carried out */
	uint64_t writes;	       /**< RDMA Writes that the driver carried out */
	uint64_t reads;		       /**< RDMA Reads that the driver carried out */
	uint64_t rnr;		       /**< receiver-not-ready events; see the driver */
	uint64_t remote_access_errors; /**< remote access errors; see the driver */
	uint64_t protocol_errors;      /**< protocol errors; see the driver */
};

/**
 * Creates an engine.
 *
 * The function opens the profile's driver, and allocates and registers all buffers. If the process
 * has not initialised DPDK's EAL, the function initialises it. Call it on the thread that will own
 * the engine, or before that thread starts.
 *
 * @param profile the configuration; copied
 * @param[out] engine the engine; set if the function returns 0
 * @retval 0 success
 * @retval -EINVAL the profile is not valid; weir_profile_check() says why
 * @retval -ENOMEM memory is exhausted
 * @retval -EBUSY the process already has the maximum number of engines
 * @retval other an error of the driver
 * @owner the caller, until weir_engine_destroy()
 */
WEIR_API int weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine);

/**
 * Destroys an engine.
 *
 * The function closes all connections and listeners. Each call ends with -ECONNABORTED. Callbacks
 * run inside the function. In these callbacks, weir_connect() and weir_listen() fail with
 * -ECANCELED. Over shm the function waits for peers that are writing to this side's memory, for at
 * most two seconds in total.
 *
 * Requests that have no reply yet remain valid, without arguments, until weir_request_reply(),
 * which only frees them. The regions that were added are removed, and still belong to the caller.
 *
 * Do not call the function in a callback. In a child of fork(2), see the top of this header.
 *
 * @param engine the engine; NULL is allowed
 */
WEIR_API void weir_engine_destroy(struct weir_engine *engine);

/**
 * Does pending work: completions, connection events, timers and posted functions. Then it posts the
 * messages that were queued. Callbacks run inside the function.
 *
 * Do not call the function in a callback. Thread: the owner.
 *
 * @param engine the engine
 * @param budget maximum number of completions; 0: the profile's poll_budget
 * @param now_ns the time in ns, by any clock that never goes back. All time-outs are measured by
 * this clock.
 * @return the amount of work done; 0 if there was none, or, with errno ECHILD, in a child of
 * fork(2)
 */
WEIR_API uint32_t weir_engine_poll(struct weir_engine *engine, uint32_t budget, uint64_t now_ns);

/**
 * Returns the time of the latest poll. Thread: the owner.
 *
 * @param engine the engine
 * @return the now_ns of the latest weir_engine_poll(); 0 before the first
 */
WEIR_API uint64_t weir_engine_now(const struct weir_engine *engine);

/**
 * Runs a function on the owner's thread.
 *
 * A later poll, or weir_engine_destroy(), calls fn(engine, arg). Functions posted by one thread run
 * in order. Thread: any.
 *
 * @param engine the engine; it must exist
 * @param fn the function
 * @param arg passed to fn
 * @retval 0 fn will run
 * @retval -EAGAIN the mailbox is full; try again after the owner has polled
 * @retval -ECHILD the process is a child of fork(2)
 */
WEIR_API int weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			      void *arg);

/**
 * Registers a region with the engine's device, so that calls and replies can name it.
 *
 * Registration can take long: do it before the first call. Thread: the owner.
 *
 * @param engine the engine
 * @param region the region; it must exist until it is removed or the engine is destroyed
 * @retval 0 success
 * @retval -ENOSPC the engine already has 48 regions
 * @retval -ECHILD the process is a child of fork(2)
 * @retval other an error of the driver
 */
WEIR_API int weir_engine_add_region(struct weir_engine *engine, struct weir_region *region);

/**
 * Removes a region that no call and no reply names any more.
 *
 * weir_engine_destroy() removes all regions that are left. Thread: the owner.
 *
 * @param engine the engine
 * @param region a region that was added
 */
WEIR_API void weir_engine_remove_region(struct weir_engine *engine, struct weir_region *region);

/**
 * Returns the exposure policy that is in effect. Thread: the owner.
 *
 * @param engine the engine
 * @return WEIR_EXPOSURE_WINDOW or WEIR_EXPOSURE_POOL; if the profile says 'auto', the policy that
 * weir chose for the device
 */
WEIR_API enum weir_exposure weir_engine_exposure(const struct weir_engine *engine);

/**
 * Copies the statistics. The function never fails. Thread: the owner.
 *
 * @param engine the engine
 * @param[out] stats set its struct_bytes first; see weir/common.h
 */
WEIR_API void weir_engine_stats(const struct weir_engine *engine, struct weir_engine_stats *stats);

WEIR_END_DECLS

#endif
