/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_QP_H
#define SHM_QP_H

/*
 * A queue pair of the shm driver: its rings, its receives, its send queue, and what it knows of its
 * peer. The engine's thread owns all of it.
 *
 *   qp.c              creates queue pairs
 *   post.c            work requests
 *   send.c            Sends
 *   rdma.c            checks the rkey of an RDMA Read or Write (a cache of one key first, then the
 *                     peer's key table, keys.h), carries the request out, and ends such accesses
 *   copy.[ch]         copies the data of RDMA Reads and Writes
 *   domain.c          keys of one connection
 *   srq.c             queues of receives: of one queue pair, or shared
 *   recv.[ch]         copies messages into their receives
 *   mux_switch.c      moves a queue pair from its own rings to its mux
 *   polled.c          the lists of queue pairs that a poll goes through
 *   stall.c           queue pairs that wait for an action of their peer
 *   end.c             the end of a connection
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "driver.h"
#include "keys.h"
#include "mux.h"
#include "ring.h"
#include "shm_wire.h"

struct shm_dev;
struct shm_import;
struct shm_peer;
struct shm_turn;
struct fabric_conn_req;

#define SHM_SGES_MAX 16u
#define SHM_WRS_MAX  16384u
#define SHM_SRQ_MAX  65536u

enum shm_qp_state { QP_CONNECTING, QP_READY, QP_ERROR };

/* A request waits for a region that the peer was asked for until it has waited for this time and
 * has been tried so often. The limits are high, because the peer's control thread, which answers,
 * might get little time of a busy CPU. The peer is often on the same CPUs, so that few tries mean
 * that it had little time, too. Only requests of this connection wait. */
#define SHM_REGION_WAIT_S    5
#define SHM_REGION_TRIES_MIN 256u

/* A work request that waits: for room in the ring, for a region of the peer, for the end of the
 * peer's RDMA Writes, or for earlier work requests. */
struct shm_pending {
	struct fabric_wr wr;
	struct fabric_sge sges[SHM_SGES_MAX];
};

/* A completion that waits until it is polled. */
struct shm_done {
	uint64_t wr_id;
	uint32_t bytes;
	uint32_t entries; /* number of send queue entries that become free when it is polled */
	uint8_t op;
	uint8_t status;
};

/* A queue of receives (srq.c). */
struct shm_recvs {
	struct fabric_recv_wr *wrs; /* mask + 1 elements; a receive of length 0 precedes them */
	uint32_t mask;
	/* Valid if the queue is shared: wrs + tail - 1, the next receive. It is a member, because
	 * each message reads it. */
	struct fabric_recv_wr *top;
	uint32_t head, tail;
	uint32_t max; /* limit of the number of posted receives */
	/* A shared queue is a stack: a message takes the newest receive, because the buffer of that
	 * receive is the most likely one to be in the cache. 'head' of a shared queue stays 0. */
	bool is_shared;
};

struct shm_srq {
	struct fabric_srq fabric;
	struct shm_recvs recvs;
};

/* The latest key of the peer that was looked up. All memory that the key opens lies in one import.
 * The cache is valid while the key's entry in the peer's key table has the same 'seq'. */
struct shm_key_cache {
	/* The key's entry. It is never NULL: an empty cache has an entry with another 'seq'. */
	const struct key_entry *entry;
	uint64_t raddr, len;
	uint8_t *at; /* address at which 'raddr' is mapped here */
	uint32_t key;
	uint32_t seq;
	uint32_t access;
};

/* A message in either direction accesses the first two cache lines, and the third line if it goes
 * by the queue pair's own ring. RDMA Reads and Writes access the fourth line. */
struct shm_qp {
	struct fabric_qp fabric;
	uint64_t mux_tag;    /* tag of its messages in a mux, in both directions */
	struct shm_mux *mux; /* NULL: no mux */
	enum shm_qp_state state;
	bool is_hot;
	bool is_rnr;	   /* a message waits for a receive */
	bool rx_in_mux;	   /* messages arrive by the mux only */
	bool tx_in_mux;	   /* messages are sent by the mux */
	bool is_switching; /* it has a mux, and at least one direction does not use the mux yet */
	bool is_greeted;   /* connector: HELLO was written to the mux */
	bool is_heard;	   /* HELLO or SWITCH has arrived: the peer takes messages from the mux */
	bool delivers;	   /* messages can be delivered to its ctx, a struct fabric_receiver */
	uint32_t done_head, done_tail;
	uint32_t peer_max_msg_bytes;

	_Alignas(64) struct ring_reader rx;
	/* receives that its messages take: 'own', or those of a shared queue */
	struct shm_recvs *recvs;
	/* A message that is shorter than this number of bytes is delivered. 0: no message is. See
	 * shm_qp_update_limits(). */
	uint32_t deliver_end;
	/* such a limit for messages of at most RING_SMALL_CELLS cells */
	uint32_t small_deliver_end;

