/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_SRQ_RING_H
#define MLX5_SRQ_RING_H

/*
 * A shared receive queue: an array of entries that are linked to a list. The list begins with the
 * posted receives that the device still has, followed by the free entries. The head is the first
 * free entry, and the tail the last one.
 *
 * A post fills the head, and moves the head to the next entry. The device uses entries in the order
 * of the list, but receives complete in any order. A completed entry becomes the new tail. The tail
 * itself is never posted, because its link is not known yet.
 *
 * The links are in host memory for the device. This side has a copy of its own and does not read
 * them again.
 */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#define MLX5_SRQ_ENTRIES_MAX 65536u /* an entry is named by 16 bits */

/* An entry of the queue, as this side knows it. */
struct mlx5_srq_entry {
	uint16_t next;	/* index of the next entry in the list; the tail has none */
	bool is_posted; /* the entry has a receive without a completion */
};

struct mlx5_srq_ring {
	uint8_t *ring;
	uint32_t stride;   /* bytes of an entry */
	uint32_t nentries; /* 0: there is no shared receive queue */
	uint16_t head, tail;
	uint16_t posted;	 /* number of posts, which wraps */
	volatile __be32 *record; /* doorbell record: the value of 'posted' */
	struct mlx5_srq_entry *entries;
};

/* Returns the number of entries of a new shared receive queue, which are one more than the receives
 * that can be outstanding. */
static inline uint32_t mlx5_srq_nentries(const struct mlx5dv_srq *dv)
{
	return dv->tail + 1;
}

/*
 * Takes over a new shared receive queue. 'entries' has mlx5_srq_nentries() elements. Returns 0, or
 * -EINVAL if the queue is not one that this driver can use.
 */
int mlx5_srq_ring_init(struct mlx5_srq_ring *srq, const struct mlx5dv_srq *dv,
		       struct mlx5_srq_entry *entries);

/*
 * Builds a receive, and sets *index to the index of its entry. The device does not see the receive
 * before mlx5_srq_ring_notify(). Returns false if the queue is full, or if the receive is too long.
 */
bool mlx5_srq_ring_build(struct mlx5_srq_ring *srq, const void *addr, uint32_t len, uint32_t lkey,
			 uint16_t *index);

/* Passes all receives that were built to the device. */
void mlx5_srq_ring_notify(struct mlx5_srq_ring *srq);

/* Frees an entry whose receive is complete. Returns false, and changes nothing, if the entry has no
 * posted receive. */
bool mlx5_srq_ring_complete(struct mlx5_srq_ring *srq, uint16_t index);

#endif
