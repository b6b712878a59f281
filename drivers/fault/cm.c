/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Establishes connections and polls events. The driver below reports events, and this driver adds
 * an event when a fault ends a connection. All events wait in one list until they are due, and the
 * events of one queue pair keep their order. Each queue pair has only one of FAILED, REJECTED and
 * DISCONNECTED.
 */
#include "fault_dev.h"

#include <errno.h>

/* maximum delay of a DISCONNECTED in polls, which is longer than the flush takes */
#define LONG_POLLS 400

/* Sets the queue pair below of a queue pair, and returns the queue pair to the user in *out. */
static void join(struct fault_qp *qp, struct fabric_qp *inner, struct fabric_qp **out)
{
	qp->inner = inner;
	qp->base.max_inline = inner->max_inline;
	*out = &qp->base;
}

int fault_connect(struct fabric_dev *fdev, const char *addr, const struct fabric_qp_attr *attr,
		  const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	struct fabric_qp_attr its = *attr;
	struct fabric_qp *inner;
	struct fault_qp *qp;
	int how, rc;

	if (fault_fires(dev, FAULT_CONNECT, &how))
		return how > 0 ? -how : -ENOMEM;
	rc = fault_qp_create(dev, attr, &qp);
	if (rc != 0)
		return rc;
	its.ctx = qp;
	its.srq = attr->srq ? ((struct fault_srq *)attr->srq)->inner : NULL;
	qp->has_connected = true;
	rc = dev->ops->connect(dev->inner, addr, &its, private_data, private_len, &inner);
	if (rc != 0) {
		fault_qp_free(qp);
		return rc;
	}
	join(qp, inner, out);
	if (fault_fires(dev, FAULT_CONNECTING, &how))
		fault_break(qp, how > 0 ? how : ENETUNREACH);
	return 0;
}

bool fault_can_accept(const struct fabric_dev *fdev, const struct fabric_conn_req *req)
{
	const struct fault_dev *dev = (const struct fault_dev *)fdev;

	return !dev->ops->can_accept || dev->ops->can_accept(dev->inner, req);
}

int fault_accept(struct fabric_dev *fdev, struct fabric_conn_req *req,
		 const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
		 struct fabric_qp **out)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	struct fabric_qp_attr its = *attr;
	struct fabric_qp *inner;
	struct fault_qp *qp;
	int how, rc;

	rc = fault_fires(dev, FAULT_ACCEPT, &how) ? (how > 0 ? -how : -ENOMEM)
						  : fault_qp_create(dev, attr, &qp);
	if (rc != 0) {
		dev->ops->reject(dev->inner, req, NULL, 0);
		return rc;
	}
	its.ctx = qp;
	its.srq = attr->srq ? ((struct fault_srq *)attr->srq)->inner : NULL;
	rc = dev->ops->accept(dev->inner, req, &its, private_data, private_len, &inner);
	if (rc != 0) {
		fault_qp_free(qp);
		return rc;
	}
	join(qp, inner, out);
	if (fault_fires(dev, FAULT_ACCEPTED, &how))
		fault_break(qp, how > 0 ? how : ECONNRESET);
	return 0;
}

int fault_reject(struct fabric_dev *fdev, struct fabric_conn_req *req, const void *private_data,
		 uint32_t private_len)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	return dev->ops->reject(dev->inner, req, private_data, private_len);
}

/* Returns whether a fault replaces the event ESTABLISHED on the connecting side. If so, the
 * function has queued FAILED or REJECTED. */
static bool comes_to_nothing(struct fault_qp *qp)
{
	int how;

	if (!qp->has_connected)
		return false;
	if (fault_fires(qp->dev, FAULT_FAILED, &how)) {
		fault_end_inner(qp);
		fault_raise_end(qp, FABRIC_CM_FAILED, how > 0 ? -how : -ETIMEDOUT);
		return true;
	}
	if (fault_fires(qp->dev, FAULT_REJECTED, &how)) {
		fault_end_inner(qp);
		fault_raise_end(qp, FABRIC_CM_REJECTED, 0);
		return true;
	}
	return false;
}

static void raise_listeners(struct fabric_listener *listener, const struct fabric_cm_event *event,
			    uint64_t late)
{
	struct fault_dev *dev = listener->dev;

	fault_raise(dev, event, NULL, late);
	dev->events[dev->nevents - 1].listener = listener;
	dev->events[dev->nevents - 1].event.listener_ctx = listener->ctx;
	dev->nrequests++;
}

static void lose_listeners(struct fault_dev *dev)
{
	struct fabric_cm_event event = {.kind = FABRIC_CM_UNLISTENED};
	struct fabric_listener *listener;
	int how;

	LIST_FOREACH(listener, &dev->listeners, entry)
	{
		if (!listener->inner || dev->nrequests >= FAULT_REQUESTS_MAX ||
		    !fault_fires(dev, FAULT_UNLISTENED, &how))
			continue;
		dev->ops->unlisten(listener->inner);
		listener->inner = NULL;
		event.error = how > 0 ? -how : -ENODEV;
		raise_listeners(listener, &event, 0);
	}
}

static void handle_event(struct fault_dev *dev, const struct fabric_cm_event *event)
{
	struct fabric_listener *listener = event->listener_ctx;
	struct fault_qp *qp = event->qp_ctx;
	uint64_t late;

	if (event->kind == FABRIC_CM_REQUEST || event->kind == FABRIC_CM_UNLISTENED) {
		raise_listeners(listener, event, fault_delay(dev, FAULT_DELAY, FAULT_DELAY_POLLS));
		return;
	}
	if (qp->has_end || (event->kind == FABRIC_CM_ESTABLISHED && comes_to_nothing(qp)))
		return;
	late = fault_delay(dev, FAULT_DELAY, FAULT_DELAY_POLLS);
	if (event->kind == FABRIC_CM_ESTABLISHED)
		qp->is_up = true;
	else
		qp->has_end = true;
	if (event->kind == FABRIC_CM_DISCONNECTED)
		late += fault_delay(dev, FAULT_DISCONNECTING, LONG_POLLS);
	fault_raise(dev, event, qp, late);
}

uint32_t fault_cm_poll(struct fabric_dev *fdev, struct fabric_cm_event *events, uint32_t max)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;
	struct fabric_cm_event its[8];
	uint32_t n = 0, room = 8;

	dev->cm_polls++;
	/*
	 * Each event of the driver below can be a REQUEST, for which room is limited. There is
	 * always room for all other events.
	 */
	if (dev->has_listened && room > FAULT_REQUESTS_MAX - dev->nrequests)
		room = FAULT_REQUESTS_MAX - dev->nrequests;
	room = room > 0 ? dev->ops->cm_poll(dev->inner, its, room) : 0;
	for (uint32_t i = 0; i < room; i++)
		handle_event(dev, &its[i]);
	lose_listeners(dev);
	fault_sync(dev);
	for (uint32_t i = 0; i < dev->nevents && n < max;) {
		struct fault_event *held = &dev->events[i];

		if (held->due > dev->cm_polls) {
			i++; /* later events of the same queue pair are not due either */
			continue;
		}
		if (held->event.kind == FABRIC_CM_ESTABLISHED)
			held->qp->may_send = true;
		events[n++] = held->event;
		fault_event_drop(dev, i);
	}
	return n;
}
