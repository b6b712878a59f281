/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CAPTURE_H
#define WEIR_CAPTURE_H

/*
 * Captures: a capture writes the messages and the RDMA operations of connections to a file, as
 * RoCEv2 frames in the format pcapng, which Wireshark and tshark read. The guide "Captures"
 * (doc/capture.rst) describes the file.
 *
 * A process has at most one capture at a time. The thread of an engine copies what it sends and
 * receives to a ring in memory, and a helper thread writes the file. If the ring is full, a record
 * is dropped and counted, and the thread of the engine does not wait. While there is no capture, a
 * message costs nothing in addition.
 *
 * A capture ends at weir_capture_stop(), at its limits, or at an error of the file. It does not end
 * with its connections.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_engine;

/** The limits of a capture if the options do not set them. */
#define WEIR_CAPTURE_BYTES   (256u * 1024 * 1024) /**< bytes of the file */
#define WEIR_CAPTURE_SECONDS 600u		  /**< seconds */

/** The connections that a capture includes. */
enum weir_capture_side {
	WEIR_CAPTURE_BOTH = 0,	     /**< all connections */
	WEIR_CAPTURE_REQUESTERS = 1, /**< the connections of requesters of this process */
	WEIR_CAPTURE_RESPONDERS = 2, /**< the connections of responders of this process */
};

/** The options of a capture. Members that are 0 have the default. */
struct weir_capture_options {
	size_t struct_bytes; /**< set by the application; see weir/common.h */
	/** The name of the file, which must not exist. It is created with the mode 0600. */
	const char *path;
	/** The largest length of the file, at least 4096. Default: WEIR_CAPTURE_BYTES. */
	uint64_t max_bytes;
	/** The longest duration, in seconds. Default: WEIR_CAPTURE_SECONDS. */
	uint64_t max_seconds;
	/**
	 * How many bytes of each message and of the data of each RDMA operation are recorded.
	 * Default: all.
	 */
	uint64_t payload_bytes;
	/** The memory in bytes of the ring of each engine, at least 65536. Default: 16 MiB. */
	uint64_t ring_bytes;
	/** If not 0, only the connection with this ID is captured (weir_conn_info.id). */
	uint64_t conn_id;
	enum weir_capture_side side; /**< which connections are captured */
	uint32_t reserved;	     /**< 0 */
};

/** The state and the results of a capture. */
struct weir_capture_status {
	size_t struct_bytes; /**< set by the application; see weir/common.h */
	uint64_t frames;     /**< frames in the file */
	uint64_t bytes;	     /**< bytes of the file */
	uint64_t dropped;    /**< messages and operations for which the ring had no room */
	uint64_t conns;	     /**< connections in the file */
	/**
	 * Why the capture ended: 0 if it was stopped or still runs, -ETIME at its time limit,
	 * -EOVERFLOW at the limit of its file, or the negative errno of a write.
	 */
	int32_t end;
	uint32_t is_running; /**< 1 if the capture still writes, otherwise 0 */
};

/**
 * Starts a capture. It includes the connections that are set up from then on, of all engines of the
 * process, and those of the engines that are passed to weir_capture_engine(). Thread: any.
 *
 * @param options what is captured; not used after the return
 * @retval 0 success
 * @retval -EINVAL an option is invalid: the log says which one
 * @retval -E2BIG the options have a member that this version of weir does not know
 * @retval -EAGAIN no engine was created, and DPDK's environment does not run: create an engine
 * first
 * @retval -EBUSY there is a capture already: stop it first
 * @retval -EEXIST the file exists: choose another name, or remove the file
 * @retval -ENOMEM there is no memory
 * @return another negative errno of open(2) or write(2)
 */
WEIR_API int weir_capture_start(const struct weir_capture_options *options);

/**
 * Adds the connections that an engine has at present to the capture. Thread: the owner.
 *
 * @param engine the engine
 * @retval 0 success
 * @retval -ENOENT there is no capture, or it has ended
 * @retval -ENOMEM there is no memory for the engine's ring, or for a connection
 * @retval -EPERM this thread does not own the engine
 */
WEIR_API int weir_capture_engine(struct weir_engine *engine);

/**
 * Stops the capture: writes what was recorded, and closes the file. The function waits until the
 * file is written. Thread: any.
 *
 * @param[out] status what the capture has done; can be NULL
 * @retval 0 success
 * @retval -ENOENT there is no capture
 * @return the negative errno of a write that failed; the capture has ended, too
 */
WEIR_API int weir_capture_stop(struct weir_capture_status *status);

/**
 * Returns what the capture has done so far. A capture that ended at a limit is described until
 * weir_capture_stop(). Thread: any.
 *
 * @param[out] status set its struct_bytes first; see weir/common.h
 * @retval 0 success
 * @retval -ENOENT there is no capture
 */
WEIR_API int weir_capture_status(struct weir_capture_status *status);

WEIR_END_DECLS

#endif
