/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys queue pairs, and changes their states. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static int queue_init(struct verbs_queue *queue, uint32_t max)
{
	queue->max = max ? max : 1;
	queue->mask = power_of_two(queue->max) - 1;
	queue->wrs = mem_zalloc((queue->mask + 1) * sizeof(queue->wrs[0]));
	return queue->wrs ? 0 : -ENOMEM;
}

/*
 * Gives the queue pair an id whose entry in dev->table is free. A free entry exists, because the
 * table has more entries than the device can have connections. Returns 0 or -EBUSY.
 */
static int take_id(struct verbs_dev *dev, struct verbs_qp *qp)
{
	for (uint32_t i = 0; i <= dev->table_mask + 1; i++) {
		uint32_t id = ++dev->ids;

		if (id != 0 && !dev->table[id & dev->table_mask]) {
			qp->id = id;
			dev->table[id & dev->table_mask] = qp;
			return 0;
		}
	}
	return -EBUSY;
}

/*
 * Creates the ibv_qp. If the device refuses the size of inline data, the function tries smaller
 * sizes, because devices report their limit in no other way. Returns 0 or -errno.
 */
static int create_ibv(struct verbs_qp *qp, struct ibv_qp_init_attr *init)
{
	const struct verbs_path *path = qp->dev->path;
	struct ibv_pd *pd = qp->pd ? qp->pd : qp->dev->pd;
	uint32_t wanted = init->cap.max_inline_data;
	struct ibv_qp_cap cap = init->cap;

	for (;;) {
		init->cap = cap;
		init->cap.max_inline_data = wanted;
		qp->ibv = path ? path->qp_create(qp, pd, init) : ibv_create_qp(pd, init);
		if (qp->ibv)
			return 0;
		if (wanted == 0)
			return -errno;
		wanted = wanted > 32 ? wanted / 2 : 0;
	}
}

/*
 * Returns the access flags of a queue pair. The key of a registration with remote rights is valid
 * on all queue pairs of the protection domain. A queue pair that exposes nothing has no remote
 * rights itself, so that its peer cannot use a key that it has guessed. Each transition to INIT
 * sets these flags (IBV_QP_ACCESS_FLAGS), and no later transition changes them. RDMA operations
 * that this side starts depend only on the flags of the peer's queue pair.
 */
static unsigned access_of(const struct verbs_qp *qp)
{
	return IBV_ACCESS_LOCAL_WRITE |
	       (qp->exposes ? IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE : 0u);
}

/*
 * Moves a new queue pair to INIT, so that receives can be posted before the peer's address is
 * resolved. Returns 0 or -errno.
 */
static int to_first_init(struct verbs_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->dev->port,
		.qp_access_flags = access_of(qp),
	};
	int rc =
		ibv_modify_qp(qp->ibv, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	return rc > 0 ? -rc : rc;
}

int verbs_qp_create(struct verbs_dev *dev, const struct fabric_qp_attr *attr, struct verbs_qp **out)
{
	const struct fabric_dev_attr *most = &dev->fabric.attr;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = attr->max_send_wr,
			.max_recv_wr = attr->max_recv_wr,
			.max_send_sge = attr->max_sge,
			.max_recv_sge = 1,
			.max_inline_data = attr->max_inline < most->max_inline ? attr->max_inline
									       : most->max_inline},
		.qp_type = IBV_QPT_RC,
	};
	struct verbs_srq *srq = (struct verbs_srq *)attr->srq;
	struct verbs_qp *qp;
	int rc;

	if (attr->max_send_wr > most->max_send_wr || attr->max_recv_wr > most->max_recv_wr ||
	    attr->max_sge > most->max_sge)
		return -EINVAL;
	qp = mem_zalloc(sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	TAILQ_INIT(&qp->windows);
	qp->dev = dev;
	qp->fabric.dev = &dev->fabric;
	qp->fabric.ctx = attr->ctx;
	qp->exposes = attr->exposes;
	if (srq)
		init.cap.max_recv_wr = 0;
	rc = queue_init(&qp->sq, attr->max_send_wr);
	if (rc == 0)
		rc = queue_init(&qp->rq, init.cap.max_recv_wr);
	if (rc == 0)
		rc = take_id(dev, qp);
	if (rc == 0 && dev->own_sges)
		rc = verbs_domain_create(qp);
	if (rc == 0)
		rc = verbs_cq_get(dev, qp->sq.max + qp->rq.max, srq ? srq->max : 0, &qp->cq);
	if (rc == 0) {
		init.send_cq = init.recv_cq = qp->cq->ibv;
		init.qp_context = qp;
		init.srq = srq ? srq->ibv : NULL;
		rc = create_ibv(qp, &init);
	}
	if (rc == 0 && dev->path)
		rc = dev->path->qp_open(qp);
	if (rc == 0)
		rc = to_first_init(qp);
	if (rc != 0) {
		VERBS_LOG(ERROR, "%s: no queue pair: %s", dev->name, strerror(-rc));
		verbs_qp_free(qp);
		return rc;
	}
	qp->srq = srq;
	if (srq)
		verbs_srq_join(qp);
	qp->fabric.max_inline = init.cap.max_inline_data < most->max_inline
					? init.cap.max_inline_data
					: most->max_inline;
	*out = qp;
	return 0;
}

