/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management on the hub's thread. Each event of librdmacm moves one identifier, which is
 * a struct fabric_conn_req here, to its next state.
 *
 *   connecting side:  RESOLVING -> (address) -> (route) -> CONNECTING -> (response) -> OPEN
 *   accepting side:   REQUEST -> ACCEPTED, by the engine -> (established) -> OPEN
 *
 * If a connection ends before OPEN, the engine gets the event REJECTED or FAILED. If it ends in
 * OPEN, the engine gets DISCONNECTED. Each identifier makes only one of these events. Then it is
 * DEAD, and waits until the engine destroys it.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

/* InfiniBand's reasons for a rejection that the driver distinguishes. */
#define REJ_INVALID_SERVICE_ID 8 /* no listener */
#define REJ_CONSUMER_DEFINED   28

void verbs_event_push(struct verbs_link *link, enum fabric_cm_kind kind, int error,
		      const void *private_data, uint32_t private_len)
{
	struct verbs_event *e = link->events[0].is_queued ? &link->events[1] : &link->events[0];

	if (e->is_queued)
		return; /* this cannot happen: no link makes a third event */
	e->event = (struct fabric_cm_event){.kind = kind, .error = error};
	if (kind == FABRIC_CM_REQUEST) {
		e->event.listener_ctx = link->listener->ctx;
		e->event.req = link;
	} else if (link->qp) {
		e->event.qp_ctx = link->qp->fabric.ctx;
	}
	e->event.private_len =
		private_len < FABRIC_PRIVATE_DATA_MAX ? private_len : FABRIC_PRIVATE_DATA_MAX;
	if (e->event.private_len > 0)
		memcpy(e->event.private_data, private_data, e->event.private_len);
	verbs_addr_print(rdma_get_peer_addr(link->id), e->event.peer.address,
			 sizeof(e->event.peer.address));
	e->link = link;
	e->is_queued = true;
	TAILQ_INSERT_TAIL(&link->dev->events, e, entry);
	atomic_fetch_add(&link->dev->nevents, 1);
	verbs_wake(link->dev);
}

void verbs_event_drop_all(struct verbs_link *link)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (!link->events[i].is_queued)
			continue;
		link->events[i].is_queued = false;
		TAILQ_REMOVE(&link->dev->events, &link->events[i], entry);
		atomic_fetch_sub(&link->dev->nevents, 1);
	}
}

void verbs_link_ended(struct verbs_link *link, int error)
{
	enum verbs_link_state state = link->state;

	link->state = LINK_DEAD;
	if (state == LINK_DEAD || state == LINK_REQUEST)
		return; /* of a request, the engine learns of the end by verbs_accept() */
	if (state != LINK_OPEN) {
		/*
		 * The queue pair enters the error state only when the engine polls this event.
		 * Receives that are flushed before the event would report an end without its
		 * reason.
		 */
		verbs_event_push(link, FABRIC_CM_FAILED, error, NULL, 0);
		return;
	}
	if (link->qp)
		verbs_qp_to_error(link->qp);
	verbs_event_push(link, FABRIC_CM_DISCONNECTED, error, NULL, 0);
}

void verbs_dev_lost(struct verbs_dev *dev, int error)
{
	struct fabric_listener *listener;

	atomic_store(&dev->is_dead, true);
	TAILQ_FOREACH(listener, &dev->listeners, entry)
	{
		struct verbs_event *e = &listener->lost;

		if (listener->is_closing)
			continue;
		listener->is_closing = true;
		e->event = (struct fabric_cm_event){.kind = FABRIC_CM_UNLISTENED,
						    .error = error,
						    .listener_ctx = listener->ctx};
		e->is_queued = true;
		TAILQ_INSERT_TAIL(&dev->events, e, entry);
		atomic_fetch_add(&dev->nevents, 1);
		verbs_wake(dev);
	}
}

