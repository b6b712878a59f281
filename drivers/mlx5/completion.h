/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_COMPLETION_H
#define MLX5_COMPLETION_H

/*
 * Reads completions, and finds the work request of each. The device is trusted with memory that it
 * reaches by DMA. But nothing in an entry is used as an index or a pointer before it was checked,
 * so that an invalid entry ends a connection or the use of the device, and changes nothing else.
 */

#include "cq_ring.h"
#include "qp_table.h"
#include "srq_ring.h"

struct mlx5_completion {
	struct mlx5_qp *qp; /* NULL: the queue pair was destroyed */
	bool is_recv;
	bool is_write; /* an RDMA WRITE with immediate data has used the receive */
	bool has_inv;  /* the peer's Send named a key to invalidate, which is 'inv_rkey' */
	enum ibv_wc_status status;
	/*
	 * A Send and other entries of the send queue: the caller's position. Earlier entries of the
	 * queue are complete too. A receive of the shared receive queue: the index of its entry. A
	 * receive of a queue pair: not used, because these complete in order.
	 */
	uint32_t position;
	uint32_t byte_len; /* of a received message */
	uint32_t inv_rkey;
};

enum mlx5_poll {
	MLX5_POLL_EMPTY, /* there is no further entry */
	MLX5_POLL_DONE,	 /* a work request is complete */
	MLX5_POLL_STALE, /* a work request of a destroyed queue pair is complete */
	/*
	 * The entry is invalid, or its data are not in the buffers of the work request. The queue
	 * pair of the completion must be closed. Work requests of it can be without completions.
	 */
	MLX5_POLL_BAD_QP,
	/* The entry is invalid, and does not belong to a known queue pair, or the queue can't be
	 * read any further. The device must not be used any more. */
	MLX5_POLL_BAD_DEVICE,
};

/*
 * Reads one entry, and fills in *completion. Its members other than 'qp' are valid with
 * MLX5_POLL_DONE only. A destroyed queue pair can have a completion of a shared receive, which then
 * has the 'qp' NULL. 'srq' has no entries if the device has no shared receive queue.
 *
 * The caller lets the device use the entry again by mlx5_cq_ring_release().
 */
enum mlx5_poll mlx5_poll_one(struct mlx5_cq_ring *cq, const struct mlx5_qp_table *table,
			     struct mlx5_srq_ring *srq, struct mlx5_completion *completion);

#endif