	_Alignas(64) struct ring_writer tx;
	/* Length of the longest message of at most RING_SMALL_CELLS cells that is written directly
	 * to tx, without further checks. See shm_qp_update_limits(). */
	uint32_t small_max;
	uint32_t mux_small_max; /* such a limit for messages that are written to the mux */
	/* 'asleep' of the peer's key table; before the connection is established, a zero */
	const _Atomic uint32_t *peer_asleep;

	_Alignas(64) struct shm_key_cache key_cache;
	/* A request that is posted cannot be carried out at once: shm_qp_update_limits(). */
	bool is_blocked;
	bool makes_barriers; /* a copy of shm_dev.has_own_barrier */
	uint32_t npending;   /* number of requests in 'pending' */
	/* the turn (turn.h) of its user, which polls it and has the debt of its copies */
	struct shm_turn *turn;

	_Alignas(64) uint32_t empty_polls;
	uint32_t cold_index; /* index in its turn's list of cold queue pairs */
	uint64_t rnr_since;  /* ticks; valid if is_rnr */
	/* Start of the wait for a region that the peer has not sent yet, in ticks. 0: no request
	 * waits for a region. */
	uint64_t region_since;
	uint32_t region_tries; /* tries of the request since then */
	uint32_t region_id;    /* ID of the region that a request waits for */
	uint32_t region_key;   /* key that names this region */
	/* Start of the wait for the peer's RDMA Writes, in ticks (rdma.c). 0: there is no such
	 * wait. */
	uint64_t wait_since;
	/* length of that wait, in ticks, at which to check next whether the peer lives */
	uint64_t wait_looked;
	/* In that wait: the peer might not have seen yet that it must not access the memory. */
	bool is_unseen;
	bool is_disconnected;	/* this side has disconnected */
	bool is_stalled;	/* it waits for its peer, and is in shm_dev.stalls */
	uint32_t stall_index;	/* index in shm_dev.stalls */
	uint64_t stalled_since; /* ticks of its latest progress, or of the start of the stall */
	/* After the peer has left the connection, rx is read up to this position. 0: the peer has
	 * not left. */
	uint64_t drain_end;
	uint64_t drain_at;	/* position of rx at its latest progress after the peer left */
	uint64_t drain_since;	/* time of this progress, in ticks of drain_ticks */
	uint64_t drain_mux_end; /* the three members above, but for rx of its mux */
	uint64_t drain_mux_at;
	uint64_t drain_mux_since;
	struct shm_recvs own; /* its own receives; empty if it uses a shared queue */

	/* Send queue: a post takes entries, and a polled completion frees them. */
	uint32_t max_send_wr;
	uint32_t sq_used;	     /* entries that are not free */
	uint32_t unsignalled;	     /* requests carried out since the latest signalled one */
	uint32_t pending_first;	     /* index of the oldest of npending requests */
	struct shm_pending *pending; /* max_send_wr elements, allocated when first needed */
	uint8_t *pending_inlines;    /* max_inline bytes for each element of 'pending' */
	struct shm_done *done; /* queue of done_mask + 1 elements, allocated by the first post */
	uint32_t done_mask;

	struct shm_mux_set *mux_set;
	/* the previous queue pair in the same slot of the mux, if it is still there */
	struct shm_qp *older;
	uint32_t max_msg_bytes;
	uint32_t conn_id;
	uint32_t woken; /* the latest value of *peer_asleep for which WAKE was sent */
	struct shm_peer *peer;
	struct fabric_conn_req *sock;
	struct shm_own_key *own_keys; /* keys of its own domain, by region index; NULL: none */
	LIST_ENTRY(shm_qp) owner;     /* entry in shm_dev.own */
	bool exposes;		      /* its peer is allowed to map regions of this device */
	LIST_ENTRY(shm_qp) sender;    /* entry in shm_mux.senders, if tx_in_mux is set */
	TAILQ_ENTRY(shm_qp) entry;
};

_Static_assert(offsetof(struct shm_qp, rx) == 64 && offsetof(struct shm_qp, tx) == 128 &&
		       offsetof(struct shm_qp, key_cache) == 192 &&
		       offsetof(struct shm_qp, turn) < 256 &&
		       offsetof(struct shm_qp, empty_polls) == 256,
	       "a line each");

/* A registration's key in a queue pair's own domain. */
struct shm_own_key {
	struct key_ref ref;
	uint32_t key;
};

static inline struct shm_dev *shm_dev_of(const struct shm_qp *qp)
{
	return (struct shm_dev *)qp->fabric.dev;
}

