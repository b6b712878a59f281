/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_QP_H
#define SHM_QP_H

/*
 * A queue pair of the shm driver: its rings, its receives, its send queue, and what is known of its
 * peer. All of it is the engine's thread's.
 *
 *   qp.c              creation
 *   post.c            work requests
 *   send.c            Sends
 *   rdma.c            requests that touch the peer's memory, and the end of that: keys.h checks
 *                     their keys, and a cache has those that were checked last
 *   copy.[ch]         what RDMA Reads and Writes carry
 *   domain.c          keys of one connection
 *   srq.c             queues of receives, a queue pair's or shared
 *   recv.[ch]         how messages get into their receives
 *   mux_switch.c      how a queue pair gets from its own rings to its mux
 *   polled.c          the lists of queue pairs that a poll goes through
 *   stall.c           queue pairs that wait for what their peer is to do
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

/* A completion that waits to be polled. */
struct shm_done {
	uint64_t wr_id;
	uint32_t bytes;
	uint32_t places; /* in the send queue that it gives back */
	uint8_t op;
	uint8_t status;
};

struct shm_recvs {
	struct fabric_recv_wr *wrs; /* a power of two, and one of no length in front of them */
	uint32_t mask;
	struct fabric_recv_wr *top; /* where shared: wrs + tail - 1, which each message asks for */
	uint32_t head, tail;
	uint32_t max;
	bool is_shared; /* the newest goes first: what was given back last is in the cache, however
			   many are posted. 'head' stays 0 */
};

struct shm_srq {
	struct fabric_srq fabric;
	struct shm_recvs recvs;
};

/* A key of the peer's as it was looked up last, all that it opens within one import, which stays as
 * long as its entry has that 'seq'. */
struct shm_key_cache {
	/* never NULL; of a key that is none, one with another 'seq' */
	const struct key_entry *entry;
	uint64_t raddr, len;
	uint8_t *at; /* where 'raddr' is mapped */
	uint32_t key;
	uint32_t seq;
	uint32_t access;
};

/* The first three lines are what a message in or out takes, where it has no mux; else the first
 * two. What READs and WRITEs take is the fourth. */
struct shm_qp {
	struct fabric_qp fabric;
	uint64_t mux_tag;    /* of its messages in a mux, both ways */
	struct shm_mux *mux; /* NULL: it has none */
	enum shm_qp_state state;
	bool is_hot;
	bool is_rnr;	   /* a message waits for a receive */
	bool rx_in_mux;	   /* messages come by the mux only */
	bool tx_in_mux;	   /* and go by it */
	bool is_switching; /* it has a mux, and one of them is not so yet */
	bool is_greeted;   /* a connector's: HELLO was put */
	bool is_heard;	   /* the peer takes messages in the mux */
	bool delivers;	   /* messages, which is what its ctx is for */
	uint32_t done_head, done_tail;
	uint32_t peer_max_msg_bytes;

	_Alignas(64) struct ring_reader rx;
	struct shm_recvs *recvs;    /* that its messages take */
	uint32_t deliver_end;	    /* shorter messages than this are delivered, bytes; 0: none is;
				       shm_qp_update_limits() */
	uint32_t small_deliver_end; /* the same of RING_SMALL_CELLS cells at most */

	_Alignas(64) struct ring_writer tx;
	uint32_t small_max; /* of a message of RING_SMALL_CELLS cells that goes by tx with nothing
			       else to be seen to: shm_qp_update_limits() */
	uint32_t mux_small_max; /* the same by the mux */
	uint32_t npending;

	_Alignas(64) struct shm_key_cache key_cache;
	bool is_blocked;       /* something stands in the way of what would be posted now:
				  shm_qp_update_limits() */
	struct shm_turn *turn; /* in which it is polled, and which has the debt of its copies */

	_Alignas(64) uint32_t empty_polls;
	uint32_t cold_place;   /* in its turn's list of cold ones */
	uint64_t rnr_since;    /* ticks, where is_rnr */
	uint64_t region_since; /* ticks; 0: no request waits for a region that was not announced yet
				*/
	uint32_t region_id;    /* of the region that is waited for */
	uint32_t region_key;   /* that names it */
	uint64_t wait_since;   /* ticks, while the peer's WRITEs are waited for: rdma.c; 0: they are
				  not */
	uint64_t
		wait_looked; /* ticks of it, after which it is asked again whether the peer lives */
	bool is_unseen; /* then: the peer may not have seen yet that there is something to be kept
			   off */
	bool is_disconnected;	/* by this side */
	bool is_stalled;	/* it waits for its peer, and is in the device's list of stalls */
	uint32_t stall_place;	/* in that list */
	uint64_t stalled_since; /* ticks; when it last went on, if it did */
	uint64_t drain_end; /* how far rx may still be read when the peer has left; 0: it has not */
	uint64_t drain_at;  /* where rx was then when it last went on, and ticks of that */
	uint64_t drain_since;
	uint64_t drain_mux_end; /* the same of its mux */
	uint64_t drain_mux_at;	/* where the mux was then when it last went on, and ticks of that */
	uint64_t drain_mux_since;
	struct shm_recvs own; /* empty when they are shared */