void verbs_qp_free(struct verbs_qp *qp)
{
	struct verbs_dev *dev = qp->dev;
	uint32_t num = qp->ibv ? qp->ibv->qp_num : 0;

	if (qp->state == QP_ERROR)
		TAILQ_REMOVE(&dev->broken, qp, broken);
	verbs_mw_drop(qp);
	if (qp->srq)
		verbs_srq_part(qp);
	if (qp->ibv)
		ibv_destroy_qp(qp->ibv);
	if (dev->path)
		dev->path->qp_close(qp, num);
	verbs_domain_destroy(qp);
	if (qp->cq)
		verbs_cq_put(qp->cq, qp->sq.max + qp->rq.max);
	if (dev->table[qp->id & dev->table_mask] == qp)
		dev->table[qp->id & dev->table_mask] = NULL;
	mem_free(qp->sq.wrs);
	mem_free(qp->rq.wrs);
	mem_free(qp);
}

void verbs_qp_to_error(struct verbs_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	ibv_modify_qp(qp->ibv, &attr, IBV_QP_STATE);
}

void verbs_qp_fail(struct verbs_qp *qp)
{
	bool is_dead = atomic_load(&qp->dev->is_dead);

	if (qp->state == QP_ERROR)
		return;
	qp->state = QP_ERROR;
	TAILQ_INSERT_TAIL(&qp->dev->broken, qp, broken);
	/*
	 * This call is needed even if the device has moved the queue pair to the error state
	 * already. rxe flushes only receives that are posted before this call, and not later ones.
	 */
	verbs_qp_to_error(qp);
	qp->sq.kept = is_dead ? qp->sq.retired : qp->sq.posted;
	qp->rq.kept = is_dead ? qp->rq.retired : qp->rq.posted;
}

int verbs_qp_to_init(struct verbs_qp *qp, struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	int mask, rc;

	if (rdma_init_qp_attr(id, &attr, &mask) != 0)
		return -errno;
	attr.qp_access_flags = access_of(qp);
	rc = ibv_modify_qp(qp->ibv, &attr, mask);
	return rc > 0 ? -rc : rc;
}

int verbs_qp_to_ready(struct verbs_qp *qp, struct verbs_link *link)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int mask, rc;

	/* librdmacm supplies the path, the MTU and the packet sequence numbers. */
	if (rdma_init_qp_attr(link->id, &attr, &mask) != 0)
		return -errno;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic = link->responder_resources;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		attr.min_rnr_timer = VERBS_RNR_TIMER;
	rc = ibv_modify_qp(qp->ibv, &attr, mask);
	if (rc != 0)
		return rc > 0 ? -rc : rc;
	atomic_store(&qp->may_take, true);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
	if (rdma_init_qp_attr(link->id, &attr, &mask) != 0)
		return -errno;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic = link->initiator_depth;
	rc = ibv_modify_qp(qp->ibv, &attr, mask);
	return rc > 0 ? -rc : rc;
}
