/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_ENGINE_H
#define WEIR_ENGINE_H

/*
 * An engine: one thread's share of weir. It owns a device, connections, buffers and keys, and moves
 * only inside weir_engine_poll(). It has no thread of its own: call poll in a loop on the one
 * thread that owns it (an lcore of DPDK, an SPDK reactor, or a thread of weir's launcher).
 * Everything that belongs to an engine is used on that thread; other threads come in by
 * weir_engine_post().
 *
 * fork(2). An engine belongs to the process that made it. In a child:
 *   - Functions on that engine, and on its connections, listeners, calls and requests, fail with
 *     -ECHILD, or with errno ECHILD where they return a pointer or a count; those that return
 *     nothing do nothing. weir_conn_is_open() returns false, and weir_engine_stats() returns what
 *     had been counted. weir_call_reuse(), weir_call_args() and the functions that describe a call
 *     or results may still work on the child's copy; what they describe is refused by
 *     weir_call_submit(). No callback runs. The first such use logs one line.
 *   - weir_engine_destroy() lets go of the child's copy of the engine's memory. It tells peers
 *     nothing, and it frees neither connections nor calls, which end with the process.
 *   - fork() itself closes the child's copies of sockets, so that a child that lives on does not
 *     hide the parent's end from its peers. Peers over shm see the end of the process also if the
 *     child was made by clone(2) or _Fork(3), which do not run handlers of pthread_atfork(3). Such
 *     a child must not call weir. Over RDMA, a child keeps the device open: it should soon end, or
 *     call exec.
 *   - Regions stay mapped, and are shared with the parent: the child may read them, and must not
 *     write to them.
 *   - A child may make engines of its own, if no other thread of the parent was inside weir or DPDK
 *     when it forked.
 * exec closes all descriptors of weir and, where weir started it, EAL. vfork(2) and posix_spawn(3)
 * need no care.
 */

#include <weir/common.h>
#include <weir/memory.h>
#include <weir/profile.h>

WEIR_BEGIN_DECLS

struct weir_engine;

/** What an engine counted since it was created. Each only grows. Read on the owner's thread. */
struct weir_engine_stats {
	size_t struct_bytes; /**< set by the application: see weir/common.h */
	uint64_t polls;	     /**< calls of weir_engine_poll() */
	uint64_t idle_polls; /**< of these, those that found nothing to do */

	uint64_t calls_sent, calls_completed, calls_failed, calls_timed_out;
	uint64_t requests_received, replies_sent;
	uint64_t long_calls, long_replies, read_chunks, write_chunks;
	uint64_t errors_sent;	    /**< RDMA_ERROR answers */
	uint64_t errors_received;   /**< RDMA_ERROR answers to calls of ours */
	uint64_t dropped;	    /**< messages discarded as RFC 8166 section 4.5 says */
	uint64_t replies_unmatched; /**< of these, replies without a call that waits for them */
	uint64_t zero_grants;	    /**< replies that granted no credit; taken as one */
	uint64_t calls_queued;	    /**< calls that had to wait for a credit */
	uint64_t replays; /**< calls that had been carried out before and were answered from the
			     cache */
	/** Requests, and messages to be sent, that had to wait for a buffer, or for others of their
	 * connection. */
	uint64_t buffer_waits;
	/** Times that a pool had something left, but this connection or its peer had used up its
	 * quota; and connections that were refused for that. */
	uint64_t quota_refusals;
	uint64_t waits_rejected;  /**< requests that could not wait, as too many did */
	uint64_t replays_refused; /**< calls not carried out, as all of replay_entries were of
				     others that are */
	uint64_t replay_cache_overflows; /**< replies too long to be kept in replay_bytes */
	/** Times that a buffer was asked for and none was free, of send_buffers and its like. */
	uint64_t send_pool_empty, recv_pool_empty, long_pool_empty, bulk_pool_empty;

	uint64_t limits_exceeded; /**< messages over the profile's limits on chunks, segments and
				     bytes */
	uint64_t pull_waits; /**< calls that waited for others to be pulled, by pull_bytes and its
				like */
	uint64_t connect_timeouts;    /**< connections that ended as they took too long, by
					 connect_timeout_ms */
	uint64_t first_call_timeouts; /**< the same by first_call_timeout_ms */
	uint64_t pull_timeouts;	      /**< by pull_timeout_ms */
	uint64_t close_timeouts;      /**< by close_timeout_ms */
	uint64_t send_timeouts;	      /**< by send_timeout_ms */
	uint64_t connections_refused; /**< of peers */
	uint64_t peer_limit_refused;  /**< of these, those over the profile's connections_peer */
	uint64_t connections_evicted; /**< they gave way to those of peers with fewer, as no place
					 was left */
	uint64_t requests_displaced;  /**< so did requests for connections, or were refused, before
					 the engine saw them */
	uint64_t idle_timeouts; /**< connections that ended as no call came, by idle_timeout_ms */
	/**
	 * Over shm, connections that were not made as the driver's options do not name the peer's
	 * user, or as too much that this user passed before is still to be closed.
	 */
	uint64_t users_refused;
	/** Over shm, connections that ended because their peer's memory may not be mapped, or
	 * cannot. */
	uint64_t maps_refused;
	uint64_t credits_exceeded; /**< connections ended, as the peer sent more than it was granted
				    */
	uint64_t log_lines_left_out; /**< on connections that peers refused or ended: beyond five a
					second of either */

	/* with the exposure policy 'window' */
	uint64_t windows_bound;	    /**< memory windows that calls have opened */
	uint64_t keys_ended_local;  /**< of their keys, those that this side invalidated */
	uint64_t keys_ended_remote; /**< and those that the responder did, with its reply (RFC 8797)
				     */
	uint64_t window_waits;	    /**< times that a call had to wait for windows */

