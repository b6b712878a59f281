/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FABRIC_H
#define FABRIC_H

/*
 * The interface of a driver for the layers above: devices, queue pairs, work requests and
 * completions, with the semantics of a reliable connection of RDMA verbs. driver.h describes the
 * contract that a driver must fulfil.
 *
 * A device belongs to one engine. The device represents the engine's protection domain or domains,
 * its completion queue and its connection manager channel. Only the engine's thread uses it.
 *
 * The files of this folder:
 *
 *   fabric.h       the interface of a driver for the layers above
 *   driver.h       the contract of a driver
 *   backlog.[ch]   connection requests that wait at a listener, divided among peers
 */

#include <weir/common.h>
#include <weir/peer.h>

#define FABRIC_PRIVATE_DATA_MAX                                                                    \
	56u /* bytes that rdma_cm leaves to its user in a connection request on InfiniBand */
#define FABRIC_ADDR_MAX 108u
#define FABRIC_SGE_MAX	16u /* the highest max_sge that a driver may report */

enum fabric_access {
	FABRIC_LOCAL_WRITE = 1,
	FABRIC_REMOTE_READ = 2,
	FABRIC_REMOTE_WRITE = 4,
	/* Memory windows are allowed to be bound over the registration. Each window has rights of
	 * its own. */
	FABRIC_BIND = 8,
};

struct fabric_qp;
struct fabric_listener;
struct fabric_srq;
struct fabric_conn_req; /* a connection request that waits for accept or reject */

/* Memory that is registered with one device. A key is never 0. */
struct fabric_mr {
	uint32_t lkey;
	uint32_t rkey;	/* 0: no remote access */
	uint64_t raddr; /* the address by which a peer names the first byte of the memory */
	void *driver;	/* private data of the driver */
};

/* A type 2 memory window. It gives one queue pair remote access to a part of a region, until it is
 * invalidated. */
struct fabric_mw {
	uint32_t rkey; /* the key that the latest bind of this window created */
	void *driver;
};

struct fabric_sge {
	void *addr;
	uint32_t len;
	uint32_t lkey;
};

enum fabric_op {
	FABRIC_SEND,
	FABRIC_SEND_INV, /* Send with Invalidate of 'rkey', a key of the peer */
	FABRIC_WRITE,
	FABRIC_READ,
	/* Bind 'mw' over sge[0] with 'access'. mw->rkey is the new key after the post. */
	FABRIC_BIND_MW,
	FABRIC_LOCAL_INV, /* invalidate 'rkey', the key of a window of this side */
	FABRIC_RECV,	  /* in completions only */
};

enum fabric_wr_flags {
	/* Create a completion also for success. A failure always creates one. */
	FABRIC_SIGNALED = 1,
	/* The post operation copies the data, so that the caller can use the buffers again when it
	 * returns. The data is at most max_inline bytes long. */
	FABRIC_INLINE = 2,
	FABRIC_FENCE = 4, /* start after all earlier READs of this queue pair are done */
	/* LOCAL_INV: it is possible that the peer is using the key. Without this flag, the peer has
	 * reported that it has finished with the key. */
	FABRIC_IN_USE = 8,
};

struct fabric_wr {
	uint64_t wr_id;
	enum fabric_op op;
	uint32_t flags;
	struct fabric_sge *sge;
	uint32_t nsge;
	/* WRITE, READ: the key of the peer's memory. SEND_INV, LOCAL_INV: the key to invalidate. */
	uint32_t rkey;
	uint64_t raddr;	      /* WRITE, READ */
	struct fabric_mw *mw; /* BIND_MW */
	/* BIND_MW: FABRIC_REMOTE_READ, FABRIC_REMOTE_WRITE or both. */
	uint32_t access;
};

struct fabric_recv_wr {
	uint64_t wr_id;
	void *addr;
	uint32_t len;
	uint32_t lkey;
};

enum fabric_status {
	FABRIC_OK = 0,
	FABRIC_ERR_LOCAL_LEN,  /* a message was longer than its receive */
	FABRIC_ERR_LOCAL_PROT, /* a local buffer was not inside the registration of its lkey */
	/* The key is unknown or was invalidated, or the access exceeds its rights or bounds. It is
	 * possible that both the requesting side and its peer report this. */
	FABRIC_ERR_REMOTE_ACCESS,
	FABRIC_ERR_RNR,	       /* the peer posted no receive in time */
	FABRIC_ERR_REMOTE_LEN, /* the peer's receive is shorter than the message */
	FABRIC_ERR_RETRY,      /* the peer did not answer */
	/* the work request was discarded, because the queue pair was in the error state or
	 * disconnected */
	FABRIC_ERR_FLUSHED,
	FABRIC_ERR_FATAL,
};

struct fabric_wc {
	uint64_t wr_id;
	void *qp_ctx; /* fabric_qp_attr.ctx */
	enum fabric_op op;
	enum fabric_status status;
	uint32_t byte_len; /* RECV: bytes received; READ: bytes read */
	uint32_t inv_rkey; /* RECV: the key that a Send with Invalidate named, or 0 */
};

