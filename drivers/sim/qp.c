/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: what is posted, what has completed, and which places that leaves. */
#include "sim_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static void schedule_flush(struct sim_qp *qp)
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
	schedule_flush(qp);
}

void sim_goodbye(struct fabric_qp *fqp)
{
	((struct sim_qp *)fqp)->says_goodbye = true;
}

bool sim_has_left(const struct fabric_qp *fqp)
{
	return ((const struct sim_qp *)fqp)->peer_left;
}

void sim_disconnect(struct fabric_qp *fqp)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;
	struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);

	if (qp->is_closed)
		return;
	qp->is_closed = true;
	sim_note(qp->dev->world, "disconnect", qp->number, 0, 0);
	sim_cm_drop(qp);
	if (peer && !qp->dev->is_dead) {
		peer->peer_left = qp->says_goodbye;
		sim_cm_lose(peer);
	}
	sim_qp_break(qp);
}

void sim_qp_destroy(struct fabric_qp *qp)
{
	if (!qp)
		return;
	sim_disconnect(qp);
	sim_qp_free((struct sim_qp *)qp);
}

/* Both sides are over; this one at once, and the other, too, when it was its device that refused.
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
		break_both(qp, false); /* the sender is told by its own completion */
}

void sim_qp_flush(struct sim_qp *qp)
{
	for (; qp->sq.completed < qp->sq.tail; qp->sq.completed++) {
		struct sim_swr *swr = sim_sq_at(qp, qp->sq.completed);

		/* What is behind a failure has not been done, whatever became of it. */
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

static bool wr_ok(const struct sim_qp *qp, const struct fabric_wr *wr)
{
	const struct fabric_dev_attr *dev = &qp->dev->base.attr;
	uint64_t len = 0;

	if (wr->nsge > qp->attr.max_sge)
		return false;
	for (uint32_t i = 0; i < wr->nsge; i++)
		len += wr->sge[i].len;
	if (len > UINT32_MAX)
		return false;
	if (wr->flags & FABRIC_INLINE &&
	    (wr->op == FABRIC_READ || wr->op >= FABRIC_BIND_MW || len > qp->base.max_inline))
		return false;
	switch (wr->op) {
	case FABRIC_SEND:
	case FABRIC_WRITE:
		return true;
	case FABRIC_SEND_INV:
		return dev->has_send_inv;
	case FABRIC_READ:
		return qp->attr.max_rd_atomic > 0;
	case FABRIC_BIND_MW:
		return dev->has_mw && wr->mw && wr->mw->driver && wr->nsge == 1 &&
		       !(wr->access & ~(uint32_t)(FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE));
	case FABRIC_LOCAL_INV:
		return dev->has_mw;
	default:
		return false;
	}
}

static void enqueue(struct sim_qp *qp, const struct fabric_wr *wr)
{
	uint64_t position = qp->sq.tail++;
	struct sim_swr *swr = sim_sq_at(qp, position);
	uint8_t *to = qp->sq.inline_data + (position % qp->sq.size) * qp->base.max_inline;

	*swr = (struct sim_swr){.wr = *wr, .state = SIM_POSTED};
	for (uint32_t i = 0; i < wr->nsge; i++) {
		swr->sges[i] = wr->sge[i];
		swr->len += wr->sge[i].len;
	}
	swr->wr.sge = swr->sges;
	if (wr->flags & FABRIC_INLINE) {
		swr->inline_data = to;
		for (uint32_t i = 0; i < wr->nsge; to += wr->sge[i++].len)
			if (wr->sge[i].len > 0)
				memcpy(to, wr->sge[i].addr, wr->sge[i].len);
	}
	if (wr->op == FABRIC_BIND_MW) {
		swr->bind_mw = ((const struct sim_mw *)wr->mw->driver)->number;
		swr->bind_key = sim_key_make(qp->dev->world);
		wr->mw->rkey = swr->bind_key;
	}
	swr->has_sum = sim_source_sum(qp, swr, &swr->source_sum);
	sim_note(qp->dev->world, "post", qp->number, position, (uint64_t)wr->op << 32 | swr->len);
}

/* 'taken' work requests were posted: have the device go on by 'wake', or flush them. */
static uint32_t posted(struct sim_qp *qp, uint32_t taken, void (*wake)(struct sim_qp *qp))
{
	if (taken == 0)
		return 0;
	qp->dev->base.stats.doorbells++;
	if (qp->state == SIM_BROKEN)
		schedule_flush(qp);
	else
		wake(qp);
	return taken;
}

uint32_t sim_post_send(struct fabric_qp *fqp, const struct fabric_wr *wrs, uint32_t n)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;
	uint32_t taken = 0;

	if (qp->dev->is_dead || (!qp->may_send && qp->state != SIM_BROKEN))
		return 0;
	while (taken < n && qp->sq.tail - qp->sq.head < qp->sq.size && wr_ok(qp, &wrs[taken]))
		enqueue(qp, &wrs[taken++]);
	return posted(qp, taken, sim_start);
}

void sim_rq_wake_peer(struct sim_qp *qp)
{
	struct sim_world *world = qp->dev->world;
	struct sim_qp *peer = sim_world_qp(world, qp->peer);
	struct sim_event event = {.kind = SIM_ARRIVE};

	if (!peer || !peer->is_parked)
		return;
	peer->is_parked = false;
	event.at_ns = world->now_ns + 1 + sim_random_below(world, world->options.rnr_timer_ns + 1);
	event.qp = peer->number;
	event.wr = peer->parked;
	sim_schedule(world, &event);
}

uint32_t sim_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct sim_qp *qp = (struct sim_qp *)fqp;
	uint32_t taken = 0;

	if (qp->dev->is_dead || qp->srq)
		return 0;
	for (; taken < n && qp->rq.tail - qp->rq.head < qp->rq.size; taken++) {
		*sim_rq_at(qp, qp->rq.tail++) = (struct sim_rwr){.wr = wrs[taken]};
		sim_note(qp->dev->world, "post-recv", qp->number, qp->rq.tail - 1, wrs[taken].len);
	}
	return posted(qp, taken, sim_rq_wake_peer);
}
