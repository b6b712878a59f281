/* SPDX-License-Identifier: BSD-3-Clause */
#include "cq_ring.h"

#include <endian.h>
#include <errno.h>

#define OPCODE_SHIFT 4u

int mlx5_cq_ring_init(struct mlx5_cq_ring *cq, const struct mlx5dv_cq *dv)
{
	const uint32_t content = (uint32_t)sizeof(struct mlx5_cqe64);
	uint32_t n = dv->cqe_cnt;

	*cq = (struct mlx5_cq_ring){0};
	if (!dv->buf || !dv->dbrec || n == 0 || n > MLX5_CQES_MAX || (n & (n - 1)) != 0 ||
	    (dv->cqe_size != content && dv->cqe_size != 2 * content))
		return -EINVAL;
	cq->ring = (uint8_t *)dv->buf + dv->cqe_size - content;
	cq->mask = n - 1;
	cq->stride = dv->cqe_size;
	cq->record = &dv->dbrec[0];
	return 0;
}

static bool is_receive(uint8_t opcode)
{
	return opcode == MLX5_CQE_RESP_WR_IMM || opcode == MLX5_CQE_RESP_SEND ||
	       opcode == MLX5_CQE_RESP_SEND_IMM || opcode == MLX5_CQE_RESP_SEND_INV ||
	       opcode == MLX5_CQE_RESP_ERR;
}

void mlx5_cq_ring_forget(struct mlx5_cq_ring *cq, uint32_t num, bool has_srq)
{
	for (uint32_t count = cq->next; count - cq->next <= cq->mask; count++) {
		struct mlx5_cqe64 *cqe = mlx5_cq_ring_at(cq, count);

		if (!cqe)
			break;
		if (mlx5_cqe_num(cqe) != num)
			continue;
		cqe->sop_drop_qpn = htobe32(MLX5_NUM_DESTROYED);
		if (!has_srq || !is_receive(cqe->op_own >> OPCODE_SHIFT))
			cqe->op_own = (uint8_t)(MLX5_CQE_REQ << OPCODE_SHIFT |
						(cqe->op_own & MLX5_CQE_OWNER_MASK));
	}
}
