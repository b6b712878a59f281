/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts the receives of a queue pair, and shared receives. */
#include <errno.h>

#include "alloc.h"
#include "mlx5.h"

int mlx5_shared_open(struct verbs_srq *srq)
{
	struct mlx5dv_srq dv = {0};
	struct mlx5dv_obj obj = {.srq = {.in = srq->ibv, .out = &dv}};
	struct mlx5_direct_srq *direct = mem_zalloc(sizeof(*direct));
	uint32_t n;
	int rc;

	if (!direct)
		return -ENOMEM;
	srq->direct = direct;
	rc = mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ);
	if (rc != 0)
		return rc > 0 ? -rc : rc;
	n = mlx5_srq_nentries(&dv);
	direct->entries = mem_zalloc(n * sizeof(direct->entries[0]));
	direct->wr_ids = mem_zalloc(n * sizeof(direct->wr_ids[0]));
	if (!direct->entries || !direct->wr_ids)
		return -ENOMEM;
	return mlx5_srq_ring_init(&direct->ring, &dv, direct->entries);
}

void mlx5_shared_close(struct verbs_srq *srq)
{
	struct mlx5_direct_srq *direct = srq->direct;

	if (!direct)
		return;
	mem_free(direct->entries);
	mem_free(direct->wr_ids);
	mem_free(direct);
	srq->direct = NULL;
}

uint32_t mlx5_srq_post_recv(struct fabric_srq *fsrq, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct verbs_srq *srq = (struct verbs_srq *)fsrq;
	struct mlx5_direct_srq *direct = srq->direct;
	uint32_t done;

	for (done = 0; done < n && direct->nposted < srq->max; done++) {
		uint16_t index;

		if (!mlx5_srq_ring_build(&direct->ring, wrs[done].addr, wrs[done].len,
					 wrs[done].lkey, &index))
			break;
		direct->wr_ids[index] = wrs[done].wr_id;
		direct->nposted++;
	}
	if (done > 0)
		mlx5_srq_ring_notify(&direct->ring);
	return done;
}

uint32_t mlx5_post_recv(struct fabric_qp *fqp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	struct verbs_qp *qp = (struct verbs_qp *)fqp;
	struct mlx5_direct_qp *direct = qp->direct;
	bool is_open = qp->state != QP_ERROR;
	uint32_t done;

	if (unlikely(qp->srq != NULL))
		return 0;
	n = verbs_queue_room(&qp->rq, n);
	for (done = 0; done < n; done++) {
		const struct fabric_recv_wr *wr = &wrs[done];

		if (is_open && !mlx5_recv_ring_build(&direct->qp.recv, wr->addr, wr->len,
						     verbs_local_key(qp, wr->lkey)))
			break;
		verbs_queue_take(&qp->rq, wr->wr_id, FABRIC_RECV, 0);
	}
	if (is_open && done > 0)
		mlx5_recv_ring_notify(&direct->qp.recv);
	return done;
}
