/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts receives of a queue pair, and shared receives. A shared receive waits in the shared queue
 * until a message takes it. Then the receive moves to the receive queue of the message's queue
 * pair, and completes there like a receive of that queue.
 */
#include "sim_world.h"

#include <errno.h>
#include <stdlib.h>

int sim_srq_create(struct fabric_dev *fdev, const struct fabric_srq_attr *attr,
		   struct fabric_srq **out)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	struct sim_srq *srq;

	if (attr->max_wr == 0 || attr->max_wr > dev->base.attr.max_srq_wr)
		return -EINVAL;
	if (dev->own_domains)
		return -EOPNOTSUPP;
	if (dev->srq)
		return -EBUSY;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->wrs = calloc(attr->max_wr, sizeof(*srq->wrs));
	if (!srq->wrs || sim_cq_reserve(dev, attr->max_wr) != 0) {
		free(srq->wrs);
		free(srq);
		return -ENOMEM;
	}
	srq->base.dev = fdev;
	srq->dev = dev;
	srq->ctx = attr->ctx;
	srq->size = attr->max_wr;
	dev->srq = srq;
	*out = &srq->base;
	return 0;
}

void sim_srq_destroy(struct fabric_srq *fsrq)
{
	struct sim_srq *srq = (struct sim_srq *)fsrq;

	if (!srq)
		return;
	sim_cq_drop(srq->dev, 0);
	srq->dev->cq_reserved -= srq->size;
	srq->dev->srq = NULL;
	free(srq->wrs);
	free(srq);
}

/* Schedules the Sends of peers that wait for a shared receive. */
static void wake_peers(const struct sim_srq *srq)
{
	struct sim_world *world = srq->dev->world;

	for (uint32_t i = 1; i < world->nqps; i++)
		if (world->qps[i] && world->qps[i]->srq == srq)
			sim_rq_wake_peer(world->qps[i]);
}

void sim_srq_put_back(struct sim_srq *srq, const struct fabric_recv_wr *wr)
{
	sim_note(srq->dev->world, "put-back", 0, srq->tail, wr->len);
	srq->wrs[srq->tail++ % srq->size] = *wr;
	wake_peers(srq);
}

uint32_t sim_srq_post_recv(struct fabric_srq *fsrq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct sim_srq *srq = (struct sim_srq *)fsrq;
	struct sim_world *world = srq->dev->world;
	uint32_t taken = 0;

	if (srq->dev->is_dead)
		return 0;
	for (; taken < n && srq->used < srq->size; taken++, srq->used++) {
		sim_note(world, "post-srq", 0, srq->tail, wrs[taken].len);
		srq->wrs[srq->tail++ % srq->size] = wrs[taken];
	}
	if (taken == 0)
		return 0;
	srq->dev->base.stats.doorbells++;
	wake_peers(srq);
	return taken;
}

void sim_srq_take_back(struct sim_qp *qp)
{
	struct sim_dev *dev = qp->dev;

	for (uint64_t position = qp->rq.head; position < qp->rq.tail; position++) {
		const struct fabric_wc wc = {
			.wr_id = sim_rq_at(qp, position)->wr.wr_id,
			.qp_ctx = qp->srq->ctx,
			.op = FABRIC_RECV,
			.status = FABRIC_ERR_FLUSHED,
		};

		dev->cq[(dev->cq_head + dev->cq_count++) & (dev->cq_size - 1)] =
			(struct sim_cqe){.wc = wc};
		sim_note(dev->world, "take-back", qp->number, position, 0);
	}
}

uint32_t sim_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;
	uint32_t taken = 0;

	if (qp->dev->is_dead || qp->srq)
		return 0;
	for (; taken < n && qp->rq.tail - qp->rq.head < qp->rq.size; taken++) {
		*sim_rq_at(qp, qp->rq.tail++) = (struct sim_rwr){.wr = wrs[taken]};
		sim_note(qp->dev->world, "post-recv", qp->number, qp->rq.tail - 1, wrs[taken].len);
	}
	return sim_qp_posted(qp, taken, sim_rq_wake_peer);
}
