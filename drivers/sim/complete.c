/* SPDX-License-Identifier: BSD-3-Clause */
/* Completes work requests in order, and flushes them after the queue pair has entered SIM_BROKEN.
 */
#include "sim_world.h"

void sim_qp_schedule_flush(struct sim_qp *qp)
{
	struct sim_world *world = qp->dev->world;
	const struct sim_event event = {
		.at_ns = world->now_ns + sim_draw(world, &world->options.completion),
		.qp = qp->number,
		.kind = SIM_FLUSH,
	};

	sim_schedule(world, &event);
}

void sim_qp_break(struct sim_qp *qp)
{
	if (qp->state == SIM_BROKEN)
		return;
	qp->state = SIM_BROKEN;
	sim_qp_schedule_flush(qp);
}

/*
 * Ends a connection after an error. This side enters SIM_BROKEN at once, and so does the peer with
 * 'peer_at_once', because its device has refused the work request. Both sides get LOST later.
 */
static void break_both(struct sim_qp *qp, bool peer_at_once)
{
	struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);

	sim_qp_break(qp);
	sim_cm_lose(qp);
	if (!peer)
		return;
	if (peer_at_once)
		sim_qp_break(peer);
	sim_cm_lose(peer);
}

static void push_send(struct sim_qp *qp, uint64_t position)
{
	const struct sim_swr *swr = sim_sq_at(qp, position);
	const struct fabric_wc wc = {
		.wr_id = swr->wr.wr_id,
		.qp_ctx = qp->attr.ctx,
		.op = swr->wr.op,
		.status = swr->status,
		.byte_len = swr->wr.op == FABRIC_READ ? swr->len : 0,
	};

	if (swr->status != FABRIC_OK || swr->wr.flags & FABRIC_SIGNALED)
		sim_cq_push(qp, &wc, position);
}

void sim_sq_complete(struct sim_qp *qp)
{
	while (qp->sq.completed < qp->sq.next) {
		uint64_t position = qp->sq.completed;
		const struct sim_swr *swr = sim_sq_at(qp, position);

		if (swr->state != SIM_DONE)
			return;
		qp->sq.completed++;
		push_send(qp, position);
		if (swr->status != FABRIC_OK) {
			break_both(qp, swr->status != FABRIC_ERR_LOCAL_PROT &&
					       swr->status != FABRIC_ERR_LOCAL_LEN);
			return;
		}
	}
}

static void push_recv(struct sim_qp *qp, enum fabric_status status)
{
	uint64_t position = qp->rq.completed++;
	const struct sim_rwr *rwr = sim_rq_at(qp, position);
	const struct fabric_wc wc = {
		.wr_id = rwr->wr.wr_id,
		.qp_ctx = qp->attr.ctx,
		.op = FABRIC_RECV,
		.status = status,
		.byte_len = status == FABRIC_OK ? rwr->len : 0,
		.inv_rkey = status == FABRIC_OK ? rwr->inv_rkey : 0,
	};

	sim_cq_push(qp, &wc, position);
}

void sim_rq_complete(struct sim_qp *qp)
{
	enum fabric_status status = sim_rq_at(qp, qp->rq.completed)->status;

	push_recv(qp, status);
	if (status != FABRIC_OK)
		break_both(qp, false); /* the sender's work request fails by itself */
}

void sim_qp_flush(struct sim_qp *qp)
{
	for (; qp->sq.completed < qp->sq.tail; qp->sq.completed++) {
		struct sim_swr *swr = sim_sq_at(qp, qp->sq.completed);

		/* Work requests after a failed one count as not executed, even in SIM_DONE. */
		if (swr->state != SIM_DONE || qp->sq.completed > qp->failed)
			swr->status = FABRIC_ERR_FLUSHED;
		push_send(qp, qp->sq.completed);
	}
	qp->sq.next = qp->sq.tail;
	while (qp->rq.completed < qp->rq.filled)
		push_recv(qp, sim_rq_at(qp, qp->rq.completed)->status);
	while (qp->rq.completed < qp->rq.tail)
		push_recv(qp, FABRIC_ERR_FLUSHED);
	qp->rq.filled = qp->rq.tail;
}

uint32_t sim_qp_posted(struct sim_qp *qp, uint32_t taken, void (*wake)(struct sim_qp *qp))
{
	if (taken == 0)
		return 0;
	qp->dev->base.stats.doorbells++;
	if (qp->state == SIM_BROKEN)
		sim_qp_schedule_flush(qp);
	else
		wake(qp);
	return taken;
}
