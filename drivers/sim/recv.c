/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the receives that messages take, and wakes Sends that wait for a receive. */
#include "sim_world.h"

struct sim_rwr *sim_next_receive(struct sim_qp *qp)
{
	struct sim_srq *srq = qp->srq;

	if (qp->rq.filled < qp->rq.tail)
		return sim_rq_at(qp, qp->rq.filled);
	if (!srq || srq->head == srq->tail)
		return NULL;
	*sim_rq_at(qp, qp->rq.tail++) = (struct sim_rwr){.wr = srq->wrs[srq->head++ % srq->size]};
	return sim_rq_at(qp, qp->rq.filled);
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
