/* SPDX-License-Identifier: BSD-3-Clause */
#include "srq_ring.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "barrier.h"
#include "compiler.h"
#include "recv_ring.h"

static uint8_t *entry_at(const struct mlx5_srq_ring *srq, uint16_t index)
{
	return srq->ring + (size_t)index * srq->stride;
}

/* Follows the list of a new queue, which must have each entry once. Returns 0 or -EINVAL. */
static int copy_links(struct mlx5_srq_ring *srq)
{
	uint32_t index = srq->head;

	for (uint32_t n = 1; n < srq->nentries; n++) {
		const struct mlx5_wqe_srq_next_seg *link =
			(const void *)entry_at(srq, (uint16_t)index);
		uint16_t next = be16toh(link->next_wqe_index);

		/* While links are copied, is_posted marks the entries that the list had already. */
		srq->entries[index].is_posted = true;
		if (next >= srq->nentries || srq->entries[next].is_posted)
			return -EINVAL;
		srq->entries[index].next = next;
		index = next;
	}
	for (uint32_t i = 0; i < srq->nentries; i++)
		srq->entries[i].is_posted = false;
	return index == srq->tail ? 0 : -EINVAL;
}

int mlx5_srq_ring_init(struct mlx5_srq_ring *srq, const struct mlx5dv_srq *dv,
		       struct mlx5_srq_entry *entries)
{
	uint32_t n = mlx5_srq_nentries(dv);

	*srq = (struct mlx5_srq_ring){0};
	if (!dv->buf || !dv->dbrec || n < 2 || n > MLX5_SRQ_ENTRIES_MAX || dv->head >= n ||
	    dv->stride < sizeof(struct mlx5_wqe_srq_next_seg) + sizeof(struct mlx5_wqe_data_seg) ||
	    (dv->stride & (dv->stride - 1)) != 0)
		return -EINVAL;
	memset(entries, 0, n * sizeof(entries[0]));
	srq->ring = dv->buf;
	srq->stride = dv->stride;
	srq->nentries = n;
	srq->head = (uint16_t)dv->head;
	srq->tail = (uint16_t)dv->tail;
	srq->record = dv->dbrec;
	srq->entries = entries;
	return copy_links(srq);
}

bool mlx5_srq_ring_build(struct mlx5_srq_ring *srq, const void *addr, uint32_t len, uint32_t lkey,
			 uint16_t *index)
{
	const uint32_t link = (uint32_t)sizeof(struct mlx5_wqe_srq_next_seg);

	if (unlikely(srq->head == srq->tail || !mlx5_recv_is_valid(len)))
		return false;
	*index = srq->head;
	mlx5_recv_put(entry_at(srq, srq->head) + link, srq->stride - link, addr, len, lkey);
	srq->entries[srq->head].is_posted = true;
	srq->head = srq->entries[srq->head].next;
	srq->posted++;
	return true;
}

void mlx5_srq_ring_notify(struct mlx5_srq_ring *srq)
{
	/*
	 * When the device sees the record, it must also see the receives that the record counts,
	 * and the links that lead to them.
	 */
	mlx5_barrier_host_stores();
	*srq->record = htobe32(srq->posted);
}

bool mlx5_srq_ring_complete(struct mlx5_srq_ring *srq, uint16_t index)
{
	struct mlx5_wqe_srq_next_seg *link;

	if (unlikely(index >= srq->nentries || !srq->entries[index].is_posted))
		return false;
	srq->entries[index].is_posted = false;
	srq->entries[srq->tail].next = index;
	link = (void *)entry_at(srq, srq->tail);
	link->next_wqe_index = htobe16(index);
	srq->tail = index;
	return true;
}
