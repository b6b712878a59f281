/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifiers of the connection manager: from the bind to the end of a connection. */
#include "cm_id.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "mlx5_model.h"
#include "query.h"

#define FIRST_PORT 40000u /* of the ports for identifiers that ask for any */
#define PORTS	   20000u

/* The kernel's numbers of events, which <rdma/rdma_cma.h> has as well. That header cannot be
 * included together with the one of the kernel. */
enum event_kind {
	EVENT_ADDR_RESOLVED,
	EVENT_ADDR_ERROR,
	EVENT_ROUTE_RESOLVED,
	EVENT_ROUTE_ERROR,
	EVENT_CONNECT_REQUEST,
	EVENT_CONNECT_RESPONSE,
	EVENT_CONNECT_ERROR,
	EVENT_UNREACHABLE,
	EVENT_REJECTED,
	EVENT_ESTABLISHED,
	EVENT_DISCONNECTED,
};

/* InfiniBand's reasons of a rejection. */
#define REJECT_NO_SERVICE 8
#define REJECT_BY_USER	  28

/* Lengths of the private data in messages of InfiniBand. */
#define REQUEST_BYTES 56u
#define REPLY_BYTES   196u
#define REJECT_BYTES  148u

static TAILQ_HEAD(, cm_id) ids = TAILQ_HEAD_INITIALIZER(ids);
static uint32_t latest_handle;
static uint32_t ports_taken;

struct cm_id *cm_id_create(struct file *file, uint64_t uid)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->file = file;
	id->uid = uid;
	id->handle = ++latest_handle;
	TAILQ_INSERT_TAIL(&ids, id, entry);
	return id;
}

struct cm_id *cm_id_find(uint32_t handle)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &ids, entry)
	if (id->handle == handle)
		break;
	return id;
}

struct cm_id *cm_id_of_file(const struct file *file)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &ids, entry)
	if (id->file == file)
		break;
	return id;
}

static struct in_addr model_address(void)
{
	struct in_addr address;

	inet_pton(AF_INET, MLX5_MODEL_ADDRESS, &address);
	return address;
}

static uint16_t next_port(void)
{
	return htons((uint16_t)(FIRST_PORT + ports_taken++ % PORTS));
}

/* Queues an event of an identifier that the program knows. Returns the event, or NULL. */
static struct rdma_ucm_event_resp *push_event(struct cm_id *id, enum event_kind kind, int status)
{
	const struct rdma_ucm_event_resp event = {.uid = id->uid,
						  .id = id->handle,
						  .event = (uint32_t)kind,
						  .status = (uint32_t)status};

	if (id->uid == 0)
		return NULL;
	return file_push(id->file, id, &id->reported, &event, sizeof(event));
}

/* Fills the parameters of an event about the message of 'from', which has 'len' bytes of private
 * data in InfiniBand's format. */
static void fill_param(struct rdma_ucm_event_resp *event, const struct cm_id *from,
		       const struct rdma_ucm_conn_param *param, uint8_t len)
{
	struct rdma_ucm_conn_param *to;

	if (!event)
		return;
	to = &event->param.conn;
	*to = *param;
	to->qp_num = from->qpn;
	memset(to->private_data + param->private_data_len, 0,
	       sizeof(to->private_data) - param->private_data_len);
	to->private_data_len = len;
	/* Each side names these numbers from its own view. */
	to->responder_resources = param->initiator_depth;
	to->initiator_depth = param->responder_resources;
}

static void separate(struct cm_id *id)
{
	if (id->peer)
		id->peer->peer = NULL;
	id->peer = NULL;
}

/* The request of 'id' is answered, and does not count in the backlog any more. */
static void leave_backlog(struct cm_id *id)
{
	if (id->listener)
		id->listener->waiting--;
	id->listener = NULL;
}

int cm_id_bind(struct cm_id *id, const struct sockaddr_in *address)
{
	const uint32_t wanted = address->sin_addr.s_addr;
	const struct cm_id *other;

	if (address->sin_family != AF_INET)
		return EAFNOSUPPORT;
	if (wanted != model_address().s_addr && wanted != INADDR_ANY)
		return EADDRNOTAVAIL;
	id->source = *address;
	if (id->source.sin_port == 0)
		id->source.sin_port = next_port();
	TAILQ_FOREACH(other, &ids, entry)
	{
		uint32_t used = other->source.sin_addr.s_addr;

		if (other == id || (other->state != CM_BOUND && other->state != CM_LISTENING) ||
		    other->source.sin_port != id->source.sin_port)
			continue;
		/* So the kernel distinguishes the same address from one that includes it. */
		return used == wanted ? EADDRINUSE : EADDRNOTAVAIL;
	}
	id->state = CM_BOUND;
	return 0;
}

