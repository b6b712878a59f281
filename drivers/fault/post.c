/* SPDX-License-Identifier: BSD-3-Clause */
/* The send queue: posts work requests, passes them on to the driver below, and completes them in
 * order. */
#include "fault_dev.h"

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
			swr->status = FABRIC_ERR_FLUSHED; /* even if it is done */
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

/*
 * Returns whether a work request is a WRITE that no driver refuses. The order of such WRITEs does
 * not change how many work requests of a post are accepted.
 */
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

/* Swaps consecutive WRITEs, if a fault occurs. The contract permits that they start in another
 * order. */
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

/*
 * Returns how many of 'n' work requests are passed on to the driver below: those before the first
 * one that fails without an effect. Sets 'doomed' and 'late' if faults occur.
 */
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

/* Returns how many of the 'n' work requests of a post are accepted. A fault can reduce the number.
 */
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
		if (taken < passed) /* the doomed work request was not accepted */
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
		qp->late = UINT64_MAX; /* the late work request was not accepted */
	fault_sync(dev);
	return taken;
}
