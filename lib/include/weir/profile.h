/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_PROFILE_H
#define WEIR_PROFILE_H

/*
 * A profile: everything that is chosen once per machine, in one INI file (config/ has examples).
 *
 * Take the defaults, load a file over them or set fields by hand, then give the profile to
 * weir_engine_create(). What each key means, its range and its default come from one table, which
 * weir_profile_key_help() lists. Any thread.
 */

#include <weir/common.h>
#include <weir/memory.h> /* WEIR_PAGES_THP */

WEIR_BEGIN_DECLS

enum weir_idle {
	WEIR_IDLE_AUTO,	 /**< spin on pinned lcores, else yield */
	WEIR_IDLE_SPIN,	 /**< poll on: the core is weir's */
	WEIR_IDLE_YIELD, /**< give the rest of the time slice away */
	WEIR_IDLE_SLEEP, /**< sleep, longer the longer nothing comes */
};

/** What peers may reach of this side's memory, and when (RFC 8166 section 8.1). Memory of a
 * responder is named to nobody, and with 'window' has no key at all. */
enum weir_exposure {
	/** 'window' where that keeps peers out, that is, with all drivers but shm; there 'pool',
	   which the log says. */
	WEIR_EXPOSURE_AUTO,
	/** What a call names, for the time of that call, to the one connection, for reading or for
	 * writing: by memory windows. All of a call's keys are invalid before its 'done' is called.
	 * Over shm nobody can be kept from what he has mapped, but keys that have ended are refused
	 * all the same. */
	WEIR_EXPOSURE_WINDOW,
	/** The keys of registered regions, valid as long as the engine has them: every peer may
	 * reach any region that is not WEIR_REGION_PRIVATE at any time, for reading and writing.
	 * For peers that are trusted. */
	WEIR_EXPOSURE_POOL,
};

/** Over which connections of an engine a key that a call gave away opens memory. With 'window'
 * always over its own only. */
enum weir_protection {
	/** Over all: one protection domain for the engine. */
	WEIR_PROTECTION_SHARED,
	/** Over the one that it was given away on: each connection has a protection domain, in
	 * which all regions are registered when it is made; those of a responder have no keys at
	 * all. Not with 'pool' and shared receives at once: 'auto' are not shared then. */
	WEIR_PROTECTION_CONNECTION,
};

enum weir_reconnect {
	WEIR_RECONNECT_DEFAULT, /**< in weir_connect_options: as the profile says. Not in a profile
				 */
	WEIR_RECONNECT_OFF,	/**< a connection that is lost ends, and its calls with it */
	WEIR_RECONNECT_ON,	/**< it is remade, and its calls are sent again */
};

/** Versions of RPC-over-RDMA that connections speak. */
enum weir_protocol {
	/** Version 1 (RFC 8166). A message of version 2 is answered by ERR_VERS. */
	WEIR_PROTOCOL_V1,
	/** Version 2 (draft-cel-nfsv4-rpcrdma-version-two-03). A requester's connection to a peer
	 * that does not speak it fails with -EPROTONOSUPPORT; a responder answers messages of
	 * version 1 by ERR_VERS. */
	WEIR_PROTOCOL_V2,
	/** Either: a requester asks for version 2, and goes on by version 1, on the same
	 * connection, where the peer does not speak it; a responder answers each call in its
	 * version. */
	WEIR_PROTOCOL_AUTO,
};

/** Where the receives of an engine's connections come from. */
enum weir_shared_receives {
	/** Each connection has its own, as many as its credits. */
	WEIR_SHARED_RECEIVES_OFF,
	/** All take theirs from one queue of recv_buffers, and credits follow use. Not with 'pool'
	   and 'protection = connection' at once. */
	WEIR_SHARED_RECEIVES_ON,
	/** ON over shm, where the profile allows it and recv_buffers are enough for one busy
	 * connection beside all that there may be; else OFF: that the end of a connection gives the
	 * queue all receives back was not yet seen on an RDMA device. */
	WEIR_SHARED_RECEIVES_AUTO,
};

/** Which parts of the extension draft-dnoveck-nfsv4-rpcrdma-rtrext-01 are used on connections of
 * version 2, with peers that have it as well: one bit each. */
enum weir_extension {
	WEIR_EXTENSION_OFF = 0,
	/** Calls and replies that are too long for one message, and of which nothing is placed
	 * directly, go in several messages rather than by a chunk that is read or written (sections
	 * 4 and 5.2). */
	WEIR_EXTENSION_CONTINUATION = 1,
	/** Calls of which something is placed directly say for each result what is to become of it:
	 * written to the requester's memory, or sent in the message if it is short (section 7.4). A
	 * responder obeys that whichever part is used here. */
	WEIR_EXTENSION_DIRECTION = 2,
	/** Data that may be placed directly go in the message itself, where there is room for them:
	 * they are laid into segments of the receiver's buffers that it has told of, and are used
	 * there in place, in one round trip (sections 3.3 and 7). Receives are longer by lead_bytes
	 * and targets, and begin in another place of memory. */
	WEIR_EXTENSION_PLACEMENT = 4,
	WEIR_EXTENSION_ALL = 7,
};

