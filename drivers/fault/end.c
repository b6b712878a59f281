/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues events until they are due, and ends connections. */
#include "fault_dev.h"

#include <errno.h>
#include <string.h>

uint64_t fault_delay(struct fault_dev *dev, enum fault_kind kind, uint32_t most)
{
	int how;

	if (!fault_fires(dev, kind, &how))
		return 0;
	return how >= 0 ? (uint64_t)how : 1 + fault_random(dev, most);
}

void fault_raise(struct fault_dev *dev, const struct fabric_cm_event *event, struct fault_qp *qp,
		 uint64_t late)
{
	struct fault_event *held = &dev->events[dev->nevents++];

	*held = (struct fault_event){.event = *event, .qp = qp};
	held->due = dev->cm_polls + late;
	if (qp) {
		held->event.qp_ctx = qp->base.ctx;
		if (held->due < qp->event_due)
			held->due = qp->event_due;
		qp->event_due = held->due;
	}
}

void fault_raise_end(struct fault_qp *qp, enum fabric_cm_kind kind, int error)
{
	const struct fabric_cm_event event = {.kind = kind, .error = error};

	if (qp->has_end || qp->is_closed)
		return;
	qp->has_end = true;
	fault_raise(qp->dev, &event, qp, fault_delay(qp->dev, FAULT_DELAY, FAULT_DELAY_POLLS));
}

void fault_end_inner(struct fault_qp *qp)
{
	if (!qp->is_ended)
		qp->dev->ops->disconnect(qp->inner);
	qp->is_ended = true;
}

void fault_break(struct fault_qp *qp, int error)
{
	fault_end_inner(qp);
	if (qp->is_up)
		fault_raise_end(qp, FABRIC_CM_DISCONNECTED, 0);
	else
		fault_raise_end(qp, FABRIC_CM_FAILED, -error);
}

void fault_fail(struct fault_qp *qp)
{
	if (fault_random(qp->dev, 2) == 0)
		fault_break(qp, ECONNRESET);
	else
		fault_end_inner(qp);
}

void fault_event_drop(struct fault_dev *dev, uint32_t i)
{
	dev->nrequests -= dev->events[i].listener != NULL;
	dev->nevents--;
	memmove(&dev->events[i], &dev->events[i + 1], (dev->nevents - i) * sizeof(dev->events[0]));
}

static void drop_events(struct fault_qp *qp)
{
	for (uint32_t i = qp->dev->nevents; i-- > 0;)
		if (qp->dev->events[i].qp == qp)
			fault_event_drop(qp->dev, i);
}

void fault_disconnect(struct fabric_qp *fqp)
{
	struct fault_qp *qp = (struct fault_qp *)fqp;

	if (qp->is_closed)
		return;
	qp->is_closed = true;
	drop_events(qp);
	fault_end_inner(qp);
}

void fault_qp_destroy(struct fabric_qp *fqp)
{
	struct fault_qp *qp = (struct fault_qp *)fqp;

	if (!qp)
		return;
	drop_events(qp);
	fault_cq_drop(qp, qp->dev);
	qp->dev->ops->qp_destroy(qp->inner);
	fault_qp_free(qp);
}

void fault_goodbye(struct fabric_qp *fqp)
{
	struct fault_qp *qp = (struct fault_qp *)fqp;

	/* If a fault has ended the connection, the peer must not learn of an orderly end. */
	if (qp->dev->ops->goodbye && !qp->is_ended)
		qp->dev->ops->goodbye(qp->inner);
}

bool fault_has_left(const struct fabric_qp *fqp)
{
	const struct fault_qp *qp = (const struct fault_qp *)fqp;

	return qp->dev->ops->has_left && !qp->is_ended && qp->dev->ops->has_left(qp->inner);
}

bool fault_writes_have_ended(struct fabric_qp *fqp)
{
	struct fault_qp *qp = (struct fault_qp *)fqp;

	return !qp->dev->ops->writes_have_ended || qp->dev->ops->writes_have_ended(qp->inner);
}
