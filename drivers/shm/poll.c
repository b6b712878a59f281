/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions. Queue pairs are hot or cold. Hot ones are polled each time. A cold one has nothing outstanding but receives:
 * of it only the ring's next header is looked at, of a few in turn at each poll, fetched some looks before. So one that
 * is active does not pay for those that are idle, be they a few or thousands. One alone stays hot. As many cold ones are
 * looked at as hot ones were in vain: where thousands are active now and then, the looks go where the messages are.
 *
 * Where several are hot, none gives more than a few completions at a visit: a peer that sends without a pause takes no more of the
 * engine than one with as many calls under way as that. One that is alone gives all that it has, and a cold one is
 * looked at for each such share of it: its first message waits for as many as the others would have had in their turns.
 */
#include <rte_cycles.h>

#include "shm.h"

#define COLD_SCAN  1u  /* looked at in a poll */
#define COLD_AHEAD 16u /* fetched before they are */
#define HOT_SHARE  8u  /* completions at a visit */

/* The header of a ring that nobody reads any more. */
static const _Atomic uint64_t no_message;

void shm_qp_warm(struct shm_qp *qp)
{
	struct shm_dev *dev = qp->dev;
	uint32_t place = qp->cold_place;

	qp->empty_polls = 0;
	if (qp->is_hot)
		return;
	dev->cold[place] = dev->cold[--dev->ncold];
	dev->cold[place].qp->cold_place = place;
	TAILQ_INSERT_TAIL(&dev->hot, qp, entry);
	qp->is_hot = true;
}

static void cool(struct shm_qp *qp)
{
	struct shm_dev *dev = qp->dev;

	TAILQ_REMOVE(&dev->hot, qp, entry);
	qp->is_hot = false;
	qp->cold_place = dev->ncold++;
	dev->cold[qp->cold_place].qp = qp;
	dev->cold[qp->cold_place].header =
		qp->state == QP_READY ? ring_header_at(qp->rx.cells, qp->rx.size, qp->rx.head) : &no_message;
	dev->cold[qp->cold_place].lap = qp->state == QP_READY ? qp->rx.lap : 1;
}

/* Look at the next few cold ones; those with a message are polled from now on. */
static void scan_cold(struct shm_dev *dev, uint32_t few)
{
	for (uint32_t i = 0; i < few && dev->ncold > 0; i++) {
		const struct shm_cold *cold;
		uint32_t ahead;

		if (++dev->next_cold >= dev->ncold)
			dev->next_cold = 0;
		ahead = dev->next_cold + COLD_AHEAD;
		if (ahead < dev->ncold)
			__builtin_prefetch((const void *)(uintptr_t)dev->cold[ahead].header);
		cold = &dev->cold[dev->next_cold];
		if (ring_is_of_lap(atomic_load_explicit(cold->header, memory_order_relaxed), cold->lap))
			shm_qp_warm(cold->qp);
	}
}

static uint32_t poll_done(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && qp->done_head != qp->done_tail) {
		const struct shm_done *done = &qp->done[qp->done_head++ & qp->done_mask];

		wcs[n++] = (struct fabric_wc){
			.wr_id = done->wr_id,
			.qp_ctx = qp->fabric.ctx,
			.op = (enum fabric_op)done->op,
			.status = (enum fabric_status)done->status,
			.byte_len = done->bytes,
		};
		qp->sq_used -= done->places;
	}
	return n;
}

/* All receives of a queue pair in error come back, its own only. */
static uint32_t poll_flush(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && !shm_recvs_empty(&qp->own)) {
		wcs[n++] = (struct fabric_wc){
			.wr_id = qp->own.wrs[qp->own.head++ & qp->own.mask].wr_id,
			.qp_ctx = qp->fabric.ctx,
			.op = FABRIC_RECV,
			.status = FABRIC_ERR_FLUSHED,
		};
	}
	return n;
}