	uint64_t connections_opened, connections_lost; /**< each remaking counts */
	uint64_t
		connections_v2; /**< of those opened by connecting, the ones that speak version 2 */
	uint64_t versions_refused;   /**< times that a peer turned out not to speak version 2 */
	uint64_t properties_refused; /**< changes that a peer asked for, or told, of properties that
					may not change */

	/* of version 2's extension (rtrext-01) */
	uint64_t extended_calls;  /**< calls sent by Transmit Request */
	uint64_t continued_calls; /**< of these, those in several transmissions */
	uint64_t directed_calls;  /**< and those with items or directions for results */
	uint64_t placed_sent; /**< arguments and results sent into targets of the peer's receives */
	uint64_t placed_received;   /**< and those that came in targets of this side's */
	uint64_t continued_replies; /**< replies sent in several transmissions */
	uint64_t groups_received;   /**< calls and replies that came in several transmissions */
	/** Calls that went by explicit RDMA instead: too few credits for them; over a limit of
	 * either side's; too few receives or buffers; it costs less, by the profile's costs; or the
	 * peer refused them, and they were sent again. */
	uint64_t fallbacks_credits, fallbacks_limits, fallbacks_buffers, fallbacks_costs,
		fallbacks_refused;
	uint64_t groups_broken;	 /**< groups of transmissions that were not as they have to be, and
				    were dropped */
	uint64_t group_timeouts; /**< groups that did not come to their end, by group_timeout_ms */
	uint64_t reports_sent, reports_received; /**< Report Error */
	uint64_t replies_resent; /**< replies that were sent again by the base protocol, as the
				    requester reported an error about them */

	uint64_t reconnect_attempts;  /**< to remake a connection that was lost */
	uint64_t reconnects;	      /**< of these, those that succeeded */
	uint64_t reconnects_given_up; /**< connections that ended because nothing came of that for
					 too long */
	uint64_t calls_resent;	      /**< calls_sent counts them, too */
	uint64_t calls_given_up; /**< that were in flight on too many connections that were lost */

	uint64_t bulk_copies;	/**< copies of DDP-eligible data by weir or its driver, the one
				   transfer apart */
	uint64_t long_copies;	/**< Long messages copied once, before checking, since the device
				   can't revoke access */
	uint64_t allocations;	/**< by weir and its drivers shm and verbs, in this process; not by
				   libraries */
	uint64_t registrations; /**< of memory, with the device */
	uint64_t doorbells;	/**< posts of the driver that told its peer or device something */
	uint64_t sends, recvs, writes, reads; /**< work requests that the driver carried out */
	uint64_t rnr, remote_access_errors, protocol_errors; /**< see each driver */
};

/** Create an engine by a profile, on the thread that will own it or before that thread starts.
 * Opens the profile's driver, takes and registers all buffers. The profile is copied. EAL is
 * started when the process has none yet. 0; -EINVAL: weir_profile_check() says why; -ENOMEM; or
 * what the driver said. */
WEIR_API int weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine);

/** Close all connections (each call gets its completion, -ECONNABORTED) and listeners, and free the
 * engine. Callbacks run inside; in them weir_connect() and weir_listen() fail with -ECANCELED.
 * Requests that handlers still hold stay theirs, without arguments, until weir_request_reply(),
 * which then only frees them. Regions that were added stay the caller's, to be destroyed after
 * this. Over shm it waits for peers that are writing to this side's memory just then: two seconds
 * at most, however many they are. In a child after fork, see above. Not from inside a callback.
 * NULL is allowed. */
WEIR_API void weir_engine_destroy(struct weir_engine *engine);

/** Do what there is to do: completions, connection events, timers, the mailbox, then send what
 * was queued. At most 'budget' completions (0: the profile's poll_budget). 'now_ns' is a clock of
 * the caller's that never goes back; all timeouts are measured by it. Returns the work done, 0 when
 * idle. Callbacks run inside. In a child after fork: 0, and errno is ECHILD. Not from inside a
 * callback. Owner's thread. */
WEIR_API uint32_t weir_engine_poll(struct weir_engine *engine, uint32_t budget, uint64_t now_ns);

/** The 'now_ns' of the latest poll. */
WEIR_API uint64_t weir_engine_now(const struct weir_engine *engine);

/** Any thread: run fn(engine, arg) inside a later poll of the owner's thread, or in
 * weir_engine_destroy(). 0, or -EAGAIN when the mailbox is full (try again after the owner polled),
 * or -ECHILD after fork. Messages of one thread keep their order. */
WEIR_API int weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			      void *arg);

/** Register a region with the engine's device, so that it may be named in calls and replies. Before
 * the first call, since it may take long. 0; -ENOSPC: over 48 regions; -ECHILD: after fork; or the
 * driver's error. */
WEIR_API int weir_engine_add_region(struct weir_engine *engine, struct weir_region *region);

/** The reverse, when no call or reply names the region any more; weir_engine_destroy() does it for
 * those left. */
WEIR_API void weir_engine_remove_region(struct weir_engine *engine, struct weir_region *region);

/** The exposure policy in force, WEIR_EXPOSURE_WINDOW or WEIR_EXPOSURE_POOL: what 'auto' is on this
 * engine's device. */
WEIR_API enum weir_exposure weir_engine_exposure(const struct weir_engine *engine);

/** What was counted so far, copied to *stats, which is the caller's. On the owner's thread. Never
 * fails. */
WEIR_API void weir_engine_stats(const struct weir_engine *engine, struct weir_engine_stats *stats);

WEIR_END_DECLS

#endif
