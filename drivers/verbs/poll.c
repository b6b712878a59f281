/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polls completions. The driver finds the operation of a completion by the wr_id, because a failed
 * completion of a device does not have its operation.
 */
#include "verbs.h"

#include "compiler.h"

#define BURST 32u

enum fabric_status verbs_status_of(enum ibv_wc_status status, enum fabric_op op)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return FABRIC_OK;
	case IBV_WC_LOC_LEN_ERR:
		return FABRIC_ERR_LOCAL_LEN;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
	case IBV_WC_MW_BIND_ERR:
		return FABRIC_ERR_LOCAL_PROT;
	case IBV_WC_LOC_QP_OP_ERR:
		/*
		 * rxe has this status for an unknown lkey, and for a message that is longer than
		 * its receive. The lkeys of the driver's receives are known.
		 */
		return op == FABRIC_RECV ? FABRIC_ERR_LOCAL_LEN : FABRIC_ERR_LOCAL_PROT;
	case IBV_WC_REM_ACCESS_ERR:
		return FABRIC_ERR_REMOTE_ACCESS;
	case IBV_WC_REM_INV_REQ_ERR:
		return op == FABRIC_RECV			    ? FABRIC_ERR_LOCAL_LEN
		       : op == FABRIC_SEND || op == FABRIC_SEND_INV ? FABRIC_ERR_REMOTE_LEN
								    : FABRIC_ERR_REMOTE_ACCESS;
	case IBV_WC_RETRY_EXC_ERR:
		return FABRIC_ERR_RETRY;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return FABRIC_ERR_RNR;
	case IBV_WC_WR_FLUSH_ERR:
		return FABRIC_ERR_FLUSHED;
	default:
		return FABRIC_ERR_FATAL;
	}
}

void verbs_failed(struct verbs_qp *qp, enum fabric_status status)
{
	struct fabric_stats *stats = &qp->dev->fabric.stats;

	if (status == FABRIC_ERR_REMOTE_ACCESS)
		stats->remote_access_errors++;
	if (status == FABRIC_ERR_RNR)
		stats->rnr++;
	if (qp->state == QP_ERROR)
		return;
	verbs_qp_fail(qp);
	verbs_link_break(qp);
}

/*
 * Completes the description of a message. An RDMA WRITE with immediate data uses a receive as well,
 * but its length is that of the data written elsewhere, and the buffer has no message. No version
 * of the protocol has such a WRITE, so the connection of its sender ends.
 */
static void received(struct verbs_dev *dev, struct verbs_qp *qp, const struct ibv_wc *raw,
		     struct fabric_wc *wc)
{
	if (unlikely(raw->opcode != IBV_WC_RECV)) {
		wc->status = FABRIC_ERR_FATAL;
		dev->fabric.stats.protocol_errors++;
		verbs_failed(qp, wc->status);
		return;
	}
	wc->byte_len = raw->byte_len;
	if (raw->wc_flags & dev->invalidated_flags)
		wc->inv_rkey = raw->invalidated_rkey;
	dev->fabric.stats.recvs++;
}

/* Handles the completion of a shared receive, and stores the completion for the user in *wc.
 * Returns 1, or 0 if no such receive was posted. */
static uint32_t handle_shared(struct verbs_dev *dev, const struct ibv_wc *raw, struct fabric_wc *wc)
{
	struct verbs_qp *qp;
	uint64_t wr_id;

	if (!verbs_srq_take(dev, raw, &wr_id, &qp))
		return 0;
	*wc = (struct fabric_wc){
		.wr_id = wr_id,
		.qp_ctx = qp ? qp->fabric.ctx : dev->srq->ctx,
		.op = FABRIC_RECV,
		.status = qp ? verbs_status_of(raw->status, FABRIC_RECV) : FABRIC_ERR_FLUSHED,
	};
	if (wc->status == FABRIC_OK)
		received(dev, qp, raw, wc);
	else if (qp)
		verbs_failed(qp, wc->status);
	return 1;
}

