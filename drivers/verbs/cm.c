/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection management on the engine's thread. No function here waits for a peer. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "compiler.h"
#include "verbs.h"

int verbs_connect(struct fabric_dev *fdev, const char *text, const struct fabric_qp_attr *attr,
		  const void *private_data, uint32_t private_len, struct fabric_qp **out)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct sockaddr_storage addr;
	struct verbs_link *link;
	struct verbs_qp *qp = NULL;
	int rc = verbs_addr_parse(text, &addr);

	if (rc != 0)
		return rc;
	if (private_len > FABRIC_PRIVATE_DATA_MAX)
		return -EINVAL;
	if (atomic_load(&dev->is_dead))
		return -EIO;
	link = mem_zalloc(sizeof(*link));
	if (!link)
		return -ENOMEM;
	rc = verbs_qp_create(dev, attr, &qp);
	if (rc == 0 && rdma_create_id(verbs_hub_channel(), &link->id, link, RDMA_PS_TCP) != 0)
		rc = -errno;
	if (rc != 0) {
		if (qp)
			verbs_qp_free(qp);
		verbs_link_free(link);
		return rc;
	}
	link->dev = dev;
	link->state = LINK_RESOLVING;
	link->initiator_depth = (uint8_t)(attr->max_rd_atomic < dev->fabric.attr.max_rd_atomic
						  ? attr->max_rd_atomic
						  : dev->fabric.attr.max_rd_atomic);
	link->responder_resources = dev->responder_resources;
	link->private_len = (uint8_t)private_len;
	if (private_len > 0)
		memcpy(link->private_data, private_data, private_len);
	verbs_lock();
	link->qp = qp;
	qp->link = link;
	TAILQ_INSERT_TAIL(&dev->links, link, entry);
	if (rdma_resolve_addr(link->id, NULL, (struct sockaddr *)&addr, VERBS_RESOLVE_MS) != 0)
		rc = -errno;
	verbs_unlock();
	if (rc != 0) {
		VERBS_LOG(ERROR, "can't connect to %s: %s%s", text, strerror(-rc),
			  rc == -ENODEV ? ": no RDMA device is on the way to it" : "");
		verbs_link_remove(link);
		verbs_qp_free(qp);
		verbs_link_free(link);
		return rc;
	}
	*out = &qp->fabric;
	return 0;
}

static uint8_t least(uint32_t a, uint32_t b)
{
	return (uint8_t)(a < b ? a : b);
}

/*
 * Connects the queue pair and accepts the request of a link. Returns 0 or -errno. After an error
 * the caller rejects the request and frees the link.
 */
static int answer(struct verbs_dev *dev, struct verbs_link *link, struct verbs_qp *qp,
		  const void *private_data, uint32_t private_len)
{
	struct rdma_conn_param param;
	int rc;

	link->responder_resources = least(link->responder_resources, dev->responder_resources);
	rc = verbs_qp_to_init(qp, link->id);
	if (rc == 0)
		rc = verbs_qp_to_ready(qp, link);
	if (rc != 0)
		return rc;
	verbs_lock();
	if (link->state == LINK_DEAD) {
		rc = -ECONNRESET;
	} else {
		link->qp = qp;
		qp->link = link;
		link->state = LINK_ACCEPTED;
		param = verbs_conn_param(link, qp, private_data, private_len);
		rc = rdma_accept(link->id, &param) == 0 ? 0 : -errno;
	}
	verbs_unlock();
	return rc;
}

bool verbs_can_accept(const struct fabric_dev *fdev, const struct fabric_conn_req *link)
{
	/* Neither of them changes after the event of the request. */
	return link->id->verbs == ((const struct verbs_dev *)fdev)->context;
}

int verbs_accept(struct fabric_dev *fdev, struct fabric_conn_req *link,
		 const struct fabric_qp_attr *attr, const void *private_data, uint32_t private_len,
		 struct fabric_qp **out)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_qp *qp = NULL;
	int rc = 0;

	verbs_lock();
	TAILQ_REMOVE(&link->dev->links, link, entry);
	link->dev = dev;
	TAILQ_INSERT_TAIL(&dev->links, link, entry);
	verbs_unlock();
	if (private_len > FABRIC_PRIVATE_DATA_MAX) {
		rc = -EINVAL;
	} else if (!verbs_can_accept(fdev, link)) {
		VERBS_LOG(ERROR,
			  "a request arrived at device %s, but %s was opened: choose the device "
			  "with driver option device=%s",
			  ibv_get_device_name(link->id->verbs->device), dev->name,
			  ibv_get_device_name(link->id->verbs->device));
		rc = -EXDEV;
	}
	if (rc == 0)
		rc = verbs_qp_create(dev, attr, &qp);
	if (rc == 0) {
		link->initiator_depth =
			least(link->initiator_depth,
			      least(attr->max_rd_atomic, dev->fabric.attr.max_rd_atomic));
		rc = answer(dev, link, qp, private_data, private_len);
	}
	if (rc != 0) {
		rdma_reject(link->id, NULL, 0);
		verbs_link_remove(link);
		if (qp)
			verbs_qp_free(qp);
		verbs_link_free(link);
		return rc;
	}
	*out = &qp->fabric;
	return 0;
}

int verbs_reject(struct fabric_dev *fdev, struct fabric_conn_req *link, const void *private_data,
		 uint32_t private_len)
{
	int rc = 0;

	(void)fdev;
	if (private_len > FABRIC_PRIVATE_DATA_MAX)
		rc = -EINVAL;
	verbs_link_remove(link);
	/* rdma_reject() fails if the peer has disconnected, which is not an error here. */
	rdma_reject(link->id, private_data, rc == 0 ? (uint8_t)private_len : 0);
	verbs_link_free(link);
	return rc;
}

/* Updates the state of a queue pair for an event: READY when the connection is established, and
 * ERROR when it ends. */
static void take_note(struct verbs_qp *qp, enum fabric_cm_kind kind)
{
	if (kind != FABRIC_CM_ESTABLISHED)
		verbs_qp_fail(qp);
	else if (qp->state == QP_CONNECTING)
		qp->state = QP_READY;
}

uint32_t verbs_cm_poll(struct fabric_dev *fdev, struct fabric_cm_event *events, uint32_t max)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_event *e;
	uint32_t n = 0;

	if (likely(atomic_load_explicit(&dev->nevents, memory_order_relaxed) == 0))
		return 0;
	fdev->stats.remote_access_errors += atomic_exchange(&dev->nerrors, 0);
	fdev->stats.requests_displaced += atomic_exchange(&dev->ndisplaced, 0);
	verbs_lock();
	while (n < max && (e = TAILQ_FIRST(&dev->events))) {
		struct verbs_link *link = e->link;

		TAILQ_REMOVE(&dev->events, e, entry);
		e->is_queued = false;
		atomic_fetch_sub(&dev->nevents, 1);
		if (e->event.kind == FABRIC_CM_REQUEST) {
			backlog_remove(&link->listener->backlog, &link->waiting);
			link->listener = NULL;
		} else if (link) {
			take_note(link->qp, e->event.kind);
		}
		events[n++] = e->event;
	}
	verbs_unlock();
	return n;
}
