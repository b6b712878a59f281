/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_H
#define MLX5_H

/*
 * The mlx5 driver works with ConnectX devices. It makes connections, registers memory and handles
 * events by the driver verbs, and has a data path of its own: it writes work queue entries and
 * reads completions without libibverbs. libmlx5 creates the queues. After that, it must not post or
 * poll on them.
 *
 *   dev.c          the table of operations; opens a device
 *   qp.c           queue pairs, and the BlueFlame registers that they share
 *   cq.c           completion queues
 *   srq.c          receives, and the SRQ
 *   post.c         posts work requests
 *   poll.c         polls completions
 *   send_ring.c    builds entries of a send queue and rings the doorbell
 *   recv_ring.c    builds entries of a receive queue
 *   srq_ring.c     builds entries of a shared receive queue
 *   cq_ring.c      a completion queue in memory
 *   completion.c   reads a completion and finds its work request
 *   qp_table.h     finds a queue pair by its number
 *   doorbell.h     a BlueFlame register
 *   barrier.h      memory barriers between the processor and the device
 *
 * libmlx5 gives the queue pairs of a protection domain a few common BlueFlame registers, also if
 * they belong to different threads. Stores of two threads to one register would be mixed. Therefore
 * a device object has a thread domain, whose queue pairs have registers that no other thread uses.
 */

#include "completion.h"
#include "verbs.h"

#define MLX5_DOORBELLS                                                                             \
	4u /* registers of one thread domain: there is one, or two by other rules                  \
	    */

struct mlx5_device {
	struct mlx5_qp_table table;
	struct ibv_td *td;
	struct ibv_pd *pd; /* parent domain of the device's domain and 'td' */
	struct mlx5_srq_ring no_srq;
	struct mlx5_doorbell doorbells[MLX5_DOORBELLS]; /* those with a 'reg' are in use */
};

struct mlx5_direct_qp {
	struct mlx5_qp qp; /* the first member, which the table contains */
	struct verbs_qp *owner;
	struct ibv_pd *pd; /* parent domain of a queue pair with its own domain; NULL: none */
	struct mlx5_send_block *blocks;
};

struct mlx5_direct_cq {
	struct mlx5_cq_ring ring;
	uint8_t *reg; /* register of the doorbell that requests a report */
	uint32_t num;
};

struct mlx5_direct_srq {
	struct mlx5_srq_ring ring;
	struct mlx5_srq_entry *entries;
	uint64_t *wr_ids; /* the user's wr_id of each entry */
	uint32_t nposted;
};

/* cq.c */
int mlx5_cq_open(struct verbs_cq *cq);
void mlx5_cq_close(struct verbs_cq *cq);
int mlx5_cq_report(struct verbs_cq *cq);

/* qp.c */
int mlx5_domain_open(struct verbs_dev *dev);
void mlx5_domain_close(struct verbs_dev *dev);
struct ibv_qp *mlx5_qp_make(struct verbs_qp *qp, struct ibv_pd *pd, struct ibv_qp_init_attr *init);
int mlx5_qp_open(struct verbs_qp *qp);
void mlx5_qp_close(struct verbs_qp *qp, uint32_t num);
/*
 * Ends the use of a queue pair whose completions are not reliable. The device has no access to its
 * buffers any more, and all its work requests are flushed.
 */
void mlx5_qp_lose(struct verbs_qp *qp);

/* srq.c */
int mlx5_shared_open(struct verbs_srq *srq);
void mlx5_shared_close(struct verbs_srq *srq);
uint32_t mlx5_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
uint32_t mlx5_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs, uint32_t n);

/* post.c and poll.c */
uint32_t mlx5_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);
uint32_t mlx5_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

#endif
