/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_CQ_RING_H
#define MLX5_CQ_RING_H

/*
 * A completion queue: a ring of entries of 64 or 128 bytes that the device fills. The content of an
 * entry of 128 bytes is in its second half.
 *
 * The lowest bit of an entry's last byte changes with each round of the ring. It says whether the
 * device has filled the entry in this round. A new ring is full of entries with the opcode
 * MLX5_CQE_INVALID, because the bit alone would be ambiguous in the first round.
 */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "barrier.h"
#include "compiler.h"

#define MLX5_CQES_MAX (1u << 22) /* the device counts completions in 24 bits */

/* The number that replaces the one of a destroyed queue pair. InfiniBand reserves it for multicast,
 * so that no queue pair has it. */
#define MLX5_NUM_DESTROYED 0xffffffu

struct mlx5_cq_ring {
	uint8_t *ring;		 /* the content of the first entry */
	uint32_t mask;		 /* number of entries - 1 */
	uint32_t stride;	 /* bytes of an entry */
	uint32_t next;		 /* count of the next entry to read */
	volatile __be32 *record; /* doorbell record: the value of 'next', in 24 bits */
	bool is_broken;		 /* an entry was invalid, so that no more entries are read */
};

/* Takes over a new completion queue. Returns 0, or -EINVAL if the queue is not one that this driver
 * can use. */
int mlx5_cq_ring_init(struct mlx5_cq_ring *cq, const struct mlx5dv_cq *dv);

/* Returns the entry with the count 'count' if the device has filled it, and NULL otherwise. */
static hot_inline struct mlx5_cqe64 *mlx5_cq_ring_at(const struct mlx5_cq_ring *cq, uint32_t count)
{
	struct mlx5_cqe64 *cqe = (void *)(cq->ring + (size_t)(count & cq->mask) * cq->stride);
	uint8_t last = *(volatile uint8_t *)&cqe->op_own;
	bool is_odd = (count & (cq->mask + 1)) != 0;

	if (last >> 4 == MLX5_CQE_INVALID || (last & MLX5_CQE_OWNER_MASK) != is_odd)
		return NULL;
	/*
	 * The device writes the last byte of an entry after all others. The others must be loaded
	 * after it, so that they are those of this round.
	 */
	mlx5_barrier_host_loads();
	return cqe;
}

static hot_inline uint32_t mlx5_cqe_num(const struct mlx5_cqe64 *cqe)
{
	return be32toh(cqe->sop_drop_qpn) & 0xffffffu;
}

/* Lets the device use the entries that were read. */
static hot_inline void mlx5_cq_ring_release(struct mlx5_cq_ring *cq)
{
	/*
	 * The device may overwrite an entry as soon as it sees the record. All loads from the entry
	 * must be complete before.
	 */
	mlx5_barrier_host_loads();
	*cq->record = htobe32(cq->next & 0xffffffu);
}

/*
 * Marks the completions of a queue pair that were not read yet, after the queue pair was destroyed.
 * Its number can belong to another queue pair later, whose completions must not be confused with
 * them. The marked entries have the number MLX5_NUM_DESTROYED.
 *
 * With has_srq, completions of receives stay completions of receives, because their entries of the
 * shared receive queue must be freed. All others become completions of Sends.
 */
void mlx5_cq_ring_forget(struct mlx5_cq_ring *cq, uint32_t num, bool has_srq);

#endif
