/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of completions that wait until they are due and the user polls them. */
#include "fault_dev.h"

void fault_cq_push(struct fault_qp *qp, const struct fabric_wc *wc, uint64_t position)
{
	struct fault_dev *dev = qp->dev;
	uint64_t *queue_due = wc->op == FABRIC_RECV ? &qp->rq_due : &qp->sq_due;
	struct fault_cqe *cqe = &dev->cq[dev->ncq++];
	int how;

	*cqe = (struct fault_cqe){.wc = *wc, .qp = qp, .position = position, .due = dev->polls};
	if (fault_fires(dev, FAULT_DELAY, &how))
		cqe->due += how >= 0 ? (uint64_t)how : 1 + fault_random(dev, FAULT_DELAY_POLLS);
	if (cqe->due < *queue_due)
		cqe->due = *queue_due;
	*queue_due = cqe->due;
}

struct fault_cqe fault_taken_back(const struct fault_dev *dev, uint64_t wr_id)
{
	return (struct fault_cqe){.wc = {.wr_id = wr_id,
					 .qp_ctx = dev->srq->ctx,
					 .op = FABRIC_RECV,
					 .status = FABRIC_ERR_FLUSHED}};
}

void fault_cq_drop(const struct fault_qp *qp, struct fault_dev *dev)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < dev->ncq; i++) {
		if (dev->cq[i].qp != qp)
			dev->cq[kept++] = dev->cq[i];
		else if (qp && qp->is_shared && dev->cq[i].wc.op == FABRIC_RECV)
			dev->cq[kept++] = fault_taken_back(dev, dev->cq[i].wc.wr_id);
	}
	dev->ncq = kept;
}