struct weir_profile {
	/* [engine] */
	char lcores[128]; /**< "": the program's choice; "any": not pinned; or see
			     weir_profile_lcores() */
	enum weir_idle idle;
	char driver[32];
	char driver_options[256]; /**< "key=value,..." of that driver */
	uint32_t poll_budget;	  /**< completions a poll */

	/* [memory] */
	uint64_t page_bytes; /**< as weir_region_options.page_bytes */
	uint32_t send_buffers;
	uint32_t recv_buffers;
	uint32_t long_buffers;
	uint64_t long_buffer_bytes;
	uint32_t bulk_buffers;
	uint64_t bulk_buffer_bytes;

	/* [connection] */
	enum weir_protocol protocol;
	enum weir_extension extension; /**< without version 2 it means nothing */
	uint32_t transmissions;	       /**< with the extension, of a call or a reply at most */
	uint32_t lead_bytes;   /**< with WEIR_EXTENSION_PLACEMENT, of a receive: in front of its
				  targets */
	uint32_t targets;      /**< how many it has */
	uint32_t target_bytes; /**< of each; they are aligned to the power of two that this is a
				  multiple of, 4096 at most */
	uint32_t credits;
	enum weir_shared_receives shared_receives;
	uint32_t inline_bytes;
	uint32_t chunk_bytes; /**< 0: the driver's choice; the longest item is a Read chunk if it
				 has so many bytes, even of a short message */
	uint32_t call_timeout_ms; /**< 0: none */
	uint32_t connect_timeout_ms;
	enum weir_reconnect reconnect; /**< see weir/connection.h */
	uint32_t reconnect_delay_ms;
	uint32_t reconnect_delay_max_ms;
	uint32_t reconnect_give_up_ms; /**< 0: never */
	uint32_t resends;

	/* [costs]: by which calls that can go either way go by the extension or by explicit RDMA;
	 * all 0: by the extension */
	uint32_t round_trip_ns; /**< of the network */
	uint32_t operation_ns;	/**< of a work request with its completion */
	uint32_t message_ns;	/**< of one message more, both sides together */
	uint32_t copy_ns;	/**< of 1024 bytes */

	/* [limits] */
	uint32_t connections;
	uint32_t connections_peer; /**< 0: no fixed limit */
	uint32_t waiting_requests;
	uint64_t map_bytes_peer; /**< over shm */
	uint32_t mappings_peer;	 /**< over shm */
	uint64_t pull_bytes_connection;
	uint64_t pull_bytes;
	uint32_t first_call_timeout_ms; /**< 0: never; so with the next five */
	uint32_t idle_timeout_ms;
	uint32_t pull_timeout_ms;
	uint32_t close_timeout_ms;
	uint32_t send_timeout_ms;
	uint32_t group_timeout_ms;
	uint32_t read_segments;
	uint32_t read_chunks;
	uint32_t write_chunks;
	uint32_t segments_per_chunk;
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint32_t replay_entries;
	uint64_t replay_bytes;

	/* [exposure] */
	enum weir_exposure exposure;
	enum weir_protection protection;
	uint32_t remote_invalidation; /**< 0 or 1: whether replies may end keys of their calls (RFC
					 8797) */
	uint32_t windows; /**< that the calls of an engine can hold: one for each segment they name
			   */
};

/** Fill *profile, the caller's, with what holds for keys that a profile does not name. Any thread.
 * Never fails. */
WEIR_API void weir_profile_defaults(struct weir_profile *profile);

/** Load a file over the defaults. 0; or -errno with 'err' set to one line that says file, line,
 * section, key, what is wrong, what is allowed and an example; then *profile is as it was.
 * 'err_bytes' of about 400 are enough. The file must be a regular one. */
WEIR_API int weir_profile_load(const char *path, struct weir_profile *profile, char *err,
			       size_t err_bytes);

/** Check a profile that was made by hand: each key's range, the driver and its options, and that
 * the keys go together. What passes, weir_engine_create() refuses only for what the machine lacks:
 * memory, the device, or a limit of that device. 0, or -EINVAL with 'err' as above, without file
 * and line. Any thread. */
WEIR_API int weir_profile_check(const struct weir_profile *profile, char *err, size_t err_bytes);

/** The CPUs that a list such as "0,1" or "0-3,6" names, in its order, into at most 'max' of 'cpus':
 * how many; 0 for "" and "any"; -EINVAL: malformed; -EEXIST: a CPU is named twice; -E2BIG: more
 * than 'max'. Any thread. */
WEIR_API int weir_profile_lcores(const char *list, uint32_t *cpus, uint32_t max);

/** Whether threads can be pinned to the CPUs of such a list: each is there, online, and one that
 * the calling thread may use, by taskset or the cpuset of its cgroup. A profile may be for another
 * machine, so that weir_profile_check() does not ask this. 0; or with 'err' set to one line that
 * names the CPU and the remedy: -ENODEV: absent, offline or not allowed; -EINVAL, -EEXIST: as
 * weir_profile_lcores(). Any thread. */
WEIR_API int weir_profile_lcores_check(const char *list, char *err, size_t err_bytes);

/** One line on the key at 'index', for people: "[section] key = default (allowed): meaning". 0, or
 * -ENOENT past the last key. */
WEIR_API int weir_profile_key_help(uint32_t index, char *line, size_t line_bytes);

WEIR_END_DECLS

#endif
