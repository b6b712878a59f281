/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_PROFILE_H
#define WEIR_PROFILE_H

/*
 * Profiles. A profile contains all settings of an engine, which are usually the same for all
 * engines of a machine. It can be loaded from an INI file. The folder config/ has examples. The
 * file can also have a section for each program, with keys of the program's own, and sections that
 * override keys for the engines of some CPUs.
 *
 * Start with the defaults. Load a file over them, or set members directly. Then pass the profile to
 * weir_engine_create(). weir_profile_key_help() lists each key with its meaning, range and default.
 *
 * Thread of all functions: any.
 */

#include <weir/common.h>
#include <weir/memory.h> /* WEIR_PAGES_THP */

WEIR_BEGIN_DECLS

/** The action of a polling thread when a poll finds no work. */
enum weir_idle {
	WEIR_IDLE_AUTO,	 /**< SPIN on pinned lcores, otherwise YIELD */
	WEIR_IDLE_SPIN,	 /**< poll again at once; the core is reserved for weir */
	WEIR_IDLE_YIELD, /**< give up the rest of the time slice (sched_yield) */
	/** spin, then pause between polls, then sleep until there is work */
	WEIR_IDLE_ADAPTIVE,
	WEIR_IDLE_EVENT, /**< sleep until there is work, after each poll that finds none */
};

/** The times that an engine measures (weir/latency.h). */
enum weir_latency {
	WEIR_LATENCY_OFF,    /**< nothing */
	WEIR_LATENCY_CALLS,  /**< the times of calls and requests, per procedure */
	WEIR_LATENCY_STAGES, /**< also the times in each of their stages, on a slower path */
};

/** The engines that the commands of rte_telemetry describe. */
enum weir_telemetry {
	/** This one, if the process has a socket of rte_telemetry for another reason. */
	WEIR_TELEMETRY_AUTO,
	WEIR_TELEMETRY_OFF, /**< not this one */
	/** This one. If weir starts EAL for this engine, EAL creates the socket. */
	WEIR_TELEMETRY_ON,
};

/**
 * The exposure policy: the memory of this side that peers can access, and when (RFC 8166 section
 * 8.1).
 *
 * A responder never sends a key of its memory to a peer. With WINDOW its memory has no key at all.
 */
enum weir_exposure {
	/** POOL for the shm driver, which the log reports; WINDOW for all other drivers. */
	WEIR_EXPOSURE_AUTO,
	/**
	 * Memory windows: the peer of a call's connection can access the memory that the call
	 * names, either for reading or for writing, until the call ends. All keys of a call are
	 * invalid before its 'done' is called. Over shm, the peer's process can still access the
	 * memory that it has mapped, but the driver refuses keys that were invalidated.
	 */
	WEIR_EXPOSURE_WINDOW,
	/**
	 * Keys of registered regions, which are valid until the region is removed. Every peer can
	 * read and write every region that is not WEIR_REGION_PRIVATE, at any time. Use POOL only
	 * with trusted peers.
	 */
	WEIR_EXPOSURE_POOL,
};

/**
 * The connections of an engine on which the keys that a call sends are valid. With the exposure
 * policy 'window', such a key is always valid on the call's own connection only.
 */
enum weir_protection {
	/** On all connections: the engine has one protection domain. */
	WEIR_PROTECTION_SHARED,
	/**
	 * On the call's connection: each connection has its own protection domain, in which weir
	 * registers all regions. A responder's connections have no keys at all. The combination
	 * with the exposure policy 'pool' and 'shared_receives = on' is not possible.
	 */
	WEIR_PROTECTION_CONNECTION,
};

/** Says whether a requester re-establishes a lost connection. */
enum weir_reconnect {
	WEIR_RECONNECT_DEFAULT, /**< only in weir_connect_options: the value of the profile */
	WEIR_RECONNECT_OFF,	/**< the connection closes, and its calls fail */
	WEIR_RECONNECT_ON,	/**< weir connects again and retransmits the calls */
};

