/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: what is posted, what of it is passed on, and in which order it completes. */
#include "fault_dev.h"

#include <errno.h>
#include <stdlib.h>

#define EVENTS_PER_QP 2u /* ESTABLISHED, and how it ended */

/* Room for all that the queue pair, or the shared queue, may complete, and for its events. */
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

static void complete(struct fault_qp *qp, uint64_t position)
{
	const struct fault_swr *swr = fault_sq_at(qp, position);
	const struct fabric_wc wc = {
		.wr_id = swr->wr_id,
		.qp_ctx = qp->base.ctx,
		.op = swr->op,
		.status = swr->status,
		.byte_len = swr->status == FABRIC_OK ? swr->byte_len : 0,
	};

	if (swr->status != FABRIC_OK || swr->is_signalled)
		fault_cq_push(qp, &wc, position);
}

void fault_sq_advance(struct fault_qp *qp)
{
	for (; qp->sq_completed < qp->sq_tail; qp->sq_completed++) {
		uint64_t position = qp->sq_completed;
		struct fault_swr *swr = fault_sq_at(qp, position);
		bool is_fault = false;

		if (position >= qp->doomed) {
			is_fault = position == qp->doomed && !qp->is_broken && !qp->is_closed;
			swr->status = is_fault ? qp->doomed_status : FABRIC_ERR_FLUSHED;
		} else if (!swr->is_done) {
			return;
		} else if (qp->is_broken) {
			swr->status = FABRIC_ERR_FLUSHED; /* whatever became of it */
		} else if (position == qp->late && swr->status == FABRIC_OK) {
			swr->status = qp->late_status;
			is_fault = true;
		}
		if (swr->status != FABRIC_OK)
			qp->is_broken = true;
		complete(qp, position);
		if (is_fault)
			fault_fail(qp);
	}
}

/* A WRITE that no driver refuses: what is taken of a post is a prefix in any order. */
static bool may_move(const struct fault_qp *qp, const struct fabric_wr *wr)
{
	uint64_t len = 0;

	if (wr->op != FABRIC_WRITE || wr->nsge > qp->max_sge ||
	    wr->flags & (FABRIC_INLINE | FABRIC_FENCE))
		return false;
	for (uint32_t i = 0; i < wr->nsge; i++)
		len += wr->sge[i].len;
	return len <= UINT32_MAX;
}

/* Work requests that start in another order and nobody can tell: WRITEs, one behind the other. */
static void reorder_writes(const struct fault_qp *qp, struct fabric_wr *wrs, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct fabric_wr wr = wrs[i];
		int how;

		if (!may_move(qp, &wr) || !may_move(qp, &wrs[i - 1]) ||
		    !fault_fires(qp->dev, FAULT_REORDER, &how))
			continue;
		wrs[i] = wrs[i - 1];
		wrs[i - 1] = wr;
	}
}

static void keep(struct fault_qp *qp, const struct fabric_wr *wr)
{
	*fault_sq_at(qp, qp->sq_tail++) = (struct fault_swr){
		.wr_id = wr->wr_id,
		.op = wr->op,
		.is_signalled = wr->flags & FABRIC_SIGNALED,
	};
}

/* How many of 'n' are passed on: from the first that is to fail, none. */
static uint32_t before_doom(struct fault_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int how;

		if (fault_fires(qp->dev, FAULT_WR, &how)) {
			qp->doomed = qp->sq_tail + i;
			qp->doomed_status = fault_status(qp->dev, wrs[i].op, how);
			return i;
		}
		if (qp->late == UINT64_MAX && fault_fires(qp->dev, FAULT_WR_LATE, &how)) {
			qp->late = qp->sq_tail + i;
			qp->late_status = fault_status(qp->dev, wrs[i].op, how);
		}
	}
	return n;
}

/* How much of a post is taken when a fault says so. */
uint32_t fault_prefix(struct fault_dev *dev, uint32_t n)
{
	int how;

	if (n == 0 || !fault_fires(dev, FAULT_PREFIX, &how))
		return n;
	return how >= 0 && (uint32_t)how < n ? (uint32_t)how : (uint32_t)fault_random(dev, n);
}

static uint32_t pass_send(struct fault_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	struct fault_dev *dev = qp->dev;
	uint32_t taken;

	for (uint32_t i = 0; i < n; i++) {
		qp->scratch[i] = wrs[i];
		qp->scratch[i].flags |= FABRIC_SIGNALED;
		qp->scratch[i].wr_id = qp->sq_tail + i;
	}
	reorder_writes(qp, qp->scratch, n);
	taken = dev->ops->post_send(qp->inner, qp->scratch, n);
	for (uint32_t i = 0; i < taken; i++)
		keep(qp, &wrs[i]);
	return taken;
}

uint32_t fault_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n)
{
	struct fault_qp *qp = (struct fault_qp *)fqp;
	struct fault_dev *dev = qp->dev;
	uint32_t room = qp->sq_size - (uint32_t)(qp->sq_tail - qp->sq_head), taken = 0, passed;

	if (qp->is_up && !qp->may_send && !qp->is_closed)
		return 0;
	n = fault_prefix(dev, n < room ? n : room);
	if (n == 0)
		return 0;
	if (qp->doomed == UINT64_MAX && qp->may_send && !qp->is_ended) {
		passed = before_doom(qp, wrs, n);
		taken = passed > 0 ? pass_send(qp, wrs, passed) : 0;
		if (taken < passed) /* it does not come to the one that is to fail */
			qp->doomed = UINT64_MAX;
	} else if (qp->doomed == UINT64_MAX) {
		taken = pass_send(qp, wrs, n);
	}
	if (qp->doomed != UINT64_MAX) {
		while (taken < n)
			keep(qp, &wrs[taken++]);
		fault_sq_advance(qp);
	}
	if (qp->late != UINT64_MAX && qp->late >= qp->sq_tail)
		qp->late = UINT64_MAX; /* was not taken */
	fault_sync(dev);
	return taken;
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
