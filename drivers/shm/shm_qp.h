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

/* A work request that waits for room in the ring. */
struct shm_pending {
	struct fabric_wr wr;
	struct fabric_sge sges[SHM_SGES_MAX];
};

/* A completion that waits for a poll. */
struct shm_done {
	uint64_t wr_id;
	uint32_t bytes;
	uint32_t entries; /* number of send queue entries that it frees */
	uint8_t op;
	uint8_t status;
};

struct shm_recvs {
	struct fabric_recv_wr *wrs; /* a power of two of elements, after one element of length 0 */
	uint32_t mask;
	/* Valid if the queue is shared: wrs + tail - 1. Each message reads this receive. */
	struct fabric_recv_wr *top;
	uint32_t head, tail;
	uint32_t max;
	/* If the queue is shared, the newest receive is taken first: the buffer that was returned
	 * last is in the cache, however many are posted. 'head' stays 0 then. */
	bool is_shared;
};

struct shm_srq {
	struct fabric_srq fabric;
	struct shm_recvs recvs;
};

/* The latest key of the peer that was looked up. All that the key opens lies in one import. The
 * cache is valid while the key's entry has the same 'seq'. */
struct shm_key_cache {
	/* Never NULL. If the cache is empty, an entry with another 'seq'. */
	const struct key_entry *entry;
	uint64_t raddr, len;
	uint8_t *at; /* where 'raddr' is mapped */
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
	bool is_switching; /* it has a mux, and one direction does not use the mux yet */
	bool is_greeted;   /* connector: HELLO was written to the mux */
	bool is_heard;	   /* the peer has the mux, and takes messages from it */
	bool delivers;	   /* messages are delivered to its ctx */
	uint32_t done_head, done_tail;
	uint32_t peer_max_msg_bytes;

	_Alignas(64) struct ring_reader rx;
	struct shm_recvs *recvs; /* receives that its messages take */
	/* A message that is shorter than this number of bytes is delivered. 0: no message is. See
	 * shm_qp_update_limits(). */
	uint32_t deliver_end;
	uint32_t small_deliver_end; /* the same for at most RING_SMALL_CELLS cells */

	_Alignas(64) struct ring_writer tx;
	/* Longest message of at most RING_SMALL_CELLS cells that goes directly to tx, without
	 * further checks. See shm_qp_update_limits(). */
	uint32_t small_max;
	uint32_t mux_small_max; /* the same limit for the mux */
	uint32_t npending;

	_Alignas(64) struct shm_key_cache key_cache;
	/* A request that is posted cannot be carried out at once: shm_qp_update_limits(). */
	bool is_blocked;
	struct shm_turn *turn; /* the turn that polls it, and that has the debt of its copies */

	_Alignas(64) uint32_t empty_polls;
	uint32_t cold_index; /* index in its turn's list of cold queue pairs */
	uint64_t rnr_since;  /* ticks; valid if is_rnr */
	/* Start of the wait for a region that the peer has not sent yet, in ticks. 0: no request
	 * waits for one. */
	uint64_t region_since;
	uint32_t region_id;  /* ID of the region that a request waits for */
	uint32_t region_key; /* key that names this region */
	/* Start of the wait for the peer's RDMA Writes, in ticks (rdma.c). 0: there is no such
	 * wait. */
	uint64_t wait_since;
	uint64_t wait_looked; /* ticks of that wait at the next check whether the peer lives */
	/* In that wait: the peer may not have seen yet that it must not access the memory. */
	bool is_unseen;
	bool is_disconnected;	/* this side has disconnected */
	bool is_stalled;	/* it waits for its peer, and is in the device's list of stalls */
	uint32_t stall_index;	/* index in that list */
	uint64_t stalled_since; /* ticks of its latest progress, or of the start of the stall */
	/* After the peer has left, rx is read up to this position. 0: the peer has not left. */
	uint64_t drain_end;
	uint64_t drain_at;	/* position of rx at its latest progress after that */
	uint64_t drain_since;	/* ticks of this progress */
	uint64_t drain_mux_end; /* the same three for its mux */
	uint64_t drain_mux_at;
	uint64_t drain_mux_since;
	struct shm_recvs own; /* empty if receives are shared */

	/* Send queue: a post takes entries, and a polled completion frees them. */
	uint32_t max_send_wr;
	uint32_t sq_used;
	uint32_t unsignalled;	     /* requests carried out since the latest signalled one */
	uint32_t pending_first;	     /* index of the oldest of npending requests */
	struct shm_pending *pending; /* max_send_wr elements, allocated when first needed */
	uint8_t *pending_inlines;    /* max_inline bytes for each element of 'pending' */
	struct shm_done *done; /* queue of done_mask + 1 elements, allocated by the first post */
	uint32_t done_mask;

	struct shm_mux_set *mux_set;
	struct shm_qp *older; /* the queue pair that had the same slot of its mux before */
	uint32_t max_msg_bytes;
	uint32_t conn_id;
	struct shm_peer *peer;
	struct fabric_conn_req *sock;
	struct shm_own_key *own_keys; /* of its own domain, by region index; NULL: none */
	LIST_ENTRY(shm_qp) owner;     /* list of queue pairs that have such keys */
	bool exposes;		      /* its peer may map regions of this device */
	TAILQ_ENTRY(shm_qp) entry;
};