	/* send queue: places are taken at the post and given back by polled completions */
	uint32_t max_send_wr;
	uint32_t sq_used;
	uint32_t unsignalled;	     /* carried out since the latest one that completes */
	uint32_t pending_first;	     /* of npending */
	struct shm_pending *pending; /* queue of max_send_wr, made when it is first needed */
	uint8_t *pending_inlines;    /* max_inline bytes for each of them */
	struct shm_done *done;	     /* a queue of done_mask + 1, made with the first post */
	uint32_t done_mask;

	struct shm_mux_set *mux_set;
	struct shm_qp *older; /* in the same place of its mux, which it had before */
	uint32_t max_msg_bytes;
	uint32_t conn_id;
	struct shm_peer *peer;
	struct fabric_conn_req *sock;
	struct shm_own_key *own_keys; /* of its own domain, by place of the region; NULL: none */
	LIST_ENTRY(shm_qp) owner;     /* with such keys */
	bool exposes;		      /* its peer may map our regions */
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

/* How carrying out a request ended, besides a status: it has to wait. */
#define SHM_NOT_YET (-1)

/* post.c */
uint32_t shm_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n);
/* Carry out the requests that wait, in order, as far as possible. Returns whether any was. */
bool shm_run_pending(struct shm_qp *qp);

/* send.c */
/* A Send of 'len' bytes. Returns a status, with *bytes, or SHM_NOT_YET. */
int shm_send(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes);
bool shm_send_direct(struct fabric_qp *fqp, const void *data, uint32_t len);

/* Call it after each change of what it looks at. A direct Send, and the delivery of a message, then
 * check a length only. */
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
#define SHM_NOT_YET (-1)		 /* how carrying out a request ended, beside a status */
void shm_rdma_forget(struct shm_qp *qp); /* the key that was looked up last, before any is and when
					    an import ends */
int shm_rdma(struct shm_qp *qp, const struct fabric_wr *wr, uint64_t len, uint32_t *bytes);
bool shm_write_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey,
		      uint64_t raddr);
bool shm_read_direct(struct fabric_qp *fqp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);
int shm_local_inv(struct shm_qp *qp, const struct fabric_wr *wr);
enum shm_wait { WAIT_ON, WAIT_OVER, WAIT_LATE };
/* A key or a connection has ended: wait until the peer has done with what it was writing. */
void shm_wait_begin(struct shm_qp *qp);
/* Whether the peer is still in the midst of a WRITE by 'rkey' (0: by any) that it began before the
 * wait did. */
enum shm_wait shm_wait_look(struct shm_qp *qp, uint32_t rkey);

/* domain.c; on the engine's thread */
uint32_t shm_qp_rkey(const struct fabric_qp *qp, uint32_t rkey);
/* The keys of a queue pair, whose conn_id is known: none where the device is one domain. 0, -ENOMEM
 * or -ENOSPC, logged. */
int shm_domain_create(struct shm_qp *qp);
void shm_domain_destroy(struct shm_qp *qp);

/* srq.c */
int shm_recvs_init(struct shm_recvs *recvs, uint32_t max);
void shm_recvs_fini(struct shm_recvs *recvs); /* also of one that is all zeros */
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

/* The next receive, of a shared queue that is empty the one of no length; and that a message has
 * taken it. 'is_shared' is the queue's, for those who know it. */
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

/* polled.c: a queue pair is polled each time, or only when a message comes. */
void shm_qp_make_hot(struct shm_qp *qp);
void shm_qp_make_cold(struct shm_qp *qp);
/* A queue pair begins to wait for its peer, or does not wait any more. */
void shm_stall_begin(struct shm_qp *qp);
void shm_stall_end(struct shm_qp *qp);

/* Something was posted on one that is not hot. */
static inline void shm_qp_kick(struct shm_qp *qp)
{
	if (!qp->tx_in_mux || qp->done_head != qp->done_tail)
		shm_qp_make_hot(qp);
}

/* mux_switch.c */
/* A queue pair that has a mux and is not in it yet, or in one direction only: go on. Returns
 * whether that waits for room in the mux. */
bool shm_mux_step(struct shm_qp *qp);
/* MUX_HELLO came for the queue pair, or MUX_SWITCH, and its own ring is empty. */
void shm_mux_on_control(struct shm_qp *qp, uint32_t kind);

/* stall.c: try to go on with one that waits. Returns whether that was possible. */
bool shm_stall_try(struct shm_qp *qp);

/* memory.c */
/* The engine found a region that it has not got: take it over if it has come, else ask the peer for
 * it. NULL: it has not come yet, or there is no memory. */
const struct shm_import *shm_peer_adopt(struct shm_qp *qp, uint32_t id);

/* end.c */
/* To ERROR. The peer may no longer touch memory by this queue pair; what it is about to write:
 * shm_is_quiet(). */
void shm_end(struct shm_qp *qp);
bool shm_is_quiet(struct fabric_qp *qp);
void shm_goodbye(struct fabric_qp *qp);
void shm_qp_destroy(struct fabric_qp *qp);
void shm_disconnect(struct fabric_qp *qp);
/* Enter ERROR. A completion reports it to the user, and the end of the socket to the peer. */
void shm_qp_break(struct shm_qp *qp);
/* The same, but an event reports it to the user. */
void shm_qp_lose(struct shm_qp *qp, int error);
/* The peer has sent what it may not: count that, and lose the queue pair. */
void shm_qp_violated(struct shm_qp *qp);

#endif
