/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_RECV_RING_H
#define MLX5_RECV_RING_H

/*
 * The receive queue of a queue pair: a ring of entries of equal size, each with one data segment.
 * The device uses the entries in order. Receives need no doorbell register, because the device
 * looks at the doorbell record when a message arrives.
 */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#define MLX5_RECVS_MAX 32768u /* so that counts of 16 bits distinguish full from empty */

struct mlx5_recv_ring {
	uint8_t *ring;
	uint32_t nentries;	 /* 0: the queue pair has no receives of its own */
	uint32_t stride;	 /* bytes of an entry */
	uint16_t next;		 /* count of the next entry to post */
	uint16_t first;		 /* count of the oldest outstanding entry */
	volatile __be32 *record; /* doorbell record: the value of 'next' */
};

/* Takes over the receive queue of a new queue pair, which can have no entries. Returns 0, or
 * -EINVAL if the queue is not one that this driver can use. */
int mlx5_recv_ring_init(struct mlx5_recv_ring *ring, const struct mlx5dv_qp *dv);

/* Builds the entry of a receive. The device does not see it before mlx5_recv_ring_notify(). Returns
 * false if the ring is full, or if the receive is too long. */
bool mlx5_recv_ring_build(struct mlx5_recv_ring *ring, const void *addr, uint32_t len,
			  uint32_t lkey);

/* Passes all receives that were built to the device. */
void mlx5_recv_ring_notify(struct mlx5_recv_ring *ring);

/*
 * Frees the oldest entry, whose count must be 'counter'. Returns false, and changes nothing, if it
 * is not, or if no receive is outstanding.
 */
bool mlx5_recv_ring_complete(struct mlx5_recv_ring *ring, uint16_t counter);

/*
 * Writes the data segment of a receive to 'segment'. An entry of 'room' bytes that has room for
 * another segment gets a terminator after it, at which the device stops. A receive without bytes
 * has the terminator only, because the length 0 means 2 GiB to the device.
 */
void mlx5_recv_put(uint8_t *segment, uint32_t room, const void *addr, uint32_t len, uint32_t lkey);

/* Returns whether a receive can have this length. An entry has 31 bits for it. */
static inline bool mlx5_recv_is_valid(uint32_t len)
{
	return len <= 0x7fffffffu;
}

#endif