struct rdma_conn_param verbs_conn_param(const struct verbs_link *link, const struct verbs_qp *qp,
					const void *private_data, uint32_t private_len)
{
	return (struct rdma_conn_param){
		.private_data = private_data,
		.private_data_len = (uint8_t)private_len,
		.responder_resources = link->responder_resources,
		.initiator_depth = link->initiator_depth,
		.flow_control = 1,
		.retry_count = VERBS_RETRIES,
		.rnr_retry_count = link->dev->rnr_retry,
		.qp_num = qp->ibv->qp_num,
	};
}

static void on_address(struct verbs_link *link)
{
	if (link->id->verbs != link->dev->context) {
		VERBS_LOG(ERROR,
			  "that address is reached through device %s, but %s was opened: choose "
			  "the device with driver option device=%s",
			  ibv_get_device_name(link->id->verbs->device), link->dev->name,
			  ibv_get_device_name(link->id->verbs->device));
		verbs_link_ended(link, -EXDEV);
	} else if (rdma_resolve_route(link->id, VERBS_RESOLVE_MS) != 0) {
		verbs_link_ended(link, -errno);
	}
}

static void on_route(struct verbs_link *link)
{
	struct rdma_conn_param param;
	int rc;

	if (!link->qp)
		return;
	rc = verbs_qp_to_init(link->qp, link->id);
	param = verbs_conn_param(link, link->qp, link->private_data, link->private_len);
	link->state = LINK_CONNECTING;
	if (rc == 0 && rdma_connect(link->id, &param) != 0)
		rc = -errno;
	if (rc != 0)
		verbs_link_ended(link, rc);
}

static void on_response(struct verbs_link *link, const struct rdma_conn_param *param)
{
	int rc = link->qp ? verbs_qp_to_ready(link->qp, link) : -ECONNABORTED;

	if (rc == 0 && rdma_establish(link->id) != 0)
		rc = -errno;
	if (rc != 0) {
		rdma_reject(link->id, NULL, 0);
		verbs_link_ended(link, rc);
		return;
	}
	link->state = LINK_OPEN;
	verbs_event_push(link, FABRIC_CM_ESTABLISHED, 0, param->private_data,
			 param->private_data_len);
}

static void on_established(struct verbs_link *link, const struct rdma_conn_param *param)
{
	/* iWARP reports the peer's response in this way */
	bool is_ours = link->state == LINK_CONNECTING;

	if (!is_ours && link->state != LINK_ACCEPTED)
		return;
	link->state = LINK_OPEN;
	verbs_event_push(link, FABRIC_CM_ESTABLISHED, 0, param->private_data,
			 is_ours ? param->private_data_len : 0);
}

static void on_rejected(struct verbs_link *link, int status, const struct rdma_conn_param *param)
{
	bool by_peer = status == REJ_CONSUMER_DEFINED ||
		       (status == -ECONNREFUSED && param->private_data_len > 0);

	if (link->state != LINK_CONNECTING || !by_peer) {
		verbs_link_ended(link,
				 status == REJ_INVALID_SERVICE_ID ? -ECONNREFUSED : -ECONNRESET);
		return;
	}
	link->state = LINK_DEAD;
	verbs_event_push(link, FABRIC_CM_REJECTED, 0, param->private_data, param->private_data_len);
}

static struct verbs_link *link_of(struct backlog_entry *entry)
{
	return (struct verbs_link *)((uintptr_t)entry - offsetof(struct verbs_link, waiting));
}

/*
 * Removes a request that the engine has not polled yet, and frees its link. Returns its identifier,
 * which the caller rejects and destroys.
 */
static struct rdma_cm_id *displace(struct verbs_link *link)
{
	struct rdma_cm_id *id = link->id;

	verbs_event_drop_all(link);
	backlog_remove(&link->listener->backlog, &link->waiting);
	TAILQ_REMOVE(&link->dev->links, link, entry);
	id->context = NULL; /* later events of the identifier are ignored */
	mem_free(link);
	return id;
}

