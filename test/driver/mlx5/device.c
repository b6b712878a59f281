/* SPDX-License-Identifier: BSD-3-Clause */
#include "device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT 1u

void device_need(bool holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: %s does not hold (errno: %s)\n", file, line, condition,
		strerror(errno));
	exit(1);
}

uint32_t device_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

void device_open(struct device *device, size_t size)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **at = list;
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;

	NEED(list != NULL);
	while (*at && !mlx5dv_is_supported(*at))
		at++;
	NEED(*at != NULL);
	device->context = ibv_open_device(*at);
	NEED(device->context != NULL);
	ibv_free_device_list(list);
	device->pd = ibv_alloc_pd(device->context);
	NEED(device->pd != NULL);
	device->size = size;
	device->memory = aligned_alloc(4096, size);
	NEED(device->memory != NULL);
	for (size_t i = 0; i < size; i++)
		device->memory[i] = (uint8_t)device_random();
	device->mr = ibv_reg_mr(device->pd, device->memory, size, access);
	NEED(device->mr != NULL);
}

/* Ends the program if it runs over the model of a device, and violated a rule of the device. */
static void check_violations(void)
{
	uint64_t (*violations)(void) = NULL;

	*(void **)&violations = dlsym(RTLD_DEFAULT, "mlx5_model_violations");
	NEED(!violations || violations() == 0);
}

void device_close(struct device *device)
{
	NEED(ibv_dereg_mr(device->mr) == 0);
	NEED(ibv_dealloc_pd(device->pd) == 0);
	NEED(ibv_close_device(device->context) == 0);
	check_violations();
	free(device->memory);
}

struct ibv_cq *device_cq(const struct device *device, uint32_t n)
{
	struct ibv_cq *cq = ibv_create_cq(device->context, (int)n, NULL, NULL, 0);

	NEED(cq != NULL);
	return cq;
}

struct ibv_srq *device_srq(const struct device *device, uint32_t recv_sges)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = DEVICE_RECVS, .max_sge = recv_sges}};
	struct ibv_srq *srq = ibv_create_srq(device->pd, &attr);

	NEED(srq != NULL);
	return srq;
}

struct ibv_qp *device_qp(const struct device *device, struct ibv_cq *cq, struct ibv_srq *srq,
			 uint32_t recv_sges)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = device->pd,
		.cap = {.max_send_wr = DEVICE_SENDS,
			.max_recv_wr = srq ? 0 : DEVICE_RECVS,
			.max_send_sge = DEVICE_SGES,
			.max_recv_sge = srq ? 0 : recv_sges,
			.max_inline_data = DEVICE_INLINE},
	};
	struct mlx5dv_qp_init_attr more = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(device->context, &attr, &more);

	NEED(qp != NULL);
	return qp;
}

static void connect_one(const struct device *device, struct ibv_qp *qp, uint32_t peer,
			uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	union ibv_gid gid;

	NEED(ibv_query_gid(device->context, PORT, 0, &gid) == 0);
	NEED(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = PORT, .grh = {.dgid = gid, .hop_limit = 1}},
	};
	NEED(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = rnr_retry,
		.max_rd_atomic = 16,
	};
	NEED(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

void device_connect(const struct device *device, struct ibv_qp *a, struct ibv_qp *b,
		    uint8_t rnr_retry)
{
	connect_one(device, a, b->qp_num, rnr_retry);
	connect_one(device, b, a->qp_num, rnr_retry);
}

struct mlx5dv_qp device_dv_qp(struct ibv_qp *qp)
{
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {.in = qp, .out = &dv}};

	NEED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) == 0);
	return dv;
}

struct mlx5dv_cq device_dv_cq(struct ibv_cq *cq)
{
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj obj = {.cq = {.in = cq, .out = &dv}};

	NEED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) == 0);
	return dv;
}

struct mlx5dv_srq device_dv_srq(struct ibv_srq *srq)
{
	struct mlx5dv_srq dv = {0};
	struct mlx5dv_obj obj = {.srq = {.in = srq, .out = &dv}};

	NEED(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ) == 0);
	return dv;
}
