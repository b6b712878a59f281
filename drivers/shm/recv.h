/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RECV_H
#define RECV_H

/* How a message gets into its receive, of a queue pair's own ring or of a mux. */

#include "compiler.h"
#include "shm_qp.h"

/* A message of 'len' bytes, which are -1 where it can't be, is next: whether 'wr', the next
 * receive, takes it. If not, what that means is done, and *n counts the completion that there may
 * be. */
bool shm_recv_check(struct shm_qp *qp, const struct fabric_recv_wr *wr, int64_t len,
		    struct fabric_wc *wcs, uint32_t *n);
/* A message of 'len' bytes was taken, with a key to invalidate: false when that can't be, and the
 * queue pair is at its end. */
bool shm_recv_complete(struct shm_qp *qp, const struct fabric_recv_wr *wr, struct fabric_wc *wc,
		       uint32_t len, uint32_t inv_rkey);
/* What is sure to be taken of the own ring, shown to the user one by one: how many. The next
 * message is none of these, or there is none. */
uint32_t shm_deliver_ring(struct shm_qp *qp, uint32_t max);

/* Whether a message still waits for a receive of the queue pair's own. One that has waited too long
 * ends the connection. */
bool shm_recv_is_awaited(struct shm_qp *qp);

/* From the own ring. */
uint32_t shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max);

/* The completion of a message that 'wr' took. */
static inline void recv_fill_wc(const struct shm_qp *qp, const struct fabric_recv_wr *wr,
				struct fabric_wc *wc, uint32_t len, uint32_t inv_rkey)
{
	/* One by one: as a whole it would be cleared first. */
	wc->wr_id = wr->wr_id;
	wc->qp_ctx = qp->fabric.ctx;
	wc->op = FABRIC_RECV;
	wc->status = FABRIC_OK;
	wc->byte_len = len;
	wc->inv_rkey = inv_rkey;
}

/* Of a shared queue, the receive that is next: of one that is empty, one of no length. */
static inline struct fabric_recv_wr *recv_top(const struct shm_recvs *recvs)
{
	return recvs->top;
}

/* The message in 'wr', which was next, is shown. The receive stays in its place meanwhile, and
 * those that are posted go behind it. */
static inline void recv_deliver(struct shm_qp *qp, struct fabric_recv_wr *wr, uint32_t len)
{
	struct fabric_receiver *receiver = qp->fabric.ctx;

	if (unlikely(!receiver->deliver(receiver, wr->wr_id, len))) {
		*wr = *qp->recvs->top;
		shm_recvs_take_of(qp->recvs, true);
	}
}

/* Messages of less than so many bytes may be of those of which that can be known beforehand. */
static inline uint32_t recv_fast_end(const struct shm_qp *qp)
{
	return qp->is_rnr ? 0 : qp->rx.max_msg + 1;
}

/* Whether a message of 'len' bytes, less than that, is sure to be taken by 'wr', and by whole
 * cells; else it is not known. A receive that covers no registration has no length (srq.c). */
static inline bool recv_is_fast(const struct shm_recvs *recvs, const struct fabric_recv_wr *wr,
				uint32_t len, bool is_shared)
{
	return ring_takes_whole(wr->len, len) && (is_shared || recvs->head != recvs->tail);
}

#endif
