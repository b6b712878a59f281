/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polls completions of the driver below, converts them for the user, and holds them until they are
 * due. The completions of one queue keep their order.
 */
#include "fault_dev.h"

#include <errno.h>
#include <string.h>

static void handle_send(struct fault_qp *qp, const struct fabric_wc *wc)
{
	struct fault_swr *swr = fault_sq_at(qp, wc->wr_id);

	/*
	 * WRITEs can have started in another order than they were posted. Therefore a failure is
	 * assigned to the first work request that is not done.
	 */
	for (uint64_t position = qp->sq_completed; wc->status != FABRIC_OK; position++) {
		swr = fault_sq_at(qp, position);
		if (!swr->is_done)
			break;
	}
	swr->is_done = true;
	swr->status = wc->status;
	swr->byte_len = wc->byte_len;
	fault_sq_advance(qp);
}

static void handle_recv(struct fault_qp *qp, const struct fabric_wc *wc)
{
	struct fabric_wc its = *wc;
	bool is_fault = false;
	int how;

	its.qp_ctx = qp->base.ctx;
	if (qp->is_rq_broken)
		its.status = FABRIC_ERR_FLUSHED;
	else if (wc->status == FABRIC_OK && fault_fires(qp->dev, FAULT_RECV, &how)) {
		its.status = fault_status(qp->dev, FABRIC_RECV, how);
		is_fault = true;
	}
	if (its.status != FABRIC_OK) {
		its.byte_len = 0;
		its.inv_rkey = 0;
		qp->is_rq_broken = true;
	}
	fault_cq_push(qp, &its, 0);
	if (is_fault)
		fault_fail(qp);
}

static void handle_wc(struct fault_dev *dev, const struct fabric_wc *wc)
{
	struct fault_qp *qp = wc->qp_ctx;
	int how;

	if (dev->srq && wc->qp_ctx == dev->srq) {
		dev->cq[dev->ncq++] = fault_taken_back(dev, wc->wr_id);
		return;
	}
	if (wc->op == FABRIC_RECV)
		handle_recv(qp, wc);
	else
		handle_send(qp, wc);
	if (wc->status == FABRIC_OK && qp->is_up && !qp->is_ended &&
	    fault_fires(dev, FAULT_DROP, &how))
		fault_break(qp, ECONNRESET);
}

/* Swaps neighbouring completions of different queues, if a fault occurs. */
static void reorder(struct fault_dev *dev)
{
	for (uint32_t i = 1; i < dev->ncq; i++) {
		struct fault_cqe cqe = dev->cq[i];
		const struct fault_cqe *before = &dev->cq[i - 1];
		int how;

		if (!cqe.qp || !before->qp)
			continue;
		if (cqe.qp == before->qp &&
		    (cqe.wc.op == FABRIC_RECV) == (before->wc.op == FABRIC_RECV))
			continue;
		if (!fault_fires(dev, FAULT_REORDER, &how))
			continue;
		dev->cq[i] = dev->cq[i - 1];
		dev->cq[i - 1] = cqe;
	}
}

/*
 * Returns whether the user can get a completion in this poll. 'has_room' says whether the user's
 * array has room. If the completion has to wait, all later completions of its queue wait as well.
 */
static bool may_go(struct fault_dev *dev, const struct fault_cqe *cqe, bool has_room)
{
	uint64_t *blocked;

	if (!cqe->qp)
		return has_room;
	blocked = cqe->wc.op == FABRIC_RECV ? &cqe->qp->rq_blocked : &cqe->qp->sq_blocked;
	if (has_room && cqe->due <= dev->polls && *blocked != dev->polls)
		return true;
	*blocked = dev->polls;
	return false;
}

/*
 * Delivers the message of the first waiting completion, if it can be delivered and the previous
 * such message was not delivered. A delivery can add waiting completions. Returns whether the
 * message was delivered.
 */
static bool deliver_first(struct fault_dev *dev)
{
	struct fault_cqe cqe = dev->cq[0];
	struct fabric_recv_wr wr;
	struct fabric_receiver *receiver;

	if (!dev->base.may_deliver || !cqe.qp || !cqe.qp->is_shared || cqe.wc.op != FABRIC_RECV ||
	    cqe.wc.status != FABRIC_OK || cqe.wc.inv_rkey != 0 || !may_go(dev, &cqe, true))
		return false;
	dev->was_delivered = !dev->was_delivered;
	if (!dev->was_delivered)
		return false;
	memmove(dev->cq, dev->cq + 1, --dev->ncq * sizeof(dev->cq[0]));
	wr = fault_srq_take(dev->srq, cqe.wc.wr_id);
	dev->base.ndelivered++;
	receiver = cqe.wc.qp_ctx;
	if (receiver->deliver(receiver, cqe.wc.wr_id, cqe.wc.byte_len))
		fault_srq_put_back(dev->srq, &wr);
	return true;
}

uint32_t fault_poll(struct fabric_dev *fdev, struct fabric_wc *wcs, uint32_t max)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	struct fabric_wc its[FAULT_BURST];
	uint32_t n = dev->ops->poll(dev->inner, its, FAULT_BURST), kept = 0, delivered = 0;

	dev->polls++;
	for (uint32_t i = 0; i < n; i++)
		handle_wc(dev, &its[i]);
	fault_sync(dev);
	reorder(dev);
	while (delivered < max && dev->ncq > 0 && deliver_first(dev))
		delivered++;
	max -= delivered;
	n = 0;
	for (uint32_t i = 0; i < dev->ncq; i++) {
		struct fault_cqe *cqe = &dev->cq[i];

		if (!may_go(dev, cqe, n < max)) {
			dev->cq[kept++] = *cqe;
			continue;
		}
		wcs[n++] = cqe->wc;
		if (cqe->wc.op == FABRIC_RECV && (!cqe->qp || cqe->qp->is_shared))
			fault_srq_take(dev->srq, cqe->wc.wr_id);
		/*
		 * This frees the entries of this work request and of all earlier ones in the same
		 * queue.
		 */
		if (cqe->wc.op == FABRIC_RECV && cqe->qp)
			cqe->qp->rq_head += !cqe->qp->is_shared;
		else if (cqe->qp)
			cqe->qp->sq_head = cqe->position + 1;
	}
	dev->ncq = kept;
	return n;
}