/*
 * Handles the request of a peer. Requests wait until the engine's thread polls. The number of
 * waiting requests is limited, and peers share the limit (backlog.h). Returns the identifier of a
 * request that is refused, which the caller rejects and destroys. This is the new request, or a
 * waiting request that the new request displaces. Returns NULL if no request is refused.
 */
static struct rdma_cm_id *on_request(struct rdma_cm_event *event)
{
	struct fabric_listener *listener = event->listen_id->context;
	const struct rdma_conn_param *param = &event->param.conn;
	const struct backlog_peer peer = verbs_addr_peer(rdma_get_peer_addr(event->id));
	struct backlog_entry *oldest;
	struct rdma_cm_id *refused = NULL;
	struct verbs_link *link;

	event->id->context = NULL;
	if (listener->is_closing || atomic_load(&listener->dev->is_dead))
		return event->id;
	link = mem_zalloc(sizeof(*link));
	if (!link)
		return event->id;
	if (backlog_is_full(&listener->backlog)) {
		atomic_fetch_add(&listener->dev->ndisplaced, 1);
		oldest = backlog_displaced(&listener->backlog, &peer);
		if (!oldest) {
			mem_free(link);
			return event->id;
		}
		refused = displace(link_of(oldest));
	}
	event->id->context = link;
	link->id = event->id;
	link->dev = listener->dev;
	link->listener = listener;
	link->state = LINK_REQUEST;
	/*
	 * librdmacm reports both numbers from the view of this side. responder_resources limits the
	 * READs that the peer starts and this side answers.
	 */
	link->responder_resources = param->responder_resources;
	link->initiator_depth = param->initiator_depth;
	backlog_add(&listener->backlog, &link->waiting, &peer);
	TAILQ_INSERT_TAIL(&link->dev->links, link, entry);
	verbs_event_push(link, FABRIC_CM_REQUEST, 0, param->private_data, param->private_data_len);
	return refused;
}

static void on_disconnected(struct verbs_link *link)
{
	/*
	 * The kernel of the peer disconnects in the same way when the peer's process has died. The
	 * two cases cannot be distinguished.
	 */
	bool is_orderly = link->state == LINK_OPEN && !link->breaks;

	/* peer_left is set before any work request is flushed. */
	if (is_orderly && link->qp)
		atomic_store(&link->qp->peer_left, true);
	if (link->state == LINK_OPEN)
		rdma_disconnect(link->id); /* answers the peer's disconnect */
	verbs_link_ended(link, is_orderly ? -ESHUTDOWN : -ECONNRESET);
}

static void on_event(struct verbs_link *link, const struct rdma_cm_event *event)
{
	int error = event->status < 0 ? event->status : -EHOSTUNREACH;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_address(link);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_route(link);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		on_response(link, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(link, &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		on_rejected(link, event->status, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		verbs_link_ended(link, error);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		on_disconnected(link);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		VERBS_LOG(ERROR, "%s: device removed: its connections end", link->dev->name);
		verbs_dev_lost(link->dev, -ENODEV);
		verbs_link_ended(link, -ENODEV);
		break;
	default:
		break;
	}
}

/* Handles an event of a listener that is no request. After the removal of a device, each connection
 * gets an event of its own. */
static void on_listener_event(struct fabric_listener *listener, const struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return;
	VERBS_LOG(ERROR, "%s: device removed: nothing listens on it any more", listener->dev->name);
	verbs_dev_lost(listener->dev, -ENODEV);
}

void verbs_cm_event(struct rdma_cm_event *event)
{
	struct rdma_cm_id *refused = NULL;
	void *context = event->id->context;

	verbs_lock();
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		refused = on_request(event);
	else if (context && *(const bool *)context)
		on_listener_event(context, event);
	else if (context)
		on_event(context, event);
	verbs_unlock();
	rdma_ack_cm_event(event);
	if (refused) {
		rdma_reject(refused, NULL, 0);
		rdma_destroy_id(refused);
	}
}