_Static_assert(offsetof(struct shm_qp, rx) == 64 && offsetof(struct shm_qp, tx) == 128 &&
		       offsetof(struct shm_qp, key_cache) == 192 &&
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

/* The result of a request that is not a status: the request has to wait. */
#define SHM_NOT_YET (-1)

/* post.c */
uint32_t shm_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n);
/* Carries out the waiting requests, in order, as far as possible. Returns whether it carried out
 * any. */
bool shm_run_pending(struct shm_qp *qp);

/* send.c */
/* Carries out a Send of 'len' bytes. Returns a status and sets *bytes, or returns SHM_NOT_YET. */
int shm_send(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes);
bool shm_send_direct(struct fabric_qp *fqp, const void *data, uint32_t len);

/* Call this function after each change of a member that it reads. Then a direct Send, and the
 * delivery of a message, check only a length. */
static inline void shm_qp_update_limits(struct shm_qp *qp)
{
	bool is_clear = qp->state == QP_READY && qp->npending == 0;
	uint32_t max =
		qp->peer_max_msg_bytes < RING_SMALL_MAX ? qp->peer_max_msg_bytes : RING_SMALL_MAX;
	uint32_t small_end = RING_SMALL_MAX + 1 - (qp->rx_in_mux ? RING_TAG : 0);
	bool is_delivered = qp->delivers && qp->state == QP_READY && !qp->is_rnr &&
			    qp->done_head == qp->done_tail;

	qp->is_blocked = !is_clear;
	qp->small_max = is_clear && !qp->tx_in_mux && qp->is_hot ? max : 0;
	qp->mux_small_max = is_clear && qp->tx_in_mux && max > RING_TAG ? max - RING_TAG : 0;
	qp->deliver_end = is_delivered ? qp->rx.max_msg + 1 : 0;
	qp->small_deliver_end = qp->deliver_end < small_end ? qp->deliver_end : small_end;
}

/* rdma.c */
/* Empties the cache of the latest key. Call it before the first lookup and when an import ends. */
void shm_rdma_forget(struct shm_qp *qp);
int shm_rdma(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes);
bool shm_write_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey,
		      uint64_t raddr);
bool shm_read_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);
int shm_local_inv(struct shm_qp *qp, const struct fabric_wr *wr);
enum shm_wait { WAIT_ON, WAIT_OVER, WAIT_LATE };
/* A key or a connection has ended: begins the wait until the peer has finished its RDMA Writes. */
void shm_wait_begin(struct shm_qp *qp);
/* Returns whether the peer still carries out an RDMA Write that it began before the wait. Only
 * Writes by 'rkey' count, or Writes by any rkey if 'rkey' is 0. */
enum shm_wait shm_wait_look(struct shm_qp *qp, uint32_t rkey);

/* domain.c: these functions are called on the engine's thread */
uint32_t shm_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/* Creates the keys of a queue pair, whose conn_id is known. If the device is one domain, it creates
 * none. Returns 0, or logs and returns -ENOMEM or -ENOSPC. */
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
 * of length 0. shm_recvs_take_of() removes the receive after a message has taken it. 'is_shared'
 * equals the member of the queue, for callers that know it as a constant. */
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

/* polled.c: a hot queue pair is polled each time, and a cold one only when a message arrives. */
void shm_qp_make_hot(struct shm_qp *qp);
void shm_qp_make_cold(struct shm_qp *qp);
/* Called when a queue pair begins to wait for its peer, or stops waiting. */
void shm_stall_begin(struct shm_qp *qp);
void shm_stall_end(struct shm_qp *qp);

/* Call this function after a post on a queue pair that is not hot. */
static inline void shm_qp_kick(struct shm_qp *qp)
{
	if (!qp->tx_in_mux || qp->done_head != qp->done_tail)
		shm_qp_make_hot(qp);
}

/* mux_switch.c */
/* Continues the switch of a queue pair to its mux, which is not complete in both directions.
 * Returns whether the switch waits for room in the mux. */
bool shm_mux_step(struct shm_qp *qp);
/* Handles MUX_HELLO or MUX_SWITCH for the queue pair. At MUX_SWITCH, the queue pair's own ring is
 * empty. */
void shm_mux_on_control(struct shm_qp *qp, uint32_t kind);

/* stall.c: tries to continue a queue pair that waits. Returns whether it made progress. */
bool shm_stall_try(struct shm_qp *qp);

/* memory.c */
/* Returns a region of the peer that the engine does not have yet. If the region has arrived, it
 * takes the region over. Otherwise it asks the peer for the region. Returns NULL if the region has
 * not arrived or no memory is available. */
const struct shm_import *shm_peer_adopt(struct shm_qp *qp, uint32_t id);

/* end.c */
/* Enters ERROR. From then on, the peer may not begin to access memory by this queue pair.
 * shm_writes_have_ended() returns whether the RDMA Writes that the peer began earlier have ended.
 */
void shm_end(struct shm_qp *qp);
bool shm_writes_have_ended(struct fabric_qp *qp);
void shm_goodbye(struct fabric_qp *qp);
void shm_qp_destroy(struct fabric_qp *qp);
void shm_disconnect(struct fabric_qp *qp);
/* Enters ERROR. A completion reports this to the user, and the end of the socket reports it to the
 * peer. */
void shm_qp_break(struct shm_qp *qp);
/* Enters ERROR. An event reports this to the user. */
void shm_qp_lose(struct shm_qp *qp, int error);
/* Counts a protocol error of the peer, and loses the queue pair. */
void shm_qp_violated(struct shm_qp *qp);

#endif
