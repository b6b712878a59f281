/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates queue pairs with a BlueFlame register of this thread, takes over their queues, and ends
 * their use. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "mlx5.h"

/* Returns a domain whose objects are those of 'pd', and whose queue pairs use the registers of the
 * thread domain. Returns NULL and sets errno if it fails. */
static struct ibv_pd *parent_of(struct verbs_dev *dev, struct ibv_pd *pd)
{
	struct mlx5_device *direct = dev->direct;
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = direct->td};

	return ibv_alloc_parent_domain(dev->context, &attr);
}

int mlx5_domain_open(struct verbs_dev *dev)
{
	struct mlx5_device *direct = mem_zalloc(sizeof(*direct));
	struct ibv_td_init_attr attr = {0};
	int rc;

	if (!direct)
		return -ENOMEM;
	dev->direct = direct;
	direct->table.mask = dev->table_mask;
	direct->table.buckets =
		mem_zalloc((dev->table_mask + 1) * sizeof(direct->table.buckets[0]));
	if (!direct->table.buckets)
		return -ENOMEM;
	errno = 0;
	direct->td = ibv_alloc_td(dev->context, &attr);
	if (direct->td)
		direct->pd = parent_of(dev, dev->pd);
	if (direct->pd)
		return 0;
	rc = errno > 0 ? -errno : -EIO; /* the log can change errno */
	VERBS_LOG(ERROR,
		  "mlx5: %s has no register for this thread: %s. The driver verbs with direct=off "
		  "needs none",
		  dev->name, strerror(-rc));
	return rc;
}

void mlx5_domain_close(struct verbs_dev *dev)
{
	struct mlx5_device *direct = dev->direct;

	if (!direct)
		return;
	if (direct->pd)
		ibv_dealloc_pd(direct->pd);
	if (direct->td)
		ibv_dealloc_td(direct->td);
	mem_free(direct->table.buckets);
	mem_free(direct);
	dev->direct = NULL;
}

struct ibv_qp *mlx5_qp_make(struct verbs_qp *qp, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct mlx5_device *dev = qp->dev->direct;
	struct mlx5_direct_qp *direct = qp->direct;
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		/* The data of short messages must be in their receives, not in completions. */
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = dev->pd,
	};
	struct ibv_qp *ibv;

	if (!direct) {
		direct = qp->direct = mem_zalloc(sizeof(*direct));
		if (!direct) {
			errno = ENOMEM;
			return NULL;
		}
		direct->owner = qp;
	}
	if (qp->pd && !direct->pd) {
		direct->pd = parent_of(qp->dev, pd);
		if (!direct->pd)
			return NULL;
	}
	if (direct->pd)
		attr.pd = direct->pd;
	ibv = mlx5dv_create_qp(qp->dev->context, &attr, &dv);
	init->cap = attr.cap;
	return ibv;
}

/* Returns the doorbell of a register, or NULL if there are too many registers. */
static struct mlx5_doorbell *doorbell_of(struct mlx5_device *dev, const struct mlx5dv_qp *dv)
{
	for (uint32_t i = 0; i < MLX5_DOORBELLS; i++) {
		struct mlx5_doorbell *doorbell = &dev->doorbells[i];

		if (!doorbell->reg)
			*doorbell = (struct mlx5_doorbell){.reg = dv->bf.reg, .bytes = dv->bf.size};
		if (doorbell->reg == dv->bf.reg)
			return doorbell;
	}
	return NULL;
}

int mlx5_qp_open(struct verbs_qp *qp)
{
	struct mlx5_device *dev = qp->dev->direct;
	struct mlx5_direct_qp *direct = qp->direct;
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {.in = qp->ibv, .out = &dv}};
	struct mlx5_doorbell *doorbell;
	int rc = mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP);

	if (rc != 0)
		return rc > 0 ? -rc : rc;
	doorbell = doorbell_of(dev, &dv);
	if (!doorbell)
		return -ENOSPC;
	direct->blocks = mem_zalloc(dv.sq.wqe_cnt * sizeof(direct->blocks[0]));
	if (!direct->blocks)
		return -ENOMEM;
	direct->qp.has_srq = qp->ibv->srq != NULL;
	rc = mlx5_send_ring_init(&direct->qp.send, &dv, qp->ibv->qp_num, doorbell, direct->blocks);
	if (rc == 0)
		rc = mlx5_recv_ring_init(&direct->qp.recv, &dv);
	if (rc == 0)
		mlx5_qp_table_add(&dev->table, &direct->qp);
	return rc;
}

/* Drops completions that were not polled yet, and those that would come. */
static void forget(struct verbs_qp *qp, uint32_t num)
{
	struct mlx5_device *dev = qp->dev->direct;
	struct mlx5_direct_qp *direct = qp->direct;
	struct mlx5_direct_cq *cq = qp->cq->direct;

	if (!direct->qp.is_listed)
		return;
	mlx5_cq_ring_forget(&cq->ring, num, direct->qp.has_srq);
	mlx5_qp_table_remove(&dev->table, &direct->qp);
}

void mlx5_qp_close(struct verbs_qp *qp, uint32_t num)
{
	struct mlx5_direct_qp *direct = qp->direct;

	if (!direct)
		return;
	forget(qp, num);
	if (direct->pd)
		ibv_dealloc_pd(direct->pd);
	mem_free(direct->blocks);
	mem_free(direct);
	qp->direct = NULL;
}

void mlx5_qp_lose(struct verbs_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	if (!qp->is_leaving)
		verbs_failed(qp, FABRIC_ERR_FATAL);
	/* In the state RESET, the device neither uses the buffers nor creates completions. */
	ibv_modify_qp(qp->ibv, &attr, IBV_QP_STATE);
	forget(qp, qp->ibv->qp_num);
	qp->sq.kept = qp->sq.retired;
	qp->rq.kept = qp->rq.retired;
	atomic_store(&qp->has_last, true);
}
