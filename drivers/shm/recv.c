/* SPDX-License-Identifier: BSD-3-Clause */
#include "recv.h"

#include <errno.h>

#include <rte_cycles.h>

#include "compiler.h"
#include "shm_dev.h"

/* A message waits and no receive is posted. */
static void not_ready(struct shm_qp *qp)
{
	struct shm_dev *dev = shm_dev_of(qp);
	uint64_t now = rte_rdtsc();

	if (!qp->is_rnr) {
		qp->is_rnr = true;
		shm_qp_update_limits(qp);
		qp->rnr_since = now;
		dev->fabric.stats.rnr++;
	}
	if (now - qp->rnr_since >= dev->rnr_ticks)
		shm_qp_lose(qp, -ETIMEDOUT);
}

bool shm_recv_is_awaited(struct shm_qp *qp)
{
	if (!qp->is_rnr || qp->state != QP_READY || qp->recvs->is_shared ||
	    !shm_recvs_empty(qp->recvs))
		return false;
	not_ready(qp);
	return qp->state == QP_READY;
}

static void receive_failed(struct shm_qp *qp, struct fabric_wc *wc, enum fabric_status status)
{
	*wc = (struct fabric_wc){
		.wr_id = shm_recvs_next(qp->recvs)->wr_id,
		.qp_ctx = qp->fabric.ctx,
		.op = FABRIC_RECV,
		.status = status,
	};
	shm_recvs_take(qp->recvs);
	shm_qp_break(qp);
}

/* A message of 'len' bytes, which are -1 where it can't be, is next: whether 'wr', the next
 * receive, takes it. If not, what that means is done, and *n counts the completion that there may
 * be. */
bool shm_recv_check(struct shm_qp *qp, const struct fabric_recv_wr *wr, int64_t len,
		    struct fabric_wc *wcs, uint32_t *n)
{
	if (unlikely(shm_recvs_empty(qp->recvs))) {
		not_ready(qp);
		return false;
	}
	if (unlikely(qp->is_rnr)) {
		qp->is_rnr = false;
		shm_qp_update_limits(qp);
	}
	if (unlikely(len < 0)) {
		shm_dev_of(qp)->fabric.stats.protocol_errors++;
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_FATAL);
		return false;
	}
	if (unlikely(wr->lkey == SHM_NO_LKEY)) {
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_LOCAL_PROT);
		return false;
	}
	if (unlikely((uint64_t)len > wr->len)) {
		receive_failed(qp, &wcs[(*n)++], FABRIC_ERR_LOCAL_LEN);
		return false;
	}
	return true;
}

bool shm_recv_complete(struct shm_qp *qp, const struct fabric_recv_wr *wr, struct fabric_wc *wc,
		       uint32_t len, uint32_t inv_rkey)
{
	struct shm_dev *dev = shm_dev_of(qp);

	recv_fill_wc(qp, wr, wc, len, inv_rkey);
	shm_recvs_take(qp->recvs);
	if (inv_rkey != 0 && !key_invalidate(&dev->keys, inv_rkey, qp->conn_id)) {
		wc->status = FABRIC_ERR_REMOTE_ACCESS;
		dev->fabric.stats.remote_access_errors++;
		shm_qp_break(qp);
		return false;
	}
	dev->fabric.stats.recvs++;
	return true;
}

#define RECV_ENDS 2u /* nothing more is to be taken now */

/* The message that 'word' heads, which may be any. 1 if that gives a completion, and RECV_ENDS. */
static out_of_line uint32_t recv_slow(struct shm_qp *qp, uint32_t word, struct fabric_wc *wc)
{
	const struct fabric_recv_wr *wr = shm_recvs_next(qp->recvs);
	int64_t len = ring_msg_len(&qp->rx, word);
	uint32_t n = 0, inv_rkey;

	if (!shm_recv_check(qp, wr, len, wc, &n))
		return n | RECV_ENDS;
	inv_rkey = ring_take(&qp->rx, word, wr->addr, wr->len, (uint32_t)len);
	return shm_recv_complete(qp, wr, wc, (uint32_t)len, inv_rkey) ? 1 : 1 | RECV_ENDS;
}

/* What most messages are, in one pass, with the ring in registers. */
static hot_inline uint32_t recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max,
				     bool is_shared)
{
	struct fabric_stats *stats = &shm_dev_of(qp)->fabric.stats;
	struct shm_recvs *recvs = qp->recvs;
	const struct fabric_wc *end = wcs + max;
	struct ring_reader rx = qp->rx;
	struct fabric_wc *wc = wcs;
	uint32_t sure_end = recv_fast_end(qp);

	ring_fetch(&rx);
	while (wc != end) {
		const struct fabric_recv_wr *wr = shm_recvs_next_of(recvs, is_shared);
		/* Of any other word, or of none, more bits are left than those of a length. */
		uint64_t len = ring_next(&rx) ^ RING_VALID;
		uint32_t word, took;

		if (likely(len < sure_end && recv_is_fast(recvs, wr, (uint32_t)len, is_shared))) {
			ring_advance(&rx, ring_take_whole(&rx, rx.head, wr->addr, (uint32_t)len));
			recv_fill_wc(qp, wr, wc++, (uint32_t)len, 0);
			shm_recvs_take_of(recvs, is_shared);
			stats->recvs++;
			continue;
		}
		word = ring_look(&rx);
		if (word == 0)
			break;
		ring_reader_set(&qp->rx, &rx);
		took = recv_slow(qp, word, wc);
		wc += took & 1;
		if (took & RECV_ENDS)
			return (uint32_t)(wc - wcs);
		rx = qp->rx;
		sure_end = recv_fast_end(qp);
	}
	ring_reader_set(&qp->rx, &rx);
	return (uint32_t)(wc - wcs);
}

/* Apart from the rest of a poll, which it would have to keep its registers for. */
out_of_line uint32_t shm_deliver_ring(struct shm_qp *qp, uint32_t max)
{
	struct fabric_dev *dev = qp->fabric.dev;
	struct ring_reader *rx = &qp->rx;
	struct ring_place next = ring_place_of(rx);
	uint32_t left;

	ring_fetch(rx);
	for (left = max; left > 0; left--) {
		struct fabric_recv_wr *wr = recv_top(qp->recvs);
		uint64_t len = ring_header(next.cell) ^ next.header;

		if (likely(len < qp->small_deliver_end && next.at < rx->contig_end &&
			   wr->len >= RING_SMALL_MAX)) {
			ring_take_small(&next, 0, wr->addr, (uint32_t)len);
			rx->head = next.at;
		} else if (len < qp->deliver_end && ring_takes_whole(wr->len, (uint32_t)len)) {
			ring_take_wrap(rx, wr->addr, (uint32_t)len);
			next = ring_place_of(rx);
		} else {
			break;
		}
		recv_deliver(qp, wr, (uint32_t)len);
	}
	dev->ndelivered += max - left;
	dev->stats.recvs += max - left;
	return max - left;
}

uint32_t shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	return qp->recvs->is_shared ? recv_ring(qp, wcs, max, true)
				    : recv_ring(qp, wcs, max, false);
}
