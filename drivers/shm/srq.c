/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues of receives, of one queue pair or shared by all. A message takes its receive only when the
 * message is polled. Therefore a queue pair that ends has no receive that is taken but not
 * completed. */
#include <errno.h>

#include "alloc.h"
#include "compiler.h"
#include "shm_dev.h"
#include "shm_qp.h"

int shm_recvs_init(struct shm_recvs *recvs, uint32_t max)
{
	uint32_t size = max <= 1 ? 1 : 1u << (32 - __builtin_clz(max - 1));
	struct fabric_recv_wr *wrs = mem_zalloc((size + 1) * sizeof(wrs[0]));

	if (!wrs)
		return -ENOMEM;
	recvs->wrs = wrs + 1;
	recvs->top = wrs;
	recvs->mask = size - 1;
	recvs->max = max;
	return 0;
}

void shm_recvs_fini(struct shm_recvs *recvs)
{
	mem_free(recvs->wrs ? recvs->wrs - 1 : NULL);
}

/* Stores the range of the registration of an lkey in *base and *len. If there is no such
 * registration, the range covers no bytes. */
static void find_registration(const struct shm_dev *dev, uint32_t lkey, uint64_t *base,
			      uint64_t *len)
{
	uint32_t index = lkey - LKEY_BASE;
	bool is_there = index < SHM_REGIONS_MAX && dev->mrs[index].in_use;

	*base = is_there ? (uintptr_t)dev->mrs[index].base : UINT64_MAX;
	*len = is_there ? dev->mrs[index].len : 0;
}

static uint32_t post(const struct shm_dev *dev, struct shm_recvs *recvs,
		     const struct fabric_recv_wr *wrs, uint32_t n)
{
	uint32_t tail = recvs->tail, mask = recvs->mask, room = recvs->max - (tail - recvs->head);
	struct fabric_recv_wr *queue = recvs->wrs;
	uint64_t base = 0, len = 0; /* range of the registration of 'lkey' */
	uint32_t lkey = SHM_NO_LKEY;

	n = n < room ? n : room;
	for (uint32_t i = 0; i < n; i++) {
		struct fabric_recv_wr *wr = &queue[tail++ & mask];
		uint64_t at;

		*wr = wrs[i];
		/* Most receives belong to one registration, so that it is looked up only once. */
		if (unlikely(wr->lkey != lkey)) {
			lkey = wr->lkey;
			find_registration(dev, lkey, &base, &len);
		}
		at = (uintptr_t)wr->addr - base;
		if (unlikely(at > len || wr->len > len - at)) {
			wr->lkey = SHM_NO_LKEY; /* the receive completes with an error */
			wr->len = 0;
		}
	}
	recvs->tail = tail;
	if (recvs->is_shared)
		recvs->top = recvs->wrs + tail - 1;
	return n;
}

uint32_t shm_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct shm_qp *qp = (struct shm_qp *)fqp;

	n = post(shm_dev_of(qp), &qp->own, wrs, n);
	if (unlikely(qp->state == QP_ERROR || qp->is_rnr))
		shm_qp_make_hot(qp);
	return n;
}

uint32_t shm_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	return post((struct shm_dev *)srq->dev, &((struct shm_srq *)srq)->recvs, wrs, n);
}

/* Posts receives again by their wr_ids, the last one first. A receive that was taken stays in its
 * element until another receive is posted there, and was checked when it was first posted.
 * Therefore a wr_id is posted again only if the next element still has this receive. Returns the
 * number of receives that were posted. The function stops at the first other one. */
uint32_t shm_srq_post_again(struct fabric_srq *srq, const uint64_t *wr_ids, uint32_t n)
{
	struct shm_recvs *recvs = &((struct shm_srq *)srq)->recvs;
	const struct fabric_recv_wr *wr = recvs->wrs + recvs->tail;
	const uint64_t *id = wr_ids + n, *end;
	uint32_t room = recvs->max - recvs->tail;

	end = id - (n < room ? n : room);
	while (id != end && wr->wr_id == id[-1]) {
		wr++;
		id--;
	}
	n = (uint32_t)(wr_ids + n - id);
	recvs->tail += n;
	recvs->top += n;
	return n;
}

int shm_srq_create(struct fabric_dev *fdev, const struct fabric_srq_attr *attr,
		   struct fabric_srq **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct shm_srq *srq;

	if (attr->max_wr == 0 || attr->max_wr > SHM_SRQ_MAX)
		return -EINVAL;
	if (dev->own_domains)
		return -EOPNOTSUPP;
	if (dev->srq)
		return -EBUSY;
	srq = mem_zalloc(sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	if (shm_recvs_init(&srq->recvs, attr->max_wr) != 0) {
		mem_free(srq);
		return -ENOMEM;
	}
	srq->recvs.is_shared = true;
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
	shm_recvs_fini(&srq->recvs);
	mem_free(srq);
}