/* The size of a queue pair. Queue lengths are in work requests. */
struct fabric_qp_attr {
	uint32_t max_send_wr;
	/* The length of the receive queue. With 'srq': a hint, how many receives of the SRQ this
	 * queue pair will use at a time. */
	uint32_t max_recv_wr;
	uint32_t max_sge;
	/* the wanted value; the device reduces it if its own maximum is smaller */
	uint32_t max_inline;
	/* The length of the longest Send of either side. It determines the size of the driver's
	 * buffers. */
	uint32_t max_msg_bytes;
	/* The number of READs of this side that can be in flight. Further READs wait in the send
	 * queue. */
	uint32_t max_rd_atomic;
	/*
	 * true: this side is a requester, so that the peer may use the keys of its registrations.
	 * If this is false:
	 * - No access by the peer succeeds, whatever key it uses.
	 * - Over shm, the peer gets no memory.
	 * - If each queue pair is a protection domain, the peer gets no keys (driver.h).
	 */
	bool exposes;
	/*
	 * the SRQ that provides the receives; NULL: the queue pair has a receive queue of its own
	 */
	struct fabric_srq *srq;
	void *ctx; /* returned in completions and events */
};

/* The size of a shared receive queue. */
struct fabric_srq_attr {
	uint32_t max_wr;
	void *ctx; /* the qp_ctx of completions whose queue pair was destroyed */
};

struct fabric_dev_attr {
	uint32_t max_inline;
	uint32_t max_sge;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_srq_wr; /* 0: no SRQ */
	uint32_t max_msg_bytes;
	uint32_t max_rd_atomic;
	/* Length in bytes above which a READ is faster than a Send of the same data, provided that
	 * no memory window must be bound for the READ. 0: a READ is never faster. */
	uint32_t chunk_bytes;
	/* The device exposes memory to a peer only if the memory is mapped from a file, because the
	 * peer maps that file. */
	bool maps_files;
	bool has_mw;	   /* the device has type 2 memory windows */
	bool has_send_inv; /* SEND_INV */
	/* true: when a key is invalidated, the device prevents any further access by the peer. This
	 * is false for shm. There a peer might still write, so that the data must be copied before
	 * it is checked. */
	bool revokes_access;
};

enum fabric_cm_kind {
	/* with listener_ctx, req and private data; the engine accepts or rejects the request */
	FABRIC_CM_REQUEST,
	/* With qp_ctx: the connection is established. At the connecting side, the event also has
	 * the private data of the accept. */
	FABRIC_CM_ESTABLISHED,
	FABRIC_CM_REJECTED, /* with qp_ctx and the private data of the reject */
	FABRIC_CM_FAILED,   /* with qp_ctx: connecting failed; 'error' is a negative errno */
	/* With qp_ctx; once per established connection. 'error' is -ESHUTDOWN if the peer ended the
	 * connection in order. Any other value means that the peer or the connection failed. */
	FABRIC_CM_DISCONNECTED,
	/* With listener_ctx; at most once. The device of the listener was removed or failed, so
	 * that nobody can connect there any more. 'error' is a negative errno. The engine still has
	 * to call unlisten. */
	FABRIC_CM_UNLISTENED,
};

struct fabric_cm_event {
	enum fabric_cm_kind kind;
	int error;
	void *listener_ctx;
	void *qp_ctx;
	struct fabric_conn_req *req;
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	struct weir_peer peer; /* REQUEST and ESTABLISHED: identity of the peer */
	/* REQUEST: this process has few free descriptors. Another connection should therefore be
	 * ended if this request is accepted. */
	bool is_crowded;
};

/* Counters of a device since open. They only increase. */
struct fabric_stats {
	uint64_t doorbells; /* posts that notified the device or the peer */
	uint64_t sends, recvs, writes, reads;
	/* Sends by send_direct(). Each one also rang a doorbell, but is counted neither in 'sends'
	 * nor in 'doorbells'. */
	uint64_t sends_direct;
	uint64_t wakes; /* system calls that woke the thread of a peer (driver.h, "Sleeping") */
	/* Copies of bulk data in addition to the one transfer that RDMA itself makes. */
	uint64_t bulk_copies;
	uint64_t registrations;
	uint64_t rnr; /* how often a message found no posted receive */
	uint64_t remote_access_errors;
	/*
	 * Connections that were refused because a connection with the peer's user is not allowed.
	 * Some of these refusals are temporary: they last until the driver has closed earlier
	 * connections, files and mappings of that user.
	 */
	uint64_t users_refused;
	/*
	 * Connection requests that were displaced by others (backlog.h) or refused before the
	 * engine saw them.
	 */
	uint64_t requests_displaced;
	/*
	 * Connections that were ended because the peer's memory must not or cannot be mapped.
	 */
	uint64_t maps_refused;
	/* How often invalid data was found in a peer's ring, control message or key table. */
	uint64_t protocol_errors;
};

/* The ctx of each queue pair points to a fabric_receiver if messages can be delivered. driver.h
 * describes delivery. */
struct fabric_receiver {
	/* Processes the message of 'len' bytes in the receive 'wr_id'. Returns true if the message
	 * is processed completely. Its receive then stays in the queue. Returns false if the
	 * receiver keeps the receive, as it does after a completion. */
	bool (*deliver)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
};

/* A fabric_receiver is the first member of a larger structure. To process a delivered message, the
 * receiver needs the first cache line of the larger structure, and the two cache lines that begin
 * at this offset in bytes. A driver can prefetch these lines. */
#define FABRIC_RECEIVER_LINES_AT 192u

struct fabric_dev {
	const struct fabric_ops *ops;
	struct fabric_dev_attr attr;
	struct fabric_stats stats;
	/* true: the driver may deliver messages. The engine sets this before it creates the first
	 * queue pair. */
	bool may_deliver;
	uint32_t ndelivered; /* number of messages that were delivered; wraps */
};

struct fabric_srq {
	struct fabric_dev *dev;
};

struct fabric_qp {
	struct fabric_dev *dev;
	void *ctx;
	uint32_t max_inline; /* the value that the device granted */
};

#endif
