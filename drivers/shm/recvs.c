/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of receives. A message takes its receive when it is polled, so one that a queue pair has taken is never left
 * behind by it, be it shared or not.
 */
#include <errno.h>
#include <stdlib.h>

#include "shm.h"

int shm_recvs_init(struct shm_recvs *recvs, uint32_t max)
{
	uint32_t size = max <= 1 ? 1 : 1u << (32 - __builtin_clz(max - 1));

	recvs->wrs = calloc(size, sizeof(recvs->wrs[0]));
	if (!recvs->wrs)
		return -ENOMEM;
	recvs->mask = size - 1;
	recvs->max = max;
	return 0;
}

static uint32_t post(const struct shm_dev *dev, struct shm_recvs *recvs, const struct fabric_recv_wr *wrs,
		     uint32_t n)
{
	uint32_t room = recvs->max - (recvs->tail - recvs->head);

	n = n < room ? n : room;
	for (uint32_t i = 0; i < n; i++) {
		struct fabric_recv_wr *wr = &recvs->wrs[recvs->tail++ & recvs->mask];

		*wr = wrs[i];
		if (!shm_local_ok(dev, &(struct fabric_sge){wr->addr, wr->len, wr->lkey}))
			wr->lkey = SHM_NO_LKEY; /* the message that meets it fails */
	}
	return n;
}

uint32_t shm_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;

	n = post(qp->dev, &qp->own, wrs, n);
	if (__builtin_expect(qp->state == QP_ERROR, 0))
		shm_qp_warm(qp);
	return n;
}

uint32_t shm_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	return post((struct shm_dev *)srq->dev, &((struct shm_srq *)srq)->recvs, wrs, n);
}

int shm_srq_create(struct fabric_dev *fdev, const struct fabric_srq_attr *attr, struct fabric_srq **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_srq *srq;

	if (attr->max_wr == 0 || attr->max_wr > SHM_SRQ_MAX)
		return -EINVAL;
	if (dev->srq)
		return -EBUSY;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	if (shm_recvs_init(&srq->recvs, attr->max_wr) != 0) {
		free(srq);
		return -ENOMEM;
	}
	srq->fabric.dev = fdev;
	dev->srq = srq;
	*out = &srq->fabric;
	return 0;
}

void shm_srq_destroy(struct fabric_srq *fsrq)
{
	struct shm_srq *srq = (struct shm_srq *)fsrq;

	if (!srq)
		return;
	((struct shm_dev *)fsrq->dev)->srq = NULL;
	free(srq->recvs.wrs);
	free(srq);
}
