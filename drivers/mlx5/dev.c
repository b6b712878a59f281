/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a device. This file also has the table of the driver's operations. */
#include "mlx5.h"

static bool supports(struct ibv_context *context)
{
	return mlx5dv_is_supported(context->device);
}

static int open_direct(const struct fabric_dev_config *config, struct fabric_dev **out);

const struct fabric_ops mlx5_ops = {
	.name = "mlx5",
	.summary = "ConnectX devices without libibverbs on the data path, by ADDR[:PORT] (options: "
		   "those of verbs)",
	.open = open_direct,
	VERBS_SHARED_OPS,
	.post_recv = mlx5_post_recv,
	.post_send = mlx5_post_send,
	.poll = mlx5_poll,
	.srq_post_recv = mlx5_srq_post_recv,
};

const struct verbs_path mlx5_path = {
	.ops = &mlx5_ops,
	.supports = supports,
	.dev_open = mlx5_domain_open,
	.dev_close = mlx5_domain_close,
	.cq_open = mlx5_cq_open,
	.cq_close = mlx5_cq_close,
	.cq_arm = mlx5_cq_report,
	.srq_open = mlx5_shared_open,
	.srq_close = mlx5_shared_close,
	.qp_create = mlx5_qp_make,
	.qp_open = mlx5_qp_open,
	.qp_close = mlx5_qp_close,
};

static int open_direct(const struct fabric_dev_config *config, struct fabric_dev **out)
{
	return verbs_dev_open(config, &mlx5_path, out);
}
