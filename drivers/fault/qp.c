/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and frees queue pairs, and reserves memory for their completions and events. */
#include "fault_dev.h"

#include <errno.h>
#include <stdlib.h>

#define EVENTS_PER_QP 2u /* ESTABLISHED, and the event of the end */

/*
 * Called for each queue pair with all its completions and events, and for a shared receive queue
 * with all its completions. Therefore adding a completion or an event never fails.
 */
int fault_reserve(struct fault_dev *dev, uint32_t ncqes, uint32_t nevents)
{
	uint32_t cq = dev->cq_reserved + ncqes;
	uint32_t events = dev->events_reserved + nevents;

	if (cq > dev->cq_size) {
		struct fault_cqe *more = realloc(dev->cq, 2 * (size_t)cq * sizeof(*more));

		if (!more)
			return -ENOMEM;
		dev->cq = more;
		dev->cq_size = 2 * cq;
	}
	if (events > dev->events_size) {
		struct fault_event *more = realloc(dev->events, 2 * (size_t)events * sizeof(*more));

		if (!more)
			return -ENOMEM;
		dev->events = more;
		dev->events_size = 2 * events;
	}
	dev->cq_reserved = cq;
	dev->events_reserved = events;
	return 0;
}

int fault_qp_create(struct fault_dev *dev, const struct fabric_qp_attr *attr, struct fault_qp **out)
{
	struct fault_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	qp->base.dev = &dev->base;
	qp->base.ctx = attr->ctx;
	qp->dev = dev;
	qp->sq_size = attr->max_send_wr;
	qp->is_shared = attr->srq != NULL;
	qp->rq_size = qp->is_shared ? 0 : attr->max_recv_wr;
	qp->max_sge = attr->max_sge;
	qp->doomed = UINT64_MAX;
	qp->late = UINT64_MAX;
	qp->sq = calloc(qp->sq_size + 1u, sizeof(*qp->sq));
	qp->scratch = calloc(qp->sq_size + 1u, sizeof(*qp->scratch));
	if (!qp->sq || !qp->scratch ||
	    fault_reserve(dev, qp->sq_size + qp->rq_size, EVENTS_PER_QP) != 0) {
		free(qp->scratch);
		free(qp->sq);
		free(qp);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&dev->qps, qp, entry);
	*out = qp;
	return 0;
}

void fault_qp_free(struct fault_qp *qp)
{
	qp->dev->cq_reserved -= qp->sq_size + qp->rq_size;
	qp->dev->events_reserved -= EVENTS_PER_QP;
	LIST_REMOVE(qp, entry);
	free(qp->scratch);
	free(qp->sq);
	free(qp);
}

struct fabric_qp *fault_inner_qp(struct fabric_qp *fqp)
{
	const struct fault_qp *qp = (const struct fault_qp *)fqp;
	bool is_clear = qp->may_send && !qp->is_broken && !qp->is_ended && !qp->is_closed &&
			qp->sq_completed == qp->sq_tail;

	return is_clear ? qp->inner : NULL;
}
