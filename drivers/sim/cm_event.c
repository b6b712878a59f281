/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules messages of the connection manager, and queues events that wait to be polled. */
#include "sim_world.h"

#include <stdio.h>

void sim_cm_schedule(struct sim_qp *qp, enum sim_event_kind kind, uint64_t delay_ns)
{
	const struct sim_event event = {
		.at_ns = qp->dev->world->now_ns + delay_ns, .qp = qp->number, .kind = kind};

	sim_schedule(qp->dev->world, &event);
}

void sim_cm_send(struct sim_qp *qp, enum sim_event_kind kind)
{
	sim_cm_schedule(qp, kind, sim_draw(qp->dev->world, &qp->dev->world->options.cm));
}

void sim_cm_lose(struct sim_qp *qp)
{
	sim_cm_send(qp, SIM_CM_LOST);
}

void sim_cm_add(struct sim_dev *dev, struct sim_cm_entry *entry, enum fabric_cm_kind kind)
{
	entry->event.kind = kind;
	entry->is_queued = true;
	TAILQ_INSERT_TAIL(&dev->cm, entry, entry);
	sim_wake(dev);
}

void sim_cm_remove(struct sim_dev *dev, struct sim_cm_entry *entry)
{
	if (entry->is_queued)
		TAILQ_REMOVE(&dev->cm, entry, entry);
	entry->is_queued = false;
}

struct sim_cm_entry *sim_cm_raise(struct sim_qp *qp, enum fabric_cm_kind kind, int error)
{
	struct sim_cm_entry *entry = kind == FABRIC_CM_ESTABLISHED ? &qp->established : &qp->end;

	entry->qp = qp;
	entry->event.error = error;
	entry->event.qp_ctx = qp->attr.ctx;
	snprintf(entry->event.peer.address, sizeof(entry->event.peer.address), "%s", qp->addr);
	sim_cm_add(qp->dev, entry, kind);
	sim_note(qp->dev->world, "cm-event", qp->number, kind, (uint64_t)-error);
	return entry;
}

void sim_cm_drop(struct sim_qp *qp)
{
	sim_cm_remove(qp->dev, &qp->established);
	sim_cm_remove(qp->dev, &qp->end);
}

struct sim_qp *sim_cm_connecting(struct sim_world *world, uint32_t number)
{
	struct sim_qp *qp = sim_world_qp(world, number);

	return qp && qp->state == SIM_CONNECTING ? qp : NULL;
}

void sim_cm_answer(struct sim_qp *qp, enum sim_answer kind)
{
	qp->answer = kind;
	sim_cm_send(qp, SIM_CM_ANSWER);
}
