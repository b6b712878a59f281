/* SPDX-License-Identifier: BSD-3-Clause */
/* Polls completions. An invalid completion ends its connection, or all connections of the device.
 */
#include "mlx5.h"

#include "compiler.h"

/* Stores the completion of a shared receive for the user. 'qp' is NULL if the user has destroyed
 * the queue pair. */
static void complete_shared(struct verbs_dev *dev, const struct verbs_qp *qp,
			    const struct mlx5_completion *c, struct fabric_wc *wc)
{
	struct mlx5_direct_srq *srq = dev->srq->direct;

	srq->nposted--;
	*wc = (struct fabric_wc){
		.wr_id = srq->wr_ids[c->position],
		.qp_ctx = qp ? qp->fabric.ctx : dev->srq->ctx,
		.op = FABRIC_RECV,
		.status = qp ? verbs_status_of(c->status, FABRIC_RECV) : FABRIC_ERR_FLUSHED,
	};
}

/*
 * Stores the completion of a queue pair's own work request for the user. Returns false if the user
 * has its completion already, because the work request was flushed.
 */
static hot_inline bool complete_own(struct verbs_qp *qp, const struct mlx5_completion *c,
				    struct fabric_wc *wc)
{
	struct verbs_queue *queue = c->is_recv ? &qp->rq : &qp->sq;
	uint32_t ahead = c->is_recv ? 0 : c->position - queue->retired;
	const struct verbs_wr *wr;

	if (unlikely(ahead >= queue->posted - queue->retired))
		return false;
	wr = &queue->wrs[(queue->retired + ahead) & queue->mask];
	queue->retired += ahead + 1;
	*wc = (struct fabric_wc){
		.wr_id = wr->wr_id,
		.qp_ctx = qp->fabric.ctx,
		.op = wr->op,
		.status = verbs_status_of(c->status, wr->op),
		.byte_len = wr->op == FABRIC_READ && c->status == IBV_WC_SUCCESS ? wr->len : 0,
	};
	return true;
}

/* Handles one completion, and stores the completion for the user in *wc. Returns 1, or 0 if the
 * user gets none. */
static hot_inline uint32_t handle(struct verbs_dev *dev, const struct mlx5_completion *c,
				  struct fabric_wc *wc)
{
	struct verbs_qp *qp = c->qp ? ((struct mlx5_direct_qp *)(void *)c->qp)->owner : NULL;

	if (unlikely(qp && qp->is_leaving)) {
		if (!c->is_recv)
			return 0;
		qp = NULL;
	}
	if (!qp || (c->is_recv && c->qp->has_srq))
		complete_shared(dev, qp, c, wc);
	else if (!complete_own(qp, c, wc))
		return 0;
	dev->fabric.stats.protocol_errors += c->is_write;
	if (unlikely(wc->status != FABRIC_OK)) {
		if (qp)
			verbs_failed(qp, wc->status);
	} else if (c->is_recv) {
		wc->byte_len = c->byte_len;
		wc->inv_rkey = c->has_inv ? c->inv_rkey : 0;
		dev->fabric.stats.recvs++;
	}
	return 1;
}

/* A completion queue cannot be read any more: ends all connections of the device. */
static out_of_line void lose_device(struct verbs_dev *dev)
{
	struct mlx5_device *direct = dev->direct;
	bool is_first = !atomic_load(&dev->is_dead);

	if (is_first)
		VERBS_LOG(ERROR, "mlx5: %s: an invalid completion: its connections end", dev->name);
	for (uint32_t i = 0; i <= direct->table.mask; i++)
		while (direct->table.buckets[i])
			mlx5_qp_lose(
				((struct mlx5_direct_qp *)(void *)direct->table.buckets[i])->owner);
	if (!is_first)
		return;
	verbs_lock();
	verbs_dev_died(dev);
	verbs_unlock();
}

static out_of_line void lose_qp(struct verbs_qp *qp)
{
	VERBS_LOG(ERROR, "mlx5: %s: an invalid completion: its connection ends", qp->dev->name);
	mlx5_qp_lose(qp);
}

static uint32_t poll_ring(struct verbs_dev *dev, struct verbs_cq *cq, struct fabric_wc *wcs,
			  uint32_t max)
{
	struct mlx5_device *direct = dev->direct;
	struct mlx5_cq_ring *ring = &((struct mlx5_direct_cq *)cq->direct)->ring;
	struct mlx5_srq_ring *srq =
		dev->srq ? &((struct mlx5_direct_srq *)dev->srq->direct)->ring : &direct->no_srq;
	uint32_t n = 0, before = ring->next;
	enum mlx5_poll result = MLX5_POLL_DONE;
	struct mlx5_completion c;

	while (n < max && result != MLX5_POLL_EMPTY && result != MLX5_POLL_BAD_DEVICE) {
		result = mlx5_poll_one(ring, &direct->table, srq, &c);
		if (likely(result == MLX5_POLL_DONE))
			n += handle(dev, &c, &wcs[n]);
		else if (unlikely(result == MLX5_POLL_BAD_QP))
			lose_qp(((struct mlx5_direct_qp *)(void *)c.qp)->owner);
		else if (unlikely(result == MLX5_POLL_BAD_DEVICE))
			lose_device(dev);
	}
	if (ring->next != before)
		mlx5_cq_ring_release(ring);
	verbs_cq_polled(cq, result == MLX5_POLL_EMPTY || result == MLX5_POLL_BAD_DEVICE);
	return n;
}

uint32_t mlx5_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_cq *cq;
	uint32_t n = 0;

	TAILQ_FOREACH(cq, &dev->cqs, entry)
	if (n < max)
		n += poll_ring(dev, cq, wcs + n, max - n);
	return n + verbs_poll_rest(dev, wcs + n, max - n);
}