/* qp.c */
int shm_qp_create(struct shm_dev *dev, const struct fabric_qp_attr *attr, struct shm_qp **qp);
void shm_qp_free(struct shm_qp *qp);
void shm_qp_set_rings(struct shm_qp *qp, void *rings, uint32_t ring_bytes, bool is_connector);

/* A result of a work request besides the values of enum fabric_status: the request has to wait. */
#define SHM_NOT_YET (-1)

/* post.c */
uint32_t shm_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n);
/* Carries out the waiting requests in order, until one of them still has to wait, or until the
 * user's turn permits no more (turn.h). Returns whether it carried out any. */
bool shm_run_pending(struct shm_qp *qp);

/* send.c */
/*
 * Carries out a Send of 'len' bytes. Returns one of these values:
 *
 * - FABRIC_OK: the message was sent, and *bytes is set to 'len'.
 * - SHM_NOT_YET: the ring has no room yet.
 * - FABRIC_ERR_REMOTE_LEN: the message is longer than the peer receives.
 * - FABRIC_ERR_FATAL: the peer has published an impossible head of the ring.
 */
int shm_send(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes);
bool shm_send_direct(struct fabric_qp *fqp, const void *data, uint32_t len);

/* Computes limits of lengths from the state of a queue pair, so that a direct Send, and the
 * delivery of a message, check only a length. It is called after each change of a member that it
 * reads. */
static inline void shm_qp_update_limits(struct shm_qp *qp)
{
	bool is_clear = qp->state == QP_READY && qp->npending == 0;
	bool is_fast = is_clear && !qp->makes_barriers;
	uint32_t max =
		qp->peer_max_msg_bytes < RING_SMALL_MAX ? qp->peer_max_msg_bytes : RING_SMALL_MAX;
	uint32_t small_end = RING_SMALL_MAX + 1 - (qp->rx_in_mux ? RING_TAG : 0);
	bool is_delivered = qp->delivers && qp->state == QP_READY && !qp->is_rnr &&
			    qp->done_head == qp->done_tail;

	qp->is_blocked = !is_clear;
	qp->small_max = is_fast && !qp->tx_in_mux && qp->is_hot ? max : 0;
	qp->mux_small_max = is_fast && qp->tx_in_mux && max > RING_TAG ? max - RING_TAG : 0;
	qp->deliver_end = is_delivered ? qp->rx.max_msg + 1 : 0;
	qp->small_deliver_end = qp->deliver_end < small_end ? qp->deliver_end : small_end;
}

/* wake.c */
/* Returns where a queue pair reads whether its peer sleeps. */
static inline const _Atomic uint32_t *shm_peer_asleep(const struct shm_qp *qp)
{
	return qp->tx_in_mux ? qp->mux->peer_asleep : qp->peer_asleep;
}

/* Sends WAKE to a peer whose engine's thread sleeps, unless it was sent for this sleep already. */
void shm_wake_sleeper(struct shm_qp *qp);

/* Is called after a message was written to a ring. Wakes the thread of the peer's engine if it
 * sleeps. 'peer_asleep' is shm_peer_asleep(). While the thread does not sleep, this costs a load
 * and a branch. The load must be after the store of the message. The peer makes the barrier for
 * that, when it is armed (wake.c), so that only the compiler must keep the order here. */
static inline void shm_wake_peer(struct shm_qp *qp, const _Atomic uint32_t *peer_asleep)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(peer_asleep, memory_order_relaxed) != 0))
		shm_wake_sleeper(qp);
}

/* Works like shm_wake_peer(), but if peers cannot make a barrier for this process, this function
 * makes it. */
void shm_wake_peer_any(struct shm_qp *qp);

/* rdma.c */
/* Empties the cache of the latest key. It is called before the first lookup of a key, and when an
 * import ends. */
void shm_rdma_forget(struct shm_qp *qp);
int shm_rdma(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes);
bool shm_write_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey,
		      uint64_t raddr);
bool shm_read_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);
int shm_local_inv(struct shm_qp *qp, const struct fabric_wr *wr);
enum shm_wait { WAIT_ON, WAIT_OVER, WAIT_LATE };
/* Begins the wait until the peer has finished its RDMA Writes. It is called after a key or a
 * connection has ended. */
void shm_wait_begin(struct shm_qp *qp);
/*
 * Checks whether the peer still carries out an RDMA Write that it began before the wait. Only
 * Writes by 'rkey' count, or Writes by any rkey if 'rkey' is 0. Returns one of these values:
 *
 * - WAIT_ON: the peer is busy with such a Write, or might be.
 * - WAIT_OVER: there is no such Write, or the peer's process has ended.
 * - WAIT_LATE: the peer has been busy for longer than the time limit.
 */
enum shm_wait shm_wait_look(struct shm_qp *qp, uint32_t rkey);

