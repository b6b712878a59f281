/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts the receives of a queue pair, and shared receives with their slots. A queue pair with
 * shared receives ends in two steps: it leaves when the user destroys it, and the driver destroys
 * it later (verbs.h).
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "compiler.h"
#include "verbs.h"

/* longest wait for IBV_EVENT_QP_LAST_WQE_REACHED, which devices send much earlier */
#define LAST_WAIT_NS 2000000000u

static void srq_free(struct verbs_srq *srq)
{
	mem_free(srq->is_posted);
	mem_free(srq->wr_ids);
	mem_free(srq->free);
	mem_free(srq);
}

static struct verbs_srq *srq_alloc(uint32_t max)
{
	struct verbs_srq *srq = mem_zalloc(sizeof(*srq));

	if (!srq)
		return NULL;
	srq->free = mem_zalloc(max * sizeof(srq->free[0]));
	srq->wr_ids = mem_zalloc(max * sizeof(srq->wr_ids[0]));
	srq->is_posted = mem_zalloc(max * sizeof(srq->is_posted[0]));
	if (srq->free && srq->wr_ids && srq->is_posted)
		return srq;
	srq_free(srq);
	return NULL;
}

static void srq_destroy(struct verbs_dev *dev, struct verbs_srq *srq)
{
	ibv_destroy_srq(srq->ibv);
	if (dev->path)
		dev->path->srq_close(srq);
	srq_free(srq);
}

int verbs_srq_create(struct fabric_dev *fdev, const struct fabric_srq_attr *attr,
		     struct fabric_srq **out)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = attr->max_wr, .max_sge = 1}};
	struct verbs_srq *srq;
	int rc;

	if (attr->max_wr == 0 || attr->max_wr > fdev->attr.max_srq_wr)
		return -EINVAL;
	if (dev->own_sges)
		return -EOPNOTSUPP;
	if (dev->srq)
		return -EBUSY;
	srq = srq_alloc(attr->max_wr);
	if (!srq)
		return -ENOMEM;
	srq->ibv = ibv_create_srq(dev->pd, &init);
	if (!srq->ibv) {
		rc = -errno;
		VERBS_LOG(ERROR, "%s: no shared receive queue of %u receives: %s", dev->name,
			  attr->max_wr, strerror(-rc));
		srq_free(srq);
		return rc;
	}
	srq->fabric.dev = fdev;
	srq->ctx = attr->ctx;
	srq->max = attr->max_wr;
	for (uint32_t slot = srq->max; slot-- > 0;)
		srq->free[srq->nfree++] = slot;
	rc = dev->path ? dev->path->srq_open(srq) : 0;
	if (rc != 0) {
		srq_destroy(dev, srq);
		return rc;
	}
	dev->srq = srq;
	*out = &srq->fabric;
	return 0;
}

void verbs_srq_destroy(struct fabric_srq *fsrq)
{
	struct verbs_srq *srq = (struct verbs_srq *)fsrq;
	struct verbs_dev *dev;

	if (!srq)
		return;
	dev = (struct verbs_dev *)fsrq->dev;
	verbs_srq_reap(dev, true);
	dev->srq = NULL;
	srq_destroy(dev, srq);
}

/* Posts one chain of up to VERBS_CHAIN receives to 'queue'. Returns how many the device has
 * accepted. */
typedef uint32_t post_chain_fn(void *queue, const struct fabric_recv_wr *wrs, uint32_t n);

/* Posts receives in chains, until the device refuses one. Returns how many the device has accepted.
 */
static hot_inline uint32_t post_chains(post_chain_fn *post, void *queue,
				       const struct fabric_recv_wr *wrs, uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		uint32_t want = n - done < VERBS_CHAIN ? n - done : VERBS_CHAIN;
		uint32_t took = post(queue, wrs + done, want);

		done += took;
		if (took < want)
			break;
	}
	return done;
}

static uint32_t post_srq_chain(void *queue, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct verbs_srq *srq = queue;
	struct verbs_dev *dev = (struct verbs_dev *)srq->fabric.dev;
	struct ibv_recv_wr *bad = NULL;
	uint32_t done = n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = srq->free[srq->nfree - 1 - i];

		dev->sges[i] = (struct ibv_sge){
			.addr = (uintptr_t)wrs[i].addr, .length = wrs[i].len, .lkey = wrs[i].lkey};
		dev->recvs[i] = (struct ibv_recv_wr){
			.wr_id = VERBS_WR_RECV | slot,
			.next = i + 1 < n ? &dev->recvs[i + 1] : NULL,
			.sg_list = &dev->sges[i],
			.num_sge = 1,
		};
		srq->wr_ids[slot] = wrs[i].wr_id;
		srq->is_posted[slot] = true;
	}
	if (ibv_post_srq_recv(srq->ibv, dev->recvs, &bad) != 0 && bad)
		done = (uint32_t)(bad - dev->recvs);
	for (uint32_t i = done; i < n; i++)
		srq->is_posted[srq->free[srq->nfree - 1 - i]] = false;
	srq->nfree -= done; /* refused slots are below the accepted ones on the stack */
	return done;
}

uint32_t verbs_srq_post_recv(struct fabric_srq *fsrq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct verbs_srq *srq = (struct verbs_srq *)fsrq;

	return post_chains(post_srq_chain, srq, wrs, n < srq->nfree ? n : srq->nfree);
}

