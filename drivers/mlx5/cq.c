/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes over completion queues, and requests reports of completions. */
#include <endian.h>
#include <errno.h>

#include "alloc.h"
#include "mlx5.h"

#define ARM_RECORD 1u /* index of the doorbell record that requests a report */

int mlx5_cq_open(struct verbs_cq *cq)
{
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj obj = {.cq = {.in = cq->ibv, .out = &dv}};
	struct mlx5_direct_cq *direct = mem_zalloc(sizeof(*direct));
	int rc;

	if (!direct)
		return -ENOMEM;
	cq->direct = direct;
	rc = mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ);
	if (rc == 0)
		rc = mlx5_cq_ring_init(&direct->ring, &dv);
	if (rc != 0 || !dv.cq_uar) {
		VERBS_LOG(ERROR, "mlx5: libmlx5 has a completion queue of an unknown kind");
		return -EOPNOTSUPP;
	}
	direct->reg = (uint8_t *)dv.cq_uar + MLX5_CQ_DOORBELL;
	direct->num = dv.cqn;
	return 0;
}

void mlx5_cq_close(struct verbs_cq *cq)
{
	mem_free(cq->direct);
	cq->direct = NULL;
}

int mlx5_cq_report(struct verbs_cq *cq)
{
	struct mlx5_direct_cq *direct = cq->direct;
	struct mlx5_cq_ring *ring = &direct->ring;
	/* The device reports once for each number of reports that this side has received. */
	uint32_t serial = cq->ibv->comp_events_completed & 3;
	uint32_t request = serial << 28 | MLX5_CQ_DB_REQ_NOT | (ring->next & 0xffffffu);

	ring->record[ARM_RECORD] = htobe32(request);
	/* When the device sees the doorbell, it must also see the record. */
	mlx5_barrier_before_register();
	*(volatile uint64_t *)(void *)direct->reg = htobe64((uint64_t)request << 32 | direct->num);
	mlx5_barrier_after_register();
	return ring->is_broken || mlx5_cq_ring_at(ring, ring->next) ? -EAGAIN : 0;
}
