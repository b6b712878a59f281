/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifiers of the connection manager, with their addresses and events. */
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

struct cm_id_list cm_ids = TAILQ_HEAD_INITIALIZER(cm_ids);
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
	TAILQ_INSERT_TAIL(&cm_ids, id, entry);
	return id;
}

struct cm_id *cm_id_find(uint32_t handle)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &cm_ids, entry)
	if (id->handle == handle)
		break;
	return id;
}

struct cm_id *cm_id_of_file(const struct file *file)
{
	struct cm_id *id;

	TAILQ_FOREACH(id, &cm_ids, entry)
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

/* Takes the identifier's port of the network, or any port if that is 0. Returns 0 or a positive
 * errno. */
static int claim_port(struct cm_id *id)
{
	bool is_any = id->source.sin_port == 0;

	for (uint32_t i = 0; i < (is_any ? PORTS : 1); i++) {
		if (is_any)
			id->source.sin_port = next_port();
		if (!link_has_network())
			return 0;
		id->port = link_claim_port(id->source.sin_port);
		if (id->port || errno != EADDRINUSE)
			return id->port ? 0 : errno;
	}
	return EADDRINUSE;
}

struct rdma_ucm_event_resp *cm_id_push(struct cm_id *id, enum cm_event kind, int status)
{
	const struct rdma_ucm_event_resp event = {.uid = id->uid,
						  .id = id->handle,
						  .event = (uint32_t)kind,
						  .status = (uint32_t)status};

	if (id->uid == 0)
		return NULL;
	return file_push(id->file, id, &id->reported, &event, sizeof(event));
}

int cm_id_bind(struct cm_id *id, const struct sockaddr_in *address)
{
	const uint32_t wanted = address->sin_addr.s_addr;
	const struct cm_id *other;
	int rc;

	if (address->sin_family != AF_INET)
		return EAFNOSUPPORT;
	if (wanted != model_address().s_addr && wanted != INADDR_ANY)
		return EADDRNOTAVAIL;
	TAILQ_FOREACH(other, &cm_ids, entry)
	{
		uint32_t used = other->source.sin_addr.s_addr;

		if (other == id || (other->state != CM_BOUND && other->state != CM_LISTENING) ||
		    other->source.sin_port != address->sin_port)
			continue;
		/* So the kernel distinguishes the same address from one that includes it. */
		return used == wanted ? EADDRINUSE : EADDRNOTAVAIL;
	}
	id->source = *address;
	rc = claim_port(id);
	if (rc == 0)
		id->state = CM_BOUND;
	return rc;
}

int cm_id_listen(struct cm_id *id, uint32_t backlog)
{
	int rc;

	if (id->state != CM_BOUND)
		return EINVAL;
	rc = id->port ? link_listen(id->port) : 0;
	if (rc != 0)
		return rc;
	id->state = CM_LISTENING;
	id->backlog = backlog ? backlog : 1;
	return 0;
}

int cm_id_resolve_address(struct cm_id *id, const struct sockaddr_in *address)
{
	int rc;

	if (address->sin_family != AF_INET)
		return ENODEV;
	id->destination = *address;
	if (address->sin_addr.s_addr != model_address().s_addr) {
		cm_id_push(id, CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
		return 0;
	}
	id->source = *address;
	id->source.sin_port = 0;
	rc = claim_port(id);
	if (rc != 0)
		return rc;
	id->state = CM_ADDR;
	cm_id_push(id, CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int cm_id_resolve_route(struct cm_id *id)
{
	if (id->state != CM_ADDR)
		return EINVAL;
	id->state = CM_ROUTE;
	cm_id_push(id, CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

uint32_t cm_id_destroy(struct cm_id *id)
{
	uint32_t reported;

	cm_id_end(id);
	file_drop_events(id->file, id);
	reported = id->reported;
	link_unref(id->port);
	TAILQ_REMOVE(&cm_ids, id, entry);
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
