/* SPDX-License-Identifier: BSD-3-Clause */
/* Polls completions. In the default world, a poll that would find nothing runs a step. */
#include "sim_world.h"

/*
 * Removes the next completion from the completion queue and returns it. This also frees the queue
 * entries of its work request and of all earlier work requests in the same queue.
 */
static struct fabric_wc take_next(struct sim_dev *dev, struct sim_qp *qp)
{
	const struct sim_cqe *cqe = &dev->cq[dev->cq_head];
	struct fabric_wc wc = cqe->wc;

	if (wc.op == FABRIC_RECV && (!qp || qp->srq))
		dev->srq->used--;
	if (qp && wc.op == FABRIC_RECV)
		qp->rq.head = cqe->position + 1;
	else if (qp)
		qp->sq.head = cqe->position + 1;
	dev->cq_head = (dev->cq_head + 1) & (dev->cq_size - 1);
	dev->cq_count--;
	return wc;
}

/*
 * Delivers the message of the next completion, if it can be delivered. Of the messages that can be
 * delivered, only every second one is. Returns whether the message was delivered.
 */
static bool show_next(struct sim_dev *dev, struct sim_qp *qp)
{
	const struct sim_cqe *cqe = &dev->cq[dev->cq_head];
	struct fabric_receiver *receiver;
	struct fabric_recv_wr wr;
	struct fabric_wc wc;

	if (!dev->base.may_deliver || !qp || !qp->srq || cqe->wc.op != FABRIC_RECV ||
	    cqe->wc.status != FABRIC_OK || cqe->wc.inv_rkey != 0)
		return false;
	dev->was_shown = !dev->was_shown;
	if (!dev->was_shown)
		return false;
	wr = sim_rq_at(qp, cqe->position)->wr;
	receiver = qp->base.ctx;
	wc = take_next(dev, qp);
	dev->srq->used++; /* 'used' counts the receive during the delivery, too */
	dev->base.ndelivered++;
	if (receiver->deliver(receiver, wc.wr_id, wc.byte_len))
		sim_srq_put_back(dev->srq, &wr);
	else
		dev->srq->used--;
	return true;
}

uint32_t sim_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	uint32_t n = 0, delivered = 0;

	if (dev->world->runs_itself && dev->cq_count == 0)
		sim_step(dev->world);
	while (n + delivered < max && dev->cq_count > 0 && !dev->is_dead) {
		struct sim_qp *qp = sim_world_qp(dev->world, dev->cq[dev->cq_head].qp);

		if (n == 0 && show_next(dev, qp))
			delivered++;
		else
			wcs[n++] = take_next(dev, qp);
	}
	return n;
}
