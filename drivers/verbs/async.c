/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles the asynchronous events of a device. A fatal event ends all connections of the device,
 * and an event of a broken queue pair ends its connection. Events of a port are only logged.
 */
#include <errno.h>

#include "verbs.h"

void verbs_dev_died(struct verbs_dev *dev)
{
	struct verbs_link *link;

	verbs_dev_lost(dev, -EIO);
	TAILQ_FOREACH(link, &dev->links, entry)
	verbs_link_ended(link, -EIO);
}

/* Ends the connection of a queue pair that the device reports as broken by an event. 'is_access':
 * because of an access error. */
static void qp_died(struct verbs_qp *qp, bool is_access)
{
	/*
	 * A queue pair without a link is being destroyed by a thread that waits until this event is
	 * acknowledged.
	 */
	if (!qp || !qp->link)
		return;
	if (is_access)
		atomic_fetch_add(&qp->dev->nerrors, 1);
	rdma_disconnect(qp->link->id);
	verbs_link_ended(qp->link, -ECONNRESET);
}

void verbs_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const char *name = ibv_get_device_name(context->device);
	struct verbs_qp *qp;

	verbs_lock();
	switch (event->event_type) {
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_CQ_ERR:
		VERBS_LOG(ERROR, "%s: %s: its connections end", name,
			  ibv_event_type_str(event->event_type));
		verbs_hub_each(context, verbs_dev_died);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
		qp_died(event->element.qp->qp_context,
			event->event_type == IBV_EVENT_QP_ACCESS_ERR);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		qp = event->element.qp->qp_context;
		if (qp)
			atomic_store(&qp->has_last, true);
		break;
	case IBV_EVENT_COMM_EST:
		/* A message has arrived before librdmacm has reported that the connection is
		 * established. */
		qp = event->element.qp->qp_context;
		if (qp && qp->link)
			rdma_notify(qp->link->id, IBV_EVENT_COMM_EST);
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		/*
		 * If the event breaks a connection, that connection ends by its own timeouts. Other
		 * connections continue.
		 */
		VERBS_LOG(NOTICE, "%s: port %d: %s", name, event->element.port_num,
			  ibv_event_type_str(event->event_type));
		break;
	default:
		break;
	}
	verbs_unlock();
	ibv_ack_async_event(event);
}