/* A message waits and no receive is posted. */
static void not_ready(struct shm_qp *qp)
{
	struct shm_dev *dev = qp->dev;
	uint64_t now = rte_rdtsc();

	if (qp->rnr_since == 0) {
		qp->rnr_since = now;
		dev->fabric.stats.rnr++;
	}
	if (now - qp->rnr_since >= dev->rnr_ticks)
		shm_qp_break(qp);
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

static uint32_t poll_recv(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	struct fabric_stats *stats = &qp->dev->fabric.stats;
	struct shm_recvs *recvs = qp->recvs;
	uint32_t n = 0, word;

	while (n < max && (word = ring_peek(&qp->rx)) != 0) {
		const struct fabric_recv_wr *wr = shm_recvs_next(recvs);
		int64_t len = ring_msg_len(&qp->rx, word);
		uint32_t inv_rkey;

		if (__builtin_expect(shm_recvs_empty(recvs), 0)) {
			not_ready(qp);
			break;
		}
		qp->rnr_since = 0;
		if (__builtin_expect(len < 0, 0)) {
			stats->protocol_errors++;
			receive_failed(qp, &wcs[n++], FABRIC_ERR_FATAL);
			break;
		}
		if (__builtin_expect((uint64_t)len > wr->len, 0)) {
			receive_failed(qp, &wcs[n++], FABRIC_ERR_LOCAL_LEN);
			break;
		}
		if (__builtin_expect(wr->lkey == SHM_NO_LKEY, 0)) {
			receive_failed(qp, &wcs[n++], FABRIC_ERR_LOCAL_PROT);
			break;
		}
		inv_rkey = ring_take(&qp->rx, word, wr->addr, wr->len, (uint32_t)len);
		wcs[n] = (struct fabric_wc){
			.wr_id = wr->wr_id,
			.qp_ctx = qp->fabric.ctx,
			.op = FABRIC_RECV,
			.byte_len = (uint32_t)len,
			.inv_rkey = inv_rkey,
		};
		shm_recvs_take(recvs);
		if (__builtin_expect(inv_rkey != 0, 0) &&
		    !key_invalidate(&qp->dev->keys, inv_rkey, qp->conn_id)) {
			wcs[n++].status = FABRIC_ERR_REMOTE_ACCESS;
			stats->remote_access_errors++;
			shm_qp_break(qp);
			break;
		}
		n++;
		stats->recvs++;
		stats->recv_bytes += (uint64_t)len;
	}
	return n;
}

static uint32_t poll_qp(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	uint32_t n = 0;

	if (__builtin_expect(qp->pending_head != qp->pending_tail, 0) && qp->state != QP_CONNECTING)
		shm_run_pending(qp);
	if (qp->done_head != qp->done_tail)
		n = poll_done(qp, wcs, max);
	if (__builtin_expect(qp->state == QP_READY, 1))
		return n + poll_recv(qp, wcs + n, max - n);
	if (qp->state == QP_ERROR)
		n += poll_flush(qp, wcs + n, max - n);
	return n;
}

static bool is_idle(const struct shm_qp *qp)
{
	return qp->state != QP_CONNECTING && qp->pending_head == qp->pending_tail &&
	       qp->done_head == qp->done_tail && qp->rnr_since == 0;
}

/* One more look was in vain: of so many at all hot ones together that it is to be looked at less often? */
static bool is_long_empty(struct shm_qp *qp)
{
	const struct shm_dev *dev = qp->dev;

	return dev->nqps > 1 && ++qp->empty_polls * (dev->nqps - dev->ncold) > SHM_COLD_POLLS;
}

uint32_t shm_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_qp *qp, *next;
	uint32_t n = 0, share, vain = 0;

	if (__builtin_expect(dev->ncold > 0, 0))
		scan_cold(dev, COLD_SCAN);
	share = dev->nqps - dev->ncold > 1 ? HOT_SHARE : max;
	for (qp = TAILQ_FIRST(&dev->hot); qp && n < max; qp = next) {
		uint32_t got = poll_qp(qp, wcs + n, max - n < share ? max - n : share);

		next = TAILQ_NEXT(qp, entry);
		n += got;
		if (got > 0) {
			qp->empty_polls = 0;
			continue;
		}
		vain++;
		if (is_long_empty(qp) && is_idle(qp))
			cool(qp);
	}
	if (__builtin_expect(qp != NULL, 0)) {
		/* The rest goes first the next time. */
		while ((next = TAILQ_FIRST(&dev->hot)) != qp) {
			TAILQ_REMOVE(&dev->hot, next, entry);
			TAILQ_INSERT_TAIL(&dev->hot, next, entry);
		}
	}
	if (__builtin_expect(dev->ncold > 0, 0))
		scan_cold(dev, n / HOT_SHARE + vain);
	return n;
}