int cm_id_listen(struct cm_id *id, uint32_t backlog)
{
	if (id->state != CM_BOUND)
		return EINVAL;
	id->state = CM_LISTENING;
	id->backlog = backlog ? backlog : 1;
	return 0;
}

int cm_id_resolve_address(struct cm_id *id, const struct sockaddr_in *address)
{
	if (address->sin_family != AF_INET)
		return ENODEV;
	id->destination = *address;
	if (address->sin_addr.s_addr != model_address().s_addr) {
		push_event(id, EVENT_ADDR_ERROR, -EHOSTUNREACH);
		return 0;
	}
	id->source = *address;
	id->source.sin_port = next_port();
	id->state = CM_ADDR;
	push_event(id, EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int cm_id_resolve_route(struct cm_id *id)
{
	if (id->state != CM_ADDR)
		return EINVAL;
	id->state = CM_ROUTE;
	push_event(id, EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

static struct cm_id *find_listener(uint16_t port)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &ids, entry)
	if (id->state == CM_LISTENING && id->source.sin_port == port)
		break;
	return id;
}

/* Sends the request of 'id' to a listener, for which it makes the identifier of the peer. */
static int send_request(struct cm_id *id, struct cm_id *listener,
			const struct rdma_ucm_conn_param *param)
{
	struct cm_id *peer = cm_id_create(listener->file, 0);
	struct rdma_ucm_event_resp event;

	if (!peer)
		return ENOMEM;
	peer->state = CM_REQUEST_RECEIVED;
	peer->source = id->destination;
	peer->destination = id->source;
	peer->peer = id;
	peer->peer_qpn = id->qpn;
	peer->responder_resources = param->initiator_depth;
	peer->initiator_depth = param->responder_resources;
	peer->rnr_retry = param->rnr_retry_count;
	peer->listener = listener;
	listener->waiting++;
	id->peer = peer;
	id->state = CM_REQUEST_SENT;
	event = (struct rdma_ucm_event_resp){
		.uid = listener->uid, .id = peer->handle, .event = EVENT_CONNECT_REQUEST};
	fill_param(&event, id, param, REQUEST_BYTES);
	file_push(listener->file, peer, &listener->reported, &event, sizeof(event));
	return 0;
}

int cm_id_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param)
{
	struct cm_id *listener = find_listener(id->destination.sin_port);

	if (id->state != CM_ROUTE)
		return EINVAL;
	id->qpn = param->qp_num;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->rnr_retry = param->rnr_retry_count;
	if (listener && listener->waiting < listener->backlog)
		return send_request(id, listener, param);
	id->state = CM_ENDED;
	push_event(id, EVENT_REJECTED, listener ? REJECT_BY_USER : REJECT_NO_SERVICE);
	return 0;
}

int cm_id_accept(struct cm_id *id, uint64_t uid, const struct rdma_ucm_conn_param *param)
{
	struct cm_id *peer = id->peer;

	if (!peer)
		return ECONNRESET;
	if (id->state != CM_REQUEST_RECEIVED)
		return EINVAL;
	id->uid = uid;
	id->qpn = param->qp_num;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->rnr_retry = param->rnr_retry_count;
	leave_backlog(id);
	id->state = CM_REPLY_SENT;
	peer->state = CM_REPLY_RECEIVED;
	peer->peer_qpn = id->qpn;
	peer->rnr_retry = param->rnr_retry_count;
	fill_param(push_event(peer, EVENT_CONNECT_RESPONSE, 0), id, param, REPLY_BYTES);
	return 0;
}

int cm_id_establish(struct cm_id *id)
{
	struct cm_id *peer = id->peer;

	if (id->state != CM_REPLY_RECEIVED)
		return EINVAL;
	id->state = CM_CONNECTED;
	if (peer && peer->state == CM_REPLY_SENT) {
		peer->state = CM_CONNECTED;
		push_event(peer, EVENT_ESTABLISHED, 0);
	}
	return 0;
}

int cm_id_reject(struct cm_id *id, const void *private_data, uint8_t len)
{
	struct cm_id *peer = id->peer;
	struct rdma_ucm_event_resp *event;

	if (id->state != CM_REQUEST_RECEIVED && id->state != CM_REPLY_RECEIVED)
		return EINVAL;
	leave_backlog(id);
	id->state = CM_ENDED;
	separate(id);
	if (!peer)
		return 0;
	peer->state = CM_ENDED;
	event = push_event(peer, EVENT_REJECTED, REJECT_BY_USER);
	if (event) {
		memcpy(event->param.conn.private_data, private_data, len);
		event->param.conn.private_data_len = REJECT_BYTES;
	}
	return 0;
}

int cm_id_disconnect(struct cm_id *id)
{
	struct cm_id *peer = id->peer;

	switch (id->state) {
	case CM_CONNECTED:
	case CM_REPLY_SENT:
		if (peer && (peer->state == CM_CONNECTED || peer->state == CM_REPLY_RECEIVED)) {
			id->state = CM_DISCONNECT_SENT;
			peer->state = CM_DISCONNECT_RECEIVED;
			push_event(peer, EVENT_DISCONNECTED, 0);
		} else {
			id->state = CM_ENDED;
			push_event(id, EVENT_DISCONNECTED, 0);
		}
		return 0;
	case CM_DISCONNECT_RECEIVED:
		id->state = CM_ENDED;
		if (peer && peer->state == CM_DISCONNECT_SENT) {
			peer->state = CM_ENDED;
			push_event(peer, EVENT_DISCONNECTED, 0);
		}
		separate(id);
		return 0;
	default:
		return EINVAL;
	}
}

/* Rejects the requests of a listener that is being destroyed. The program knows the identifier of a
 * request only if it has read its event. */
static void reject_requests(const struct cm_id *listener)
{
	struct cm_id *id, *next;

	for (id = TAILQ_FIRST(&ids); id; id = next) {
		next = TAILQ_NEXT(id, entry);
		if (id->listener != listener)
			continue;
		id->listener = NULL;
		if (file_drop_events(id->file, id) == 0)
			continue;
		cm_id_reject(id, NULL, 0);
		TAILQ_REMOVE(&ids, id, entry);
		free(id);
	}
}

/* Reports to the peer that a program destroys the identifier. */
static void end_connection(struct cm_id *id)
{
	struct cm_id *peer = id->peer;

	switch (id->state) {
	case CM_LISTENING:
		reject_requests(id);
		break;
	case CM_REQUEST_RECEIVED:
		cm_id_reject(id, NULL, 0);
		break;
	case CM_REPLY_RECEIVED:
		if (peer) {
			peer->state = CM_ENDED;
			push_event(peer, EVENT_REJECTED, REJECT_BY_USER);
		}
		break;
	case CM_CONNECTED:
	case CM_REPLY_SENT:
	case CM_DISCONNECT_RECEIVED:
		cm_id_disconnect(id);
		break;
	default:
		break;
	}
	separate(id);
}

uint32_t cm_id_destroy(struct cm_id *id)
{
	uint32_t reported;

	end_connection(id);
	leave_backlog(id);
	file_drop_events(id->file, id);
	reported = id->reported;
	TAILQ_REMOVE(&ids, id, entry);
	free(id);
	return reported;
}

int cm_id_qp_attr(const struct cm_id *id, uint32_t state, struct ib_uverbs_qp_attr *attr)
{
	*attr = (struct ib_uverbs_qp_attr){.qp_state = state, .qp_attr_mask = IBV_QP_STATE};
	switch (state) {
	case IBV_QPS_INIT:
		attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		attr->port_num = 1;
		return 0;
	case IBV_QPS_RTR:
		if (!id->peer_qpn)
			return EINVAL;
		attr->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER;
		attr->path_mtu = IBV_MTU_4096;
		attr->dest_qp_num = id->peer_qpn;
		attr->max_dest_rd_atomic = id->responder_resources;
		attr->ah_attr.is_global = 1;
		attr->ah_attr.port_num = 1;
		return 0;
	case IBV_QPS_RTS:
		attr->qp_attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
		attr->timeout = 14;
		attr->retry_cnt = 7;
		attr->rnr_retry = id->rnr_retry;
		attr->max_rd_atomic = id->initiator_depth;
		return 0;
	default:
		return EINVAL;
	}
}

void cm_id_route(const struct cm_id *id, struct rdma_ucm_query_route_resp *route)
{
	const struct in_addr address = model_address();
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff}; /* an IPv4 address as an IPv6 address */

	memcpy(gid + 12, &address, sizeof(address));
	*route = (struct rdma_ucm_query_route_resp){.ibdev_index = UINT32_MAX};
	memcpy(&route->src_addr, &id->source, sizeof(id->source));
	memcpy(&route->dst_addr, &id->destination, sizeof(id->destination));
	if (id->source.sin_addr.s_addr == address.s_addr) {
		route->node_guid = htobe64(QUERY_GUID);
		route->port_num = 1;
	}
	memcpy(route->ib_route[0].sgid, gid, sizeof(gid));
	memcpy(route->ib_route[0].dgid, gid, sizeof(gid));
	route->ib_route[0].pkey = 0xffff;
	if (id->state < CM_ROUTE)
		return;
	route->num_paths = 1;
	route->ib_route[0].mtu = IBV_MTU_4096;
	route->ib_route[0].rate = IBV_RATE_100_GBPS;
}
