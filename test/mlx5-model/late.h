/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATE_H
#define LATE_H

/*
 * Work requests whose effects are late. Completions of a send queue are in order, so that those of
 * later work requests wait behind them.
 */

#include "receive.h"

/* The work request of a send queue that is being executed. Its entry was copied out of the ring, in
 * whose middle the ring can end. */
struct work {
	_Alignas(16) uint8_t bytes[PIECES_MAX * 16];
	uint32_t units; /* 16 bytes each */
	uint8_t opcode;
	uint8_t flags; /* MLX5_WQE_CTRL_* */
	uint16_t block;
	struct mlx5_cqe64 cqe; /* its completion */
	bool is_late; /* its effect is late: a UMR, or an RDMA READ with the next members */
	struct pieces to;
	uint8_t *data; /* the bytes that were read; allocated */
};

/* Completes executed work, or appends it to the late work of the queue pair. */
void late_complete(struct qp *qp, const struct work *work);
/* Returns whether work with these flags has to wait for late work before it. */
bool late_is_fenced(const struct qp *qp, uint8_t flags);
/* Finishes the oldest late work, and completes what waits behind it. Returns whether there was any.
 */
bool late_finish_one(struct qp *qp);
void late_finish_all(struct qp *qp);
/* Forgets late work, of a queue pair that is reset or destroyed. */
void late_drop_all(struct qp *qp);

#endif
