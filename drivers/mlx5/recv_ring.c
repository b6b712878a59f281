/* SPDX-License-Identifier: BSD-3-Clause */
#include "recv_ring.h"

#include <endian.h>
#include <errno.h>

#include "barrier.h"
#include "compiler.h"

int mlx5_recv_ring_init(struct mlx5_recv_ring *ring, const struct mlx5dv_qp *dv)
{
	uint32_t n = dv->rq.wqe_cnt, stride = dv->rq.stride;

	*ring = (struct mlx5_recv_ring){0};
	if (n == 0)
		return 0;
	if (!dv->rq.buf || !dv->dbrec || n > MLX5_RECVS_MAX || (n & (n - 1)) != 0 ||
	    stride < sizeof(struct mlx5_wqe_data_seg) || (stride & (stride - 1)) != 0)
		return -EINVAL;
	ring->ring = dv->rq.buf;
	ring->nentries = n;
	ring->stride = stride;
	ring->record = &dv->dbrec[MLX5_RCV_DBR];
	return 0;
}

void mlx5_recv_put(uint8_t *segment, uint32_t room, const void *addr, uint32_t len, uint32_t lkey)
{
	struct mlx5_wqe_data_seg *data = (void *)segment, *end = data + room / sizeof(*data);

	if (likely(len > 0))
		*data++ = (struct mlx5_wqe_data_seg){
			.byte_count = htobe32(len),
			.lkey = htobe32(lkey),
			.addr = htobe64((uintptr_t)addr),
		};
	if (data < end)
		*data = (struct mlx5_wqe_data_seg){.lkey = htobe32(MLX5_INVALID_LKEY)};
}

bool mlx5_recv_ring_build(struct mlx5_recv_ring *ring, const void *addr, uint32_t len,
			  uint32_t lkey)
{
	uint32_t place = ring->next & (ring->nentries - 1);

	if (unlikely((uint16_t)(ring->next - ring->first) >= ring->nentries ||
		     !mlx5_recv_is_valid(len)))
		return false;
	mlx5_recv_put(ring->ring + (size_t)place * ring->stride, ring->stride, addr, len, lkey);
	ring->next++;
	return true;
}

void mlx5_recv_ring_notify(struct mlx5_recv_ring *ring)
{
	/* When the device sees the record, it must also see the receives that the record counts. */
	mlx5_barrier_host_stores();
	*ring->record = htobe32(ring->next);
}

bool mlx5_recv_ring_complete(struct mlx5_recv_ring *ring, uint16_t counter)
{
	if (unlikely(ring->next == ring->first || counter != ring->first))
		return false;
	ring->first++;
	return true;
}
