/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_SEND_RING_H
#define MLX5_SEND_RING_H

/*
 * The send queue of a queue pair: builds work queue entries and rings the doorbell.
 *
 * The queue is a ring of blocks of 64 bytes. An entry begins at a block and consists of segments of
 * 16, 48 or 64 bytes. It can continue at the beginning of the ring, but no segment does: the ring
 * ends between two segments. Inline data are the exception, and are divided there.
 *
 * Blocks are counted in 16 bits. The count modulo the size of the ring is the place of a block. An
 * entry begins with the count of its first block, and the device reports this count when the entry
 * is complete.
 *
 * The caller numbers its work requests by positions. The ring has the position of each entry, so
 * that a completion leads to the work request.
 */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "doorbell.h"
#include "fabric.h"

#define MLX5_SEND_BLOCKS_MAX 32768u /* so that counts of 16 bits distinguish full from empty */

/* The entry that begins at a block. */
struct mlx5_send_block {
	uint32_t position; /* the caller's number of the work request */
	uint32_t nblocks;  /* 0: no entry begins here */
};

struct mlx5_send_ring {
	uint8_t *ring;
	uint32_t mask;	/* bytes of the ring - 1 */
	uint32_t num;	/* number of the queue pair */
	uint16_t next;	/* count of the block at which the next entry begins */
	uint16_t last;	/* count of the block at which the latest entry begins */
	uint16_t rung;	/* value of 'next' at the latest doorbell */
	uint16_t first; /* count of the block at which the oldest outstanding entry begins */
	uint8_t fence;	/* fence of the next entry: 0 or MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE */
	volatile __be32 *record; /* doorbell record: the value of 'next' */
	struct mlx5_doorbell *doorbell;
	struct mlx5_send_block *blocks; /* for each block of the ring */
};

/*
 * Takes over the send queue of a new queue pair with the number 'num'. 'blocks' has an element for
 * each block of the queue (dv->sq.wqe_cnt). Returns 0, or -EINVAL if the queue is not one that this
 * driver can use.
 */
int mlx5_send_ring_init(struct mlx5_send_ring *ring, const struct mlx5dv_qp *dv, uint32_t num,
			struct mlx5_doorbell *doorbell, struct mlx5_send_block *blocks);

/*
 * Builds the entry of a work request, which is not a bind. The device does not see the entry before
 * mlx5_send_ring_notify(). Returns false, and builds nothing, if the work request is too long for
 * an entry, or if the ring has too few free blocks.
 */
bool mlx5_send_ring_build(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
			  uint32_t position);

/* Builds the entry that binds a window over wr->sge[0]. 'rkey' is the present key of the window,
 * and 'new_rkey' the next one. Returns as mlx5_send_ring_build(). */
bool mlx5_send_ring_build_bind(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
			       uint32_t position, uint32_t rkey, uint32_t new_rkey);

/* Passes all entries that were built since the previous call to the device, with one doorbell. */
void mlx5_send_ring_notify(struct mlx5_send_ring *ring);

/*
 * Frees the blocks of the entry that begins at the block with the count 'counter', and of all
 * earlier entries. Sets *position to that of the entry. Returns false, and changes nothing, if no
 * outstanding entry begins there.
 */
bool mlx5_send_ring_complete(struct mlx5_send_ring *ring, uint16_t counter, uint32_t *position);

#endif
