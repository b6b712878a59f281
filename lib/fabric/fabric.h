/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FABRIC_H
#define FABRIC_H

/*
 * What the layers above see of a driver: devices, queue pairs, work requests and completions, with
 * the semantics of a reliable connection of RDMA verbs. driver.h is the other side: the contract.
 *
 * One device object belongs to one engine: it stands for the engine's protection domain or domains,
 * completion queue and connection manager channel, and is used on the engine's thread only.
 *
 * The files of this folder:
 *
 *   fabric.h       what a driver offers to the layers above
 *   driver.h       what a driver must do: the contract
 *   backlog.[ch]   requests for connections that wait at a listener, divided among peers
 */

#include <weir/common.h>
#include <weir/peer.h>

#define FABRIC_PRIVATE_DATA_MAX                                                                    \
	56u /* what rdma_cm leaves of a connection request on InfiniBand                           \
	     */
#define FABRIC_ADDR_MAX 108u
#define FABRIC_SGE_MAX	16u /* the most that any driver may announce in max_sge */

enum fabric_access {
	FABRIC_LOCAL_WRITE = 1,
	FABRIC_REMOTE_READ = 2,
	FABRIC_REMOTE_WRITE = 4,
	FABRIC_BIND =
		8, /* of a registration: windows may be bound over it, with rights of their own */
};

struct fabric_qp;
struct fabric_listener;
struct fabric_srq;
struct fabric_conn_req; /* a connection request that waits for accept or reject */

/* Memory registered with one device. Keys are never 0. */
struct fabric_mr {
	uint32_t lkey;
	uint32_t rkey;	/* 0 when there is no remote access */
	uint64_t raddr; /* the address by which a peer names the first byte */
	void *driver;	/* the driver's own */
};

/* A type 2 memory window: remote access to part of a region, for one queue pair, until invalidated.
 */
struct fabric_mw {
	uint32_t rkey; /* of the latest binding */
	void *driver;
};

struct fabric_sge {
	void *addr;
	uint32_t len;
	uint32_t lkey;
};

enum fabric_op {
	FABRIC_SEND,
	FABRIC_SEND_INV, /* Send with Invalidate of 'rkey', a key of the peer's */
	FABRIC_WRITE,
	FABRIC_READ,
	FABRIC_BIND_MW,	  /* bind 'mw' over sge[0] with 'access'; mw->rkey is the new key as soon as
			     posted */
	FABRIC_LOCAL_INV, /* invalidate 'rkey', a window's key of one's own */
	FABRIC_RECV,	  /* in completions only */
};

enum fabric_wr_flags {
	FABRIC_SIGNALED = 1, /* complete it when it succeeds, too; failures always complete */
	FABRIC_INLINE =
		2, /* data is copied at the post: buffers are free on return. <= max_inline */
	FABRIC_FENCE = 4,  /* start only when all earlier READs of this queue pair are done */
	FABRIC_IN_USE = 8, /* LOCAL_INV: the peer may be using the key just now. Without it, it has
			    * said that it is done with it */
};

struct fabric_wr {
	uint64_t wr_id;
	enum fabric_op op;
	uint32_t flags;
	struct fabric_sge *sge;
	uint32_t nsge;
	uint32_t rkey;	/* WRITE, READ: of the peer's memory; SEND_INV, LOCAL_INV: the key to end */
	uint64_t raddr; /* WRITE, READ */
	struct fabric_mw *mw; /* BIND_MW */
	uint32_t access;      /* BIND_MW: FABRIC_REMOTE_READ, FABRIC_REMOTE_WRITE or both */
};

struct fabric_recv_wr {
	uint64_t wr_id;
	void *addr;
	uint32_t len;
	uint32_t lkey;
};

enum fabric_status {
	FABRIC_OK = 0,
	FABRIC_ERR_LOCAL_LEN,	  /* a message longer than the receive it met */
	FABRIC_ERR_LOCAL_PROT,	  /* a local buffer outside its registration */
	FABRIC_ERR_REMOTE_ACCESS, /* key unknown, ended, or of other rights or bounds; also at the
				     peer */
	FABRIC_ERR_RNR,		  /* the peer had no receive posted for longer than it is given */
	FABRIC_ERR_REMOTE_LEN,	  /* the peer's receive was shorter than the message */
	FABRIC_ERR_RETRY,	  /* the peer did not answer */
	FABRIC_ERR_FLUSHED,	  /* the queue pair was in error before this could run */
	FABRIC_ERR_FATAL,
};

struct fabric_wc {
	uint64_t wr_id;
	void *qp_ctx; /* fabric_qp_attr.ctx */
	enum fabric_op op;
	enum fabric_status status;
	uint32_t byte_len; /* RECV: bytes received; READ: bytes read */
	uint32_t inv_rkey; /* RECV: the key that came with Send with Invalidate, or 0 */
};