/** The versions of RPC-over-RDMA that connections are allowed to use. */
enum weir_protocol {
	/** Version 1 (RFC 8166). weir answers messages of version 2 with ERR_VERS. */
	WEIR_PROTOCOL_V1,
	/**
	 * Version 2 (draft-cel-nfsv4-rpcrdma-version-two-03). A requester's connection to a peer
	 * without version 2 fails with -EPROTONOSUPPORT. A responder answers messages of version 1
	 * with ERR_VERS.
	 */
	WEIR_PROTOCOL_V2,
	/**
	 * Both. A requester tries version 2 and falls back to version 1 on the same connection. A
	 * responder answers each call in the version of the call.
	 */
	WEIR_PROTOCOL_AUTO,
};

/** Says whether the connections of an engine share receives. */
enum weir_shared_receives {
	/** Each connection has its own receives: one per credit, and some more. */
	WEIR_SHARED_RECEIVES_OFF,
	/**
	 * All connections share one receive queue of recv_buffers, and credits adapt to load. The
	 * combination with the exposure policy 'pool' and 'protection = connection' is not
	 * possible.
	 */
	WEIR_SHARED_RECEIVES_ON,
	/**
	 * ON if all of these conditions are met, otherwise OFF:
	 * - The device is not an RDMA device. It is not tested on such hardware that all shared
	 *   receives return when a connection ends.
	 * - The device can have a receive queue of recv_buffers.
	 * - recv_buffers, without a small reserve, is at least 'connections' + 2 * 'credits'.
	 * - 'protection' is not WEIR_PROTECTION_CONNECTION.
	 */
	WEIR_SHARED_RECEIVES_AUTO,
};

/**
 * Parts of the extension draft-dnoveck-nfsv4-rpcrdma-rtrext-01, as a bit mask. Connections of
 * version 2 use a part if the peer supports it, too.
 */
enum weir_extension {
	WEIR_EXTENSION_OFF = 0, /**< no part */
	/**
	 * Calls and replies that do not fit into one message, and have no directly placed data,
	 * travel in several messages instead of a chunk (sections 4 and 5.2 of the draft).
	 */
	WEIR_EXTENSION_CONTINUATION = 1,
	/**
	 * Calls with directly placed data say for each result whether the responder writes it to
	 * the requester's memory, or sends it in the message if it is short (section 7.4 of the
	 * draft). A responder follows such directions even if this part is off.
	 */
	WEIR_EXTENSION_DIRECTION = 2,
	/**
	 * DDP-eligible data travel in the message itself if they fit. The sender puts the data into
	 * targets, which are aligned segments of the receiver's buffers, so that the receiver need
	 * not copy them. The transfer takes one round trip (sections 3.3 and 7 of the draft). A
	 * receive is then at least lead_bytes + targets * target_bytes long.
	 */
	WEIR_EXTENSION_PLACEMENT = 4,
	WEIR_EXTENSION_ALL = 7, /**< all parts */
};
WEIR_FLAG_ENUM(weir_extension)

/**
 * A profile: one member per key.
 *
 * weir_profile_key_help() describes each key, with its range and default.
 */
struct weir_profile {
	size_t struct_bytes; /**< size of the structure; weir_profile_defaults() sets it */

	/* [engine] */
	/**
	 * CPUs to which threads are pinned; see weir_profile_lcores(). "": the program chooses.
	 * "any": threads are not pinned.
	 */
	char lcores[128];
	enum weir_idle idle;	   /**< the action of a thread when a poll finds no work */
	char driver[32];	   /**< name of the driver, such as "shm" or "verbs" */
	char driver_options[256];  /**< options of the driver: "key=value,..." */
	uint32_t poll_budget;	   /**< maximum number of completions per poll */
	uint32_t stuck_call_ms;	   /**< age at which a call or request is reported; 0: never */
	enum weir_latency latency; /**< what is measured for weir/latency.h */

	/* [memory] */
	uint64_t page_bytes;	    /**< see weir_region_options.page_bytes */
	uint32_t send_buffers;	    /**< buffers for outgoing messages, per engine */
	uint32_t recv_buffers;	    /**< buffers for incoming messages, per engine */
	uint32_t long_buffers;	    /**< per engine: for calls and replies longer than a message */
	uint64_t long_buffer_bytes; /**< size of a long buffer */
	uint32_t bulk_buffers;	    /**< per engine: for pulled Read chunks and long results */
	uint64_t bulk_buffer_bytes; /**< size of a bulk buffer */