/*
 * Handles one completion of the device, and stores the completion for the user in *wc. Returns 1,
 * or 0 if the user gets none, because the queue pair is destroyed or the work request was retired.
 */
static uint32_t handle_wc(struct verbs_dev *dev, const struct ibv_wc *raw, struct fabric_wc *wc)
{
	uint32_t id = (uint32_t)(raw->wr_id >> 32);
	struct verbs_qp *qp = dev->table[id & dev->table_mask];
	struct verbs_queue *queue;
	const struct verbs_wr *wr;
	uint32_t ahead;

	if (unlikely(!qp || qp->id != id))
		return id == 0 ? handle_shared(dev, raw, wc) : 0;
	queue = raw->wr_id & VERBS_WR_RECV ? &qp->rq : &qp->sq;
	ahead = ((uint32_t)raw->wr_id - queue->retired) & VERBS_WR_POSITION;
	if (unlikely(ahead >= queue->posted - queue->retired))
		return 0; /* the work request was retired already */
	wr = &queue->wrs[(queue->retired + ahead) & queue->mask];
	*wc = (struct fabric_wc){
		.wr_id = wr->wr_id,
		.qp_ctx = qp->fabric.ctx,
		.op = wr->op,
		.status = verbs_status_of(raw->status, wr->op),
	};
	queue->retired += ahead + 1;
	if (unlikely(wc->status != FABRIC_OK)) {
		verbs_failed(qp, wc->status);
	} else if (wr->op == FABRIC_RECV) {
		received(dev, qp, raw, wc);
	} else if (wr->op == FABRIC_READ) {
		wc->byte_len = wr->len;
	}
	return 1;
}

static uint32_t poll_cq(struct verbs_dev *dev, struct verbs_cq *cq, struct fabric_wc *wcs,
			uint32_t max)
{
	uint32_t want = max < BURST ? max : BURST, n = 0;
	struct ibv_wc raw[BURST];
	int got;

	if (unlikely(cq->has_early)) {
		cq->has_early = false;
		cq->is_empty = false;
		return handle_wc(dev, &cq->early, wcs);
	}
	got = ibv_poll_cq(cq->ibv, (int)want, raw);
	for (int i = 0; i < got; i++)
		n += handle_wc(dev, &raw[i], &wcs[n]);
	verbs_cq_polled(cq, got >= 0 && (uint32_t)got < want);
	return n;
}

/*
 * Flushes work requests that were not posted to the device, after the device has completed all
 * earlier ones. Returns the number of completions in 'wcs'.
 */
static uint32_t flush(const struct verbs_qp *qp, struct verbs_queue *queue, struct fabric_wc *wcs,
		      uint32_t max)
{
	uint32_t n = 0;

	if (!verbs_can_flush(queue))
		return 0;
	while (n < max && queue->retired != queue->posted) {
		const struct verbs_wr *wr = &queue->wrs[queue->retired++ & queue->mask];

		wcs[n++] = (struct fabric_wc){
			.wr_id = wr->wr_id,
			.qp_ctx = qp->fabric.ctx,
			.op = wr->op,
			.status = FABRIC_ERR_FLUSHED,
		};
	}
	return n;
}

uint32_t verbs_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_cq *cq;
	uint32_t n = 0;

	TAILQ_FOREACH(cq, &dev->cqs, entry)
	if (n < max)
		n += poll_cq(dev, cq, wcs + n, max - n);
	return n + verbs_poll_rest(dev, wcs + n, max - n);
}

uint32_t verbs_poll_rest(struct verbs_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	struct verbs_qp *qp;
	uint32_t n = 0;

	if (unlikely(!TAILQ_EMPTY(&dev->leaving)) && max > 0)
		verbs_srq_reap(dev, false);
	TAILQ_FOREACH(qp, &dev->broken, broken)
	{
		n += flush(qp, &qp->sq, wcs + n, max - n);
		n += flush(qp, &qp->rq, wcs + n, max - n);
	}
	return n;
}
