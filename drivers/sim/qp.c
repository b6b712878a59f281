/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and frees queue pairs. */
#include "sim_world.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int sim_qp_create(struct sim_dev *dev, const struct fabric_qp_attr *attr, struct sim_qp **out)
{
	const struct fabric_dev_attr *limits = &dev->base.attr;
	struct sim_qp *qp;

	if (attr->max_send_wr > limits->max_send_wr || attr->max_recv_wr > limits->max_recv_wr ||
	    attr->max_sge > limits->max_sge || attr->max_msg_bytes > limits->max_msg_bytes)
		return -EINVAL;
	if (dev->qps_max && dev->nqps >= dev->qps_max)
		return -ENOSPC;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->dev = dev;
	qp->attr = *attr;
	qp->attr.max_rd_atomic = least(attr->max_rd_atomic, limits->max_rd_atomic);
	qp->failed = UINT64_MAX;
	qp->sq.size = attr->max_send_wr;
	qp->srq = (struct sim_srq *)attr->srq;
	qp->rq.size = qp->srq ? qp->srq->size : attr->max_recv_wr;
	qp->base.dev = &dev->base;
	qp->base.ctx = attr->ctx;
	qp->base.max_inline = least(attr->max_inline, limits->max_inline);
	qp->sq.wrs = calloc(qp->sq.size + 1u, sizeof(*qp->sq.wrs));
	qp->rq.wrs = calloc(qp->rq.size + 1u, sizeof(*qp->rq.wrs));
	qp->sq.inline_data = calloc(qp->sq.size + 1u, qp->base.max_inline + 1u);
	if (!qp->sq.wrs || !qp->rq.wrs || !qp->sq.inline_data)
		goto no_memory;
	qp->ncqes = qp->sq.size + (qp->srq ? 0 : qp->rq.size);
	if (sim_cq_reserve(dev, qp->ncqes) != 0)
		goto no_memory;
	qp->number = sim_world_add_qp(dev->world, qp);
	if (qp->number == 0)
		goto unreserve;
	if (sim_domain_create(qp) != 0)
		goto forget;
	dev->nqps++;
	*out = qp;
	return 0;

forget:
	sim_domain_destroy(qp);
	dev->world->qps[qp->number] = NULL;
unreserve:
	dev->cq_reserved -= qp->ncqes;
no_memory:
	free(qp->sq.inline_data);
	free(qp->rq.wrs);
	free(qp->sq.wrs);
	free(qp);
	return -ENOMEM;
}

void sim_qp_free(struct sim_qp *qp)
{
	struct sim_dev *dev = qp->dev;

	sim_cq_drop(dev, qp->number);
	if (qp->srq)
		sim_srq_take_back(qp);
	sim_cm_drop(qp);
	sim_windows_of_qp_end(qp);
	sim_domain_destroy(qp);
	dev->world->qps[qp->number] = NULL;
	dev->nqps--;
	dev->cq_reserved -= qp->ncqes;
	free(qp->sq.inline_data);
	free(qp->rq.wrs);
	free(qp->sq.wrs);
	free(qp);
}