	/* [connection] */
	enum weir_protocol protocol;   /**< allowed versions of RPC-over-RDMA */
	enum weir_extension extension; /**< allowed parts of version 2's extension */
	uint32_t transmissions;	       /**< with continuation: most messages per call or reply */
	/* With WEIR_EXTENSION_PLACEMENT, the layout of a receive: */
	uint32_t lead_bytes; /**< bytes before the targets, for the message without its data */
	uint32_t targets;    /**< number of targets: aligned segments for placed data */
	/**
	 * Size of a target in bytes. A target is aligned to the largest power of two that divides
	 * its size, up to 4096.
	 */
	uint32_t target_bytes;
	/** Maximum number of credits that a connection requests or grants; 1 to 1024. */
	uint32_t credits;
	enum weir_shared_receives shared_receives; /**< whether connections share receives */
	/**
	 * Inline threshold: longest message without chunks, in bytes. The smaller value of the two
	 * sides counts; see weir_conn_send_inline().
	 */
	uint32_t inline_bytes;
	/**
	 * Version 1: the longest DDP-eligible argument of a call becomes a Read chunk if it has at
	 * least this number of bytes, even if the call would fit inline. 0: the driver's choice.
	 */
	uint32_t chunk_bytes;
	uint32_t call_timeout_ms;	 /**< time-out of a call without its own; 0: none */
	uint32_t connect_timeout_ms;	 /**< time limit for establishing a connection */
	enum weir_reconnect reconnect;	 /**< whether a lost connection is re-established */
	uint32_t reconnect_delay_ms;	 /**< pause before the first attempt to reconnect */
	uint32_t reconnect_delay_max_ms; /**< longest pause between attempts to reconnect */
	uint32_t reconnect_give_up_ms;	 /**< time limit for all attempts to reconnect; 0: none */
	uint32_t resends;		 /**< maximum number of retransmissions per call */

	/*
	 * [costs]: if both version 2's extension and explicit RDMA (chunks) can be used for a call,
	 * weir chooses between them by these costs. If all costs are 0, it chooses the extension.
	 */
	uint32_t round_trip_ns; /**< network round trip */
	uint32_t operation_ns;	/**< work request with its completion */
	uint32_t message_ns;	/**< one more message, on both sides together */
	uint32_t copy_ns;	/**< copy of 1024 bytes */

	/* [limits] */
	uint32_t connections;	   /**< maximum number of connections per engine */
	uint32_t connections_peer; /**< maximum number of connections per peer; 0: no fixed limit */
	/** Maximum number of requests that wait for buffers, per engine. */
	uint32_t waiting_requests;
	uint64_t map_bytes_peer; /**< shm only: maximum number of mapped bytes per peer */
	uint32_t mappings_peer;	 /**< shm only: maximum number of mappings per peer */
	/** Maximum number of bytes in Read chunks that are pulled at a time, per connection. */
	uint64_t pull_bytes_connection;
	uint64_t pull_bytes; /**< as pull_bytes_connection, per engine */
	/* Time limits. 0 means that there is no limit. */
	uint32_t first_call_timeout_ms; /**< from the opening of a connection to its first call */
	uint32_t idle_timeout_ms;	/**< between two calls of a connection */
	/** For pulling the Read chunks of a call, including waits for buffers and quotas. */
	uint32_t pull_timeout_ms;
	uint32_t close_timeout_ms; /**< for an orderly shutdown */
	uint32_t send_timeout_ms;  /**< for the completion of a Send */
	uint32_t group_timeout_ms; /**< for the arrival of all transmissions of a message */
	/* Limits on the header of a message that arrives. */
	uint32_t read_segments;	     /**< maximum number of segments in the Read list */
	uint32_t read_chunks;	     /**< maximum number of Read chunks */
	uint32_t write_chunks;	     /**< maximum number of chunks in the Write list */
	uint32_t segments_per_chunk; /**< maximum number of segments in a Write or Reply chunk */
	uint64_t read_bytes;	     /**< maximum total length of the Read list */
	uint64_t write_bytes;	     /**< maximum total length of Write list and Reply chunk */
	/* The duplicate request cache, per listener and engine. */
	uint32_t replay_entries; /**< maximum number of executing calls and kept replies */
	uint64_t replay_bytes;	 /**< total size of the kept replies */