static uint32_t post_qp_chain(void *queue, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct verbs_qp *qp = queue;
	struct verbs_dev *dev = qp->dev;
	uint32_t first = qp->rq.posted;
	struct ibv_recv_wr *bad = NULL;

	for (uint32_t i = 0; i < n; i++) {
		dev->sges[i] = (struct ibv_sge){.addr = (uintptr_t)wrs[i].addr,
						.length = wrs[i].len,
						.lkey = verbs_local_key(qp, wrs[i].lkey)};
		dev->recvs[i] = (struct ibv_recv_wr){
			.wr_id = verbs_wr_id(qp, VERBS_WR_RECV, qp->rq.posted),
			.next = i + 1 < n ? &dev->recvs[i + 1] : NULL,
			.sg_list = &dev->sges[i],
			.num_sge = 1,
		};
		verbs_queue_take(&qp->rq, wrs[i].wr_id, FABRIC_RECV, 0);
	}
	if (ibv_post_recv(qp->ibv, dev->recvs, &bad) == 0 || !bad)
		return n;
	n = (uint32_t)(bad - dev->recvs);
	qp->rq.posted = first + n;
	return n;
}

uint32_t verbs_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct verbs_qp *qp = (struct verbs_qp *)fqp;

	if (unlikely(qp->srq != NULL))
		return 0;
	n = verbs_queue_room(&qp->rq, n);
	if (unlikely(qp->state == QP_ERROR)) {
		for (uint32_t i = 0; i < n; i++)
			verbs_queue_take(&qp->rq, wrs[i].wr_id, FABRIC_RECV, 0);
		return n;
	}
	return post_chains(post_qp_chain, qp, wrs, n);
}

static struct verbs_qp **bucket(struct verbs_dev *dev, uint32_t num)
{
	return &dev->by_num[num & dev->table_mask];
}

void verbs_srq_join(struct verbs_qp *qp)
{
	struct verbs_qp **first = bucket(qp->dev, qp->ibv->qp_num);

	qp->next_num = *first;
	*first = qp;
}

void verbs_srq_part(struct verbs_qp *qp)
{
	struct verbs_qp **at = bucket(qp->dev, qp->ibv->qp_num);

	while (*at != qp)
		at = &(*at)->next_num;
	*at = qp->next_num;
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void verbs_srq_leave(struct verbs_qp *qp)
{
	struct verbs_dev *dev = qp->dev;

	TAILQ_REMOVE(&dev->broken, qp, broken);
	qp->state = QP_CONNECTING; /* so that the driver flushes nothing for it */
	verbs_mw_drop(qp);
	dev->table[qp->id & dev->table_mask] = NULL;
	qp->is_leaving = true;
	qp->left_ns = monotonic_ns();
	qp->cq->is_empty = false;
	TAILQ_INSERT_TAIL(&dev->leaving, qp, leaving);
}

/*
 * Returns whether a leaving queue pair takes no more shared receives: the device has reported this
 * by its event, or no such event is expected.
 */
static bool is_done_taking(struct verbs_qp *qp)
{
	struct verbs_dev *dev = qp->dev;

	if (atomic_load(&qp->has_last) || dev->is_silent || !atomic_load(&qp->may_take) ||
	    atomic_load(&dev->is_dead))
		return true;
	if (monotonic_ns() - qp->left_ns < LAST_WAIT_NS)
		return false;
	VERBS_LOG(NOTICE,
		  "%s: it did not report that it is done with the last shared receive of a "
		  "connection (IBV_EVENT_QP_LAST_WQE_REACHED)",
		  dev->name);
	dev->is_silent = true;
	return true;
}

/* Returns whether all completions of a leaving queue pair's receives have been polled: its
 * completion queue was empty after it took the last receive. */
static bool is_back(struct verbs_qp *qp)
{
	if (!qp->saw_last) {
		if (!is_done_taking(qp))
			return false;
		qp->saw_last = true;
		qp->cq->is_empty = false;
	}
	return qp->cq->is_empty;
}

void verbs_srq_reap(struct verbs_dev *dev, bool all)
{
	struct verbs_qp *qp, *next;

	for (qp = TAILQ_FIRST(&dev->leaving); qp; qp = next) {
		next = TAILQ_NEXT(qp, leaving);
		if (!all && !is_back(qp))
			continue;
		TAILQ_REMOVE(&dev->leaving, qp, leaving);
		verbs_qp_free(qp);
	}
}

bool verbs_srq_take(struct verbs_dev *dev, const struct ibv_wc *raw, uint64_t *wr_id,
		    struct verbs_qp **out)
{
	struct verbs_srq *srq = dev->srq;
	uint32_t slot = (uint32_t)raw->wr_id & VERBS_WR_POSITION;
	struct verbs_qp *qp = *bucket(dev, raw->qp_num);

	if (!srq || slot >= srq->max || !srq->is_posted[slot])
		return false;
	srq->is_posted[slot] = false;
	srq->free[srq->nfree++] = slot;
	*wr_id = srq->wr_ids[slot];
	while (qp && qp->ibv->qp_num != raw->qp_num)
		qp = qp->next_num;
	*out = qp && !qp->is_leaving ? qp : NULL;
	return true;
}