/* What a queue pair is to hold. Counts of work requests. */
struct fabric_qp_attr {
	uint32_t max_send_wr;
	uint32_t max_recv_wr; /* with 'srq': how many of its may be in use here, as a hint */
	uint32_t max_sge;
	uint32_t max_inline;	/* wanted; cut to the device's */
	uint32_t max_msg_bytes; /* the largest Send of either side: sizes driver-owned buffers */
	uint32_t max_rd_atomic; /* READs in flight that this side starts; more are queued */
	/*
	 * This side makes calls, so that the peer may use keys of its registrations. Without it no
	 * access by the peer succeeds, whatever key it uses. The peer gets no memory over shm, and
	 * no keys where queue pairs have domains of their own (driver.h).
	 */
	bool exposes;
	struct fabric_srq *srq; /* where its receives come from; NULL: a queue of its own */
	void *ctx;		/* returned in completions and events */
};

/* What a shared receive queue is to hold. */
struct fabric_srq_attr {
	uint32_t max_wr;
	void *ctx; /* of the completions that are of no queue pair any more */
};

struct fabric_dev_attr {
	uint32_t max_inline;
	uint32_t max_sge;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_srq_wr; /* 0: no shared receive queues */
	uint32_t max_msg_bytes;
	uint32_t max_rd_atomic;
	/* From so many on, a READ is faster than the same bytes in a Send, if no window has to be
	 * bound for it; 0: it never is. */
	uint32_t chunk_bytes;
	bool maps_files;     /* a peer can be given memory of files only, which it maps */
	bool has_mw;	     /* type 2 memory windows */
	bool has_send_inv;   /* SEND_INV */
	bool revokes_access; /* an invalidated key really keeps the peer out: nobody can write to
			      * that memory any more. false for shm: copy before you check */
};

enum fabric_cm_kind {
	FABRIC_CM_REQUEST,     /* listener_ctx, req, private data: accept or reject it */
	FABRIC_CM_ESTABLISHED, /* qp_ctx; at the connecting side with the private data of the accept
				*/
	FABRIC_CM_REJECTED,    /* qp_ctx; with the private data of the reject */
	FABRIC_CM_FAILED,      /* qp_ctx: not connected; 'error' is a negative errno */
	/* qp_ctx; once per established connection. 'error' is -ESHUTDOWN if the peer left in order;
	   anything else: it died or broke. */
	FABRIC_CM_DISCONNECTED,
	FABRIC_CM_UNLISTENED, /* listener_ctx: its device is gone or broke, 'error' is a negative
			       * errno: nobody can connect there any more. Once at most; unlisten is
			       * still to be called */
};

struct fabric_cm_event {
	enum fabric_cm_kind kind;
	int error;
	void *listener_ctx;
	void *qp_ctx;
	struct fabric_conn_req *req;
	uint32_t private_len;
	uint8_t private_data[FABRIC_PRIVATE_DATA_MAX];
	struct weir_peer peer; /* REQUEST and ESTABLISHED: who the other side is */
	/* REQUEST: this process has few descriptors left, so that another connection should end for
	 * this one. */
	bool is_crowded;
};

/* What a driver counted since open. Each only grows. */
struct fabric_stats {
	uint64_t doorbells; /* posts that told the device or peer something */
	uint64_t sends, recvs, writes, reads;
	uint64_t sends_direct; /* by send_direct(): each rang a doorbell, too, and is in neither of
				  those */
	uint64_t bulk_copies;  /* copies of bulk data beyond the one transfer that RDMA itself is */
	uint64_t registrations;
	uint64_t rnr; /* a message met no posted receive */
	uint64_t remote_access_errors;
	/*
	 * Connections, as the peer's user may not be connected with, be it only until what it
	 * passed is closed.
	 */
	uint64_t users_refused;
	/*
	 * Requests for connections that gave way to others (backlog.h), or were refused, before the
	 * engine saw them.
	 */
	uint64_t requests_displaced;
	uint64_t maps_refused;	  /* connections ended, as the peer's memory may not or cannot be
				     mapped */
	uint64_t protocol_errors; /* the peer's ring, control message or key table made no sense */
};

/* What ctx of queue pairs points to if messages may be delivered: see driver.h. */
struct fabric_receiver {
	/* True: the message is done with, and its receive is as if nothing had come; false: the
	 * receive is the user's, as behind a completion. */
	bool (*deliver)(struct fabric_receiver *receiver, uint64_t wr_id, uint32_t len);
};

/* A fabric_receiver is the start of something larger. A message that is delivered needs its first
 * cache line and two that begin so many bytes behind it: a driver may fetch them ahead. */
#define FABRIC_RECEIVER_LINES_AT 192u

struct fabric_dev {
	const struct fabric_ops *ops;
	struct fabric_dev_attr attr;
	struct fabric_stats stats;
	bool may_deliver; /* messages may be delivered; the user sets it before the first queue pair
			   */
	uint32_t ndelivered; /* messages that were; wraps */
};

struct fabric_srq {
	struct fabric_dev *dev;
};

struct fabric_qp {
	struct fabric_dev *dev;
	void *ctx;
	uint32_t max_inline; /* granted */
};

#endif