	/* [exposure] */
	enum weir_exposure exposure;	 /**< exposure policy; the key is 'policy' */
	enum weir_protection protection; /**< the connections on which keys are valid */
	uint32_t remote_invalidation;	 /**< 1: replies may invalidate keys (RFC 8797); 0: not */
	uint32_t windows; /**< memory windows per engine; a call needs one for each segment */

	/* [engine] */
	uint64_t telemetry; /**< whether rte_telemetry describes the engine: enum weir_telemetry */

	/* [engine:CPUS] */
	/**
	 * Overrides for the engines of some CPUs: sections [engine:CPUS] in the form of a file. A
	 * runtime (weir/runtime.h) applies them. weir_engine_create() ignores them. "": none.
	 */
	char engines[4096];
};

/**
 * Sets struct_bytes, and sets each other member to the default of its key. Applications call
 * weir_profile_defaults() instead, which passes the size.
 *
 * @param[out] profile the profile
 * @param struct_bytes size of *profile in the application. Nothing is written after it.
 * @retval 0 success
 * @retval -EINVAL struct_bytes is smaller than the profile of any version of weir; nothing was
 * written
 */
WEIR_API int weir_profile_init(struct weir_profile *profile, size_t struct_bytes);

/**
 * Sets struct_bytes, and sets each other member to the default of its key. The function never
 * fails.
 *
 * @param[out] profile the profile
 */
static inline void weir_profile_defaults(struct weir_profile *profile)
{
	(void)weir_profile_init(profile, sizeof(*profile));
}

/**
 * Loads a file into a profile, with the files that it includes. Keys that no file names get their
 * defaults.
 *
 * @param path a regular file
 * @param[in,out] profile a profile that weir_profile_defaults() has set; unchanged if the function
 * fails
 * @param[out] err after an error: one line that says the file, line, section and key, what is
 * wrong, which values are allowed, and an example
 * @param err_bytes size of err; 400 bytes suffice
 * @retval 0 success
 * @retval -EINVAL the content of a file is not valid, or struct_bytes of the profile is too small
 * @retval -ENOMEM there is no memory for the names of the files
 * @retval other a negative errno: a file cannot be read
 */
WEIR_API int weir_profile_load(const char *path, struct weir_profile *profile, char *err,
			       size_t err_bytes);

/**
 * Loads a file like weir_profile_load(), and gives the program the keys of its own section
 * [app:NAME].
 *
 * weir ignores the sections of other programs. It calls 'set' only after it has found all else in
 * the files to be valid.
 *
 * @param path a regular file
 * @param app the name of the program, which is the NAME of its section
 * @param set is called for each key of the section, in the order of the files. A key of a file
 * replaces the same key of the files that it includes. The function returns NULL, or what is wrong
 * with the key and how to correct it, as a text that is valid until its next call. 'where' is the
 * file and the line, as "FILE:LINE". The strings are valid during the call.
 * @param arg argument of 'set'
 * @param[in,out] profile a profile that weir_profile_defaults() has set; unchanged if the function
 * fails
 * @param[out] err after an error: one line like that of weir_profile_load()
 * @param err_bytes size of err; 400 bytes suffice
 * @retval 0 success
 * @retval -EINVAL the content of a file is not valid, 'set' has refused a key, or struct_bytes of
 * the profile is too small
 * @retval -ENOMEM there is no memory for the keys of the section or the names of the files
 * @retval other a negative errno: a file cannot be read
 */
WEIR_API int weir_profile_load_app(const char *path, const char *app,
				   const char *(*set)(void *arg, const char *key, const char *value,
						      const char *where),
				   void *arg, struct weir_profile *profile, char *err,
				   size_t err_bytes);