/* domain.c: these functions are called on the engine's thread */
uint32_t shm_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/* Creates the keys of a queue pair, whose conn_id is known. It creates none if the device is one
 * domain, or if the queue pair exposes nothing. Returns 0, returns -ENOMEM, or logs that the key
 * table is full and returns -ENOSPC. */
int shm_domain_create(struct shm_qp *qp);
void shm_domain_destroy(struct shm_qp *qp);

/* srq.c */
int shm_recvs_init(struct shm_recvs *recvs, uint32_t max);
void shm_recvs_fini(struct shm_recvs *recvs); /* accepts a structure of zeros, too */
uint32_t shm_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n);
int shm_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
		   struct fabric_srq **srq);
void shm_srq_destroy(struct fabric_srq *srq);
uint32_t shm_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);
uint32_t shm_srq_post_again(struct fabric_srq *srq, const uint64_t *wr_ids, uint32_t n);

static inline bool shm_recvs_empty(const struct shm_recvs *recvs)
{
	return recvs->head == recvs->tail;
}

/* shm_recvs_next_of() returns the next receive. If a shared queue is empty, it returns the receive
 * of length 0. shm_recvs_take_of() removes this receive from the queue, when a message takes it.
 * 'is_shared' equals the member of the queue, for callers that know its value as a constant. */
static inline const struct fabric_recv_wr *shm_recvs_next_of(const struct shm_recvs *recvs,
							     bool is_shared)
{
	return is_shared ? recvs->top : &recvs->wrs[recvs->head & recvs->mask];
}

static inline void shm_recvs_take_of(struct shm_recvs *recvs, bool is_shared)
{
	recvs->head += !is_shared;
	recvs->tail -= is_shared;
	recvs->top -= is_shared;
}

static inline const struct fabric_recv_wr *shm_recvs_next(const struct shm_recvs *recvs)
{
	return shm_recvs_next_of(recvs, recvs->is_shared);
}

static inline void shm_recvs_take(struct shm_recvs *recvs)
{
	shm_recvs_take_of(recvs, recvs->is_shared);
}

/* polled.c: each poll polls the hot queue pairs, and a cold one only after a message has arrived.
 */
void shm_qp_make_hot(struct shm_qp *qp);
void shm_qp_make_cold(struct shm_qp *qp);
/* Add a queue pair that begins to wait for its peer to shm_dev.stalls, and remove one that stops
 * waiting. */
void shm_stall_begin(struct shm_qp *qp);
void shm_stall_end(struct shm_qp *qp);

/* Handles a post on a cold queue pair: makes it hot, unless it sends by its mux and has no
 * completion to be polled. */
static inline void shm_qp_kick(struct shm_qp *qp)
{
	if (!qp->tx_in_mux || qp->done_head != qp->done_tail)
		shm_qp_make_hot(qp);
}

/* mux_switch.c */
/* Continues the switch of a queue pair to its mux, which is not complete in both directions.
 * Returns true if the switch waits for room in the mux. */
bool shm_mux_step(struct shm_qp *qp);
/* Handles MUX_HELLO or MUX_SWITCH for the queue pair. Before MUX_SWITCH, the caller has taken all
 * messages of the queue pair's own ring. */
void shm_mux_on_control(struct shm_qp *qp, uint32_t kind);

/* stall.c: tries to continue a queue pair that waits. Returns true if a request was carried out, or
 * if nothing waits any more. */
bool shm_stall_try(struct shm_qp *qp);

/* memory.c */
/* Returns the import of the peer's region 'id', which the engine's thread does not have yet. If the
 * control thread has mapped the region, the function takes the import over. Otherwise it has the
 * control thread ask the peer for the region, and returns NULL. It also returns NULL if no memory
 * is available. */
const struct shm_import *shm_peer_adopt(struct shm_qp *qp, uint32_t id);

/* end.c */
/* Enters ERROR. From then on, the peer must not begin to access memory by this queue pair.
 * shm_writes_have_ended() returns whether the RDMA Writes that the peer began earlier have ended.
 */
void shm_end(struct shm_qp *qp);
bool shm_writes_have_ended(struct fabric_qp *qp);
void shm_goodbye(struct fabric_qp *qp);
void shm_qp_destroy(struct fabric_qp *qp);
void shm_disconnect(struct fabric_qp *qp);
/* Enters ERROR, and disconnects. Completions report the error to the engine, and the end of the
 * socket reports it to the peer. */
void shm_qp_break(struct shm_qp *qp);
/* Enters ERROR. An event with 'error' reports this to the engine. */
void shm_qp_lose(struct shm_qp *qp, int error);
/* Counts a protocol error of the peer, and loses the queue pair. */
void shm_qp_violated(struct shm_qp *qp);

#endif
