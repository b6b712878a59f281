/* SPDX-License-Identifier: BSD-3-Clause */
/* Late effects of work requests, and the order of completions. */
#include "late.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "umr.h"

#define FENCE_MODES 0xe0u /* the bits of 'flags' that hold the fence */

struct late {
	TAILQ_ENTRY(late) entry;
	struct work work;
};

static void complete_work(struct qp *qp, const struct work *work)
{
	struct mlx5_cqe64 cqe = work->cqe;

	if (!(work->flags & MLX5_WQE_CTRL_CQ_UPDATE) && !qp->all_signaled)
		return;
	cqe.wqe_counter = htobe16(work->block);
	qp_complete(qp, qp->send_cq, &cqe, work->opcode, MLX5_CQE_REQ, 0);
}

void late_complete(struct qp *qp, const struct work *work)
{
	struct late *late;

	if (TAILQ_EMPTY(&qp->late) && !work->is_late) {
		complete_work(qp, work);
		return;
	}
	late = aligned_alloc(_Alignof(struct late), sizeof(*late));
	if (!late)
		abort();
	late->work = *work;
	TAILQ_INSERT_TAIL(&qp->late, late, entry);
}

bool late_is_fenced(const struct qp *qp, uint8_t flags)
{
	const struct late *late;

	TAILQ_FOREACH(late, &qp->late, entry)
	{
		bool is_umr = late->work.opcode == MLX5_OPCODE_UMR;

		if (!late->work.is_late)
			continue;
		if ((flags & FENCE_MODES) == MLX5_WQE_CTRL_FENCE ||
		    ((flags & FENCE_MODES) == MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE && is_umr))
			return true;
	}
	return false;
}

/* Stores the bytes of an RDMA READ. */
static void store_data(const struct work *work)
{
	const uint8_t *from = work->data;

	for (uint32_t i = 0; i < work->to.n; from += work->to.piece[i++].len)
		memcpy(work->to.piece[i].at, from, work->to.piece[i].len);
}

/* Takes the effect of late work. Returns 0, or the syndrome of its completion. */
static uint8_t take_effect(const struct qp *qp, const struct work *work)
{
	if (!work->is_late)
		return 0;
	if (work->opcode == MLX5_OPCODE_UMR)
		return umr_execute(qp, work->bytes, work->units);
	store_data(work);
	return 0;
}

static void finish(struct qp *qp, struct late *late)
{
	const struct work *work = &late->work;
	uint8_t syndrome = 0;

	TAILQ_REMOVE(&qp->late, late, entry);
	if (qp->late_failed)
		syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	else
		syndrome = take_effect(qp, work);
	if (syndrome == 0) {
		complete_work(qp, work);
	} else {
		qp_complete_send_error(qp, syndrome, work->opcode, work->block);
		if (!qp->late_failed) {
			qp->late_failed = true;
			qp_to_error(qp);
		}
	}
	free(work->data);
	free(late);
}

bool late_finish_one(struct qp *qp)
{
	struct late *late = TAILQ_FIRST(&qp->late);

	if (!late)
		return false;
	finish(qp, late);
	while ((late = TAILQ_FIRST(&qp->late)) && !late->work.is_late)
		finish(qp, late);
	return true;
}

void late_finish_all(struct qp *qp)
{
	while (late_finish_one(qp))
		;
}

void late_drop_all(struct qp *qp)
{
	struct late *late;

	qp->late_failed = false;
	while ((late = TAILQ_FIRST(&qp->late))) {
		TAILQ_REMOVE(&qp->late, late, entry);
		free(late->work.data);
		free(late);
	}
}
