/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the events of a world in order, and drops those that would do nothing. */
#include "sim_world.h"

/* Returns whether an event would do nothing. Time must not advance for such an event. */
static bool is_stale(const struct sim_world *world, const struct sim_event *event)
{
	const struct sim_qp *qp = sim_world_qp(world, event->qp);

	if (!qp || qp->dev->is_dead)
		return true;
	switch (event->kind) {
	case SIM_CM_REQUEST:
	case SIM_CM_ANSWER:
	case SIM_CM_TIMEOUT:
		return qp->state != SIM_CONNECTING;
	case SIM_CM_READY:
		return qp->state != SIM_ACCEPTED;
	case SIM_CM_LOST:
		return qp->is_closed || qp->end_raised;
	case SIM_FLUSH:
		return qp->sq.completed == qp->sq.tail && qp->rq.completed == qp->rq.tail;
	default:
		return qp->state == SIM_BROKEN;
	}
}

uint64_t sim_next(struct sim_world *world)
{
	while (world->nevents > 0 && is_stale(world, &world->heap[0]))
		sim_pop(world);
	return world->nevents > 0 ? world->heap[0].at_ns : UINT64_MAX;
}

static const char *const event_names[SIM_NEVENTS] = {
	[SIM_START] = "start",
	[SIM_LAND] = "land",
	[SIM_FETCH] = "fetch",
	[SIM_ARRIVE] = "arrive",
	[SIM_ACK] = "ack",
	[SIM_NAK] = "nak",
	[SIM_RECV_DONE] = "recv-done",
	[SIM_FLUSH] = "flush",
	[SIM_CM_REQUEST] = "cm-request",
	[SIM_CM_ANSWER] = "cm-answer",
	[SIM_CM_TIMEOUT] = "cm-timeout",
	[SIM_CM_READY] = "cm-ready",
	[SIM_CM_LOST] = "cm-lost",
};

static void flush(struct sim_qp *qp)
{
	sim_sources_check(qp);
	sim_qp_flush(qp);
}

bool sim_step(struct sim_world *world)
{
	struct sim_event event;
	struct sim_qp *qp;

	if (world->is_over || sim_next(world) == UINT64_MAX)
		return false;
	event = world->heap[0];
	sim_pop(world);
	if (event.at_ns > world->now_ns)
		world->now_ns = event.at_ns;
	sim_note(world, event_names[event.kind], event.qp, event.wr, event.len);
	qp = sim_world_qp(world, event.qp);
	if (event.kind >= SIM_CM_REQUEST)
		sim_cm_run(qp, event.kind);
	else if (event.kind == SIM_FLUSH)
		flush(qp);
	else if (event.kind == SIM_RECV_DONE)
		sim_rq_complete(qp);
	else
		sim_execute(qp, &event);
	return true;
}

void sim_run_until(struct sim_world *world, uint64_t until_ns)
{
	while (sim_next(world) <= until_ns && sim_step(world))
		;
	if (until_ns > world->now_ns)
		world->now_ns = until_ns;
}
