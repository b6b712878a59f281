/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_QP_TABLE_H
#define MLX5_QP_TABLE_H

/* The rings of queue pairs, and a hash table that finds a queue pair by its number. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recv_ring.h"
#include "send_ring.h"

struct mlx5_qp {
	struct mlx5_send_ring send;
	struct mlx5_recv_ring recv;
	bool is_listed;	      /* the table contains it */
	bool has_srq;	      /* receives come from the shared receive queue */
	struct mlx5_qp *next; /* in its bucket */
};

struct mlx5_qp_table {
	struct mlx5_qp **buckets;
	uint32_t mask; /* number of buckets - 1 */
};

static inline struct mlx5_qp **mlx5_qp_table_bucket(const struct mlx5_qp_table *table, uint32_t num)
{
	return &table->buckets[num & table->mask];
}

/* Returns the queue pair with a number, or NULL. */
static inline struct mlx5_qp *mlx5_qp_table_find(const struct mlx5_qp_table *table, uint32_t num)
{
	struct mlx5_qp *qp = *mlx5_qp_table_bucket(table, num);

	while (qp && qp->send.num != num)
		qp = qp->next;
	return qp;
}

static inline void mlx5_qp_table_add(struct mlx5_qp_table *table, struct mlx5_qp *qp)
{
	struct mlx5_qp **bucket = mlx5_qp_table_bucket(table, qp->send.num);

	qp->next = *bucket;
	*bucket = qp;
	qp->is_listed = true;
}

/* Removes a queue pair, which must be in the table. */
static inline void mlx5_qp_table_remove(struct mlx5_qp_table *table, struct mlx5_qp *qp)
{
	struct mlx5_qp **at = mlx5_qp_table_bucket(table, qp->send.num);

	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	qp->is_listed = false;
}

#endif