/**
 * Computes the profile of the engine of a CPU: applies the section [engine:CPUS] that names the
 * CPU, if there is one, and leaves out all of these sections. A runtime does this for its engines.
 * An application that creates the engines of its threads itself can do the same.
 *
 * @param profile the profile
 * @param cpu the CPU; -1: the thread of the engine is not pinned, and no section applies
 * @param[in,out] out the profile of the engine. The application sets struct_bytes. If the function
 * returns 0, it has set all other members. 'out' may be the same pointer as 'profile'.
 * @retval 0 success
 * @retval -EINVAL the profile is not valid, or struct_bytes of a profile is too small
 * @retval -E2BIG the profile has members that are not 0 and that this version of weir does not know
 */
WEIR_API int weir_profile_for_cpu(const struct weir_profile *profile, int cpu,
				  struct weir_profile *out);

/**
 * Checks a profile: the range of each key, the driver and its options, and the combination of keys.
 *
 * After success, weir_engine_create() can fail only because of the machine: memory, the device, or
 * a limit of the device.
 *
 * @param profile the profile
 * @param[out] err after an error: one line like that of weir_profile_load(), without file and line
 * @param err_bytes size of err; 400 bytes suffice
 * @retval 0 the profile is valid
 * @retval -EINVAL the profile is not valid, or struct_bytes of the profile is too small
 * @retval -E2BIG the profile has members that are not 0 and that this version of weir does not know
 */
WEIR_API int weir_profile_check(const struct weir_profile *profile, char *err, size_t err_bytes);

/**
 * Writes a profile as a text that weir_profile_load() can load from a file. Each key has a line.
 * Sections [engine:CPUS] have lines only for the keys that they set.
 *
 * @param profile a profile that weir_profile_check() finds valid
 * @param[out] text the text, with a NUL at its end
 * @param text_bytes size of text; 8192 bytes suffice
 * @retval length the length of the whole text without the NUL. The text is truncated if the length
 * is not less than text_bytes.
 * @retval -EINVAL the profile is not valid, or struct_bytes of the profile is too small
 * @retval -E2BIG the profile has members that are not 0 and that this version of weir does not know
 */
WEIR_API int weir_profile_format(const struct weir_profile *profile, char *text, size_t text_bytes);

/**
 * Parses a list of CPUs such as "0,1" or "0-3,6".
 *
 * @param list the list, as in the key 'lcores'
 * @param[out] cpus the CPUs, in the order of the list
 * @param max entries of cpus
 * @retval count the number of CPUs; 0 for "" and "any"
 * @retval -EINVAL the list is malformed
 * @retval -EEXIST a CPU occurs twice
 * @retval -E2BIG the list names more than max CPUs
 */
WEIR_API int weir_profile_lcores(const char *list, uint32_t *cpus, uint32_t max);

/**
 * Checks whether threads can be pinned to the CPUs of a list on this machine.
 *
 * Each CPU must exist, be online and be allowed for the calling thread by its affinity (taskset)
 * and the cpuset of its cgroup. weir_profile_check() does not check this, because a profile can be
 * for another machine.
 *
 * @param list the list, as in the key 'lcores'
 * @param[out] err after an error: one line that names the CPU and the remedy
 * @param err_bytes size of err; 400 bytes suffice
 * @retval 0 all CPUs can be used
 * @retval -ENODEV a CPU is absent, offline or not allowed
 * @retval -EINVAL the list is malformed
 * @retval -EEXIST a CPU occurs twice
 */
WEIR_API int weir_profile_lcores_check(const char *list, char *err, size_t err_bytes);

/**
 * Describes a key in one line: "[section] key = default (allowed): meaning. Memory: effect".
 *
 * @param index index of the key, from 0
 * @param[out] line the text
 * @param line_bytes size of line
 * @retval 0 success
 * @retval -ENOENT there is no such key; index is past the last one
 */
WEIR_API int weir_profile_key_help(uint32_t index, char *line, size_t line_bytes);

WEIR_END_DECLS

#endif
