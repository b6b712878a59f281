/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts receives of queue pairs and shared receives. A posted shared receive is stored until its
 * completion is polled, so that the receive can be posted again after a delivery.
 */
#include "fault_dev.h"

#include <errno.h>
#include <stdlib.h>

int fault_srq_create(struct fabric_dev *fdev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **out)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	struct fabric_srq_attr its = *attr;
	struct fault_srq *srq = calloc(1, sizeof(*srq));
	int rc;

	if (!srq)
		return -ENOMEM;
	srq->posted = calloc(attr->max_wr, sizeof(srq->posted[0]));
	if (!srq->posted && attr->max_wr > 0) {
		free(srq);
		return -ENOMEM;
	}
	its.ctx = srq;
	rc = fault_reserve(dev, attr->max_wr, 0);
	if (rc == 0) {
		rc = dev->ops->srq_create(dev->inner, &its, &srq->inner);
		if (rc != 0)
			dev->cq_reserved -= attr->max_wr;
	}
	if (rc != 0) {
		free(srq->posted);
		free(srq);
		return rc;
	}
	srq->base.dev = fdev;
	srq->ctx = attr->ctx;
	srq->size = attr->max_wr;
	dev->srq = srq;
	*out = &srq->base;
	return 0;
}

void fault_srq_destroy(struct fabric_srq *fsrq)
{
	struct fault_srq *srq = (struct fault_srq *)fsrq;
	struct fault_dev *dev;

	if (!srq)
		return;
	dev = (struct fault_dev *)fsrq->dev;
	fault_cq_drop(NULL, dev);
	dev->cq_reserved -= srq->size;
	dev->ops->srq_destroy(srq->inner);
	dev->srq = NULL;
	free(srq->posted);
	free(srq);
}

/*
 * Posts shared receives. Returns how many were posted. The driver below frees the entry of a
 * receive when it reports the completion. This driver frees its entry when the user polls the
 * completion.
 */
static uint32_t post(struct fault_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct fault_dev *dev = (struct fault_dev *)srq->base.dev;
	uint32_t room = srq->size - srq->nposted;

	n = n < room ? n : room;
	n = n > 0 ? dev->ops->srq_post_recv(srq->inner, wrs, n) : 0;
	for (uint32_t i = 0; i < n; i++)
		srq->posted[srq->nposted++] = wrs[i];
	fault_sync(dev);
	return n;
}

uint32_t fault_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	return post((struct fault_srq *)srq, wrs, fault_prefix((struct fault_dev *)srq->dev, n));
}

struct fabric_recv_wr fault_srq_take(struct fault_srq *srq, uint64_t wr_id)
{
	struct fabric_recv_wr none = {.wr_id = wr_id};

	for (uint32_t i = 0; i < srq->nposted; i++) {
		if (srq->posted[i].wr_id == wr_id) {
			struct fabric_recv_wr wr = srq->posted[i];

			srq->posted[i] = srq->posted[--srq->nposted];
			return wr;
		}
	}
	return none;
}

void fault_srq_put_back(struct fault_srq *srq, const struct fabric_recv_wr *wr)
{
	/* there is a free entry; this fails only if the device below has died */
	post(srq, wr, 1);
}

uint32_t fault_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct fault_qp *qp = (struct fault_qp *)fqp;
	uint32_t room = qp->rq_size - (uint32_t)(qp->rq_tail - qp->rq_head);

	n = fault_prefix(qp->dev, n < room ? n : room);
	n = n > 0 ? qp->dev->ops->post_recv(qp->inner, wrs, n) : 0;
	qp->rq_tail += n;
	fault_sync(qp->dev);
	return n;
}
