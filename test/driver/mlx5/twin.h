/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TWIN_H
#define TWIN_H

/*
 * Queues of a device that libmlx5 drives, each with a copy in which the data path of the driver
 * mlx5 builds its entries. Completions are read by both, the driver first.
 */

#include "device.h"

#define TWIN_RECV_BYTES 8192u	    /* length of the shortest receive */
#define TWIN_RECVS_AT	(64u << 10) /* offset in the memory, from which on receives are */
#define TWIN_MEMORY	(128u << 10)

struct twin {
	struct mlx5_qp mine;
	struct ibv_qp *ibv;
	struct mlx5dv_qp theirs;
	uint8_t *send, *recv; /* the copies */
	__be32 record[2];
	struct mlx5_send_block *blocks;
	struct mlx5_doorbell doorbell;
	uint64_t reg[64];
	struct ibv_mw *window;
	uint32_t key; /* present key of the window */
	bool is_bound;
	uint32_t posted, recvs_posted, recvs_done; /* positions of the next work requests */
};

/* The objects that all twins share. */
struct twins {
	struct device device;
	struct ibv_cq *cq;
	struct mlx5_cq_ring cq_mine;
	__be32 cq_record;
	struct mlx5_qp_table table;
	uint64_t ncompletions, nrecvs, nshared_recvs;
	/* the shared receive queue, and a copy of it */
	struct ibv_srq *srq;
	struct mlx5dv_srq srq_theirs;
	struct mlx5_srq_ring srq_mine;
	struct mlx5_srq_entry *srq_entries;
	uint8_t *srq_copy;
	__be32 srq_record;
	uint32_t nshared; /* shared receives that are posted */
};

extern struct twins twins;

void twin_start(void);
void twin_finish(void);
/* The shared receive queue exists as long as there are twins that use it. */
void twin_shared_open(uint32_t recv_sges);
void twin_shared_close(void);
void twin_open(struct twin *twin, bool is_shared, uint32_t recv_sges);
void twin_close(struct twin *twin);

/* Posts 'n' receives of random lengths with both, and compares the queues. */
void twin_post_receives(struct twin *twin, uint32_t n);
/* Waits for one completion, which both read, and must agree on. */
struct mlx5_completion twin_next_completion(void);

#endif
