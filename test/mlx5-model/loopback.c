/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections on the model within one process. */
#include "loopback.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	    8u /* bytes of a message */
#define BLOCK	    64u
#define INLINE_AT   16u /* offset of inline data in an entry */
#define UNITS	    2u	/* of an entry with 8 bytes of inline data */
#define RECORD_SEND 1u	/* index of the word of the doorbell record */

static struct ibv_qp *create_qp(const struct loopback *loop)
{
	struct ibv_qp_init_attr init = {
		.send_cq = loop->cq,
		.recv_cq = loop->cq,
		.cap = {.max_send_wr = LOOPBACK_WRS,
			.max_recv_wr = LOOPBACK_WRS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(loop->pd, &init);

	assert_non_null(qp);
	return qp;
}

static void connect_qp(struct ibv_qp *qp, const struct ibv_qp *peer, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = rnr_retry,
				    .max_rd_atomic = 4};
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

void loopback_open(struct loopback *loop, const struct loopback_options *options)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	struct ibv_device **devices = ibv_get_device_list(NULL);

	memset(loop, 0, sizeof(*loop));
	assert_non_null(devices);
	assert_non_null(devices[0]);
	assert_string_equal(ibv_get_device_name(devices[0]), MLX5_MODEL_DEVICE);
	loop->context = ibv_open_device(devices[0]);
	ibv_free_device_list(devices);
	assert_non_null(loop->context);
	loop->pd = ibv_alloc_pd(loop->context);
	assert_non_null(loop->pd);
	loop->cq = ibv_create_cq(loop->context, (int)options->cq_entries, NULL, NULL, 0);
	assert_non_null(loop->cq);
	loop->memory = calloc(1, LOOPBACK_BYTES);
	loop->mr = ibv_reg_mr(loop->pd, loop->memory, LOOPBACK_BYTES, access);
	assert_non_null(loop->mr);
	for (uint32_t i = 0; i < options->pairs; i++) {
		loop->qp[i][0] = create_qp(loop);
		loop->qp[i][1] = create_qp(loop);
		connect_qp(loop->qp[i][0], loop->qp[i][1], options->rnr_retry);
		connect_qp(loop->qp[i][1], loop->qp[i][0], options->rnr_retry);
	}
}

void loopback_close(struct loopback *loop)
{
	mlx5_model_set_faults(NULL);
	if (!loop->context)
		return;
	for (uint32_t i = 0; i < LOOPBACK_PAIRS_MAX; i++)
		for (uint32_t j = 0; j < 2; j++)
			if (loop->qp[i][j])
				assert_int_equal(ibv_destroy_qp(loop->qp[i][j]), 0);
	if (loop->window)
		assert_int_equal(ibv_dealloc_mw(loop->window), 0);
	assert_int_equal(ibv_dereg_mr(loop->mr), 0);
	assert_int_equal(ibv_destroy_cq(loop->cq), 0);
	assert_int_equal(ibv_dealloc_pd(loop->pd), 0);
	assert_int_equal(ibv_close_device(loop->context), 0);
	free(loop->memory);
	loop->context = NULL;
}

static struct ibv_sge piece_at(const struct loopback *loop, uint32_t offset)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)loop->memory + offset, .length = PIECE, .lkey = loop->mr->lkey};
}

void loopback_recv(struct loopback *loop, struct ibv_qp *qp, uint32_t offset)
{
	struct ibv_sge sge = piece_at(loop, offset);
	struct ibv_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

void loopback_send(struct loopback *loop, struct ibv_qp *qp, uint32_t offset, unsigned flags)
{
	struct ibv_sge sge = piece_at(loop, offset);
	struct ibv_send_wr wr = {.wr_id = offset,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = flags},
			   *bad;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

void loopback_rdma(struct loopback *loop, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		   uint32_t offset, uint32_t remote, uint32_t rkey)
{
	struct ibv_sge sge = piece_at(loop, offset);
	struct ibv_send_wr wr = {.wr_id = offset,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)loop->memory + remote;
	wr.wr.rdma.rkey = rkey;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

void loopback_run(void)
{
	/* The first call lets the device work, and cannot return true after a doorbell. */
	assert_false(mlx5_model_is_idle());
}

bool loopback_poll(struct loopback *loop, struct ibv_wc *wc)
{
	return ibv_poll_cq(loop->cq, 1, wc) == 1;
}

struct ibv_wc loopback_expect(struct loopback *loop, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	while (!loopback_poll(loop, &wc))
		assert_false(mlx5_model_is_idle());
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	return wc;
}

void raw_open(struct raw_queue *raw, struct ibv_qp *qp)
{
	struct mlx5dv_obj object = {.qp = {.in = qp, .out = &raw->dv}};

	memset(raw, 0, sizeof(*raw));
	assert_int_equal(mlx5dv_init_obj(&object, MLX5DV_OBJ_QP), 0);
	raw->qpn = qp->qp_num;
	raw->next = (uint16_t)be32toh((uint32_t)raw->dv.dbrec[RECORD_SEND]);
}

uint64_t raw_write_send(struct raw_queue *raw, uint64_t data)
{
	uint32_t at = (raw->next & (raw->dv.sq.wqe_cnt - 1)) * BLOCK;
	uint8_t *entry = (uint8_t *)raw->dv.sq.buf + at;
	const struct mlx5_wqe_ctrl_seg ctrl = {
		.opmod_idx_opcode = htobe32((uint32_t)raw->next << 8 | MLX5_OPCODE_SEND),
		.qpn_ds = htobe32(raw->qpn << 8 | UNITS),
	};
	const uint32_t count = htobe32(MLX5_INLINE_SEG | PIECE);
	uint64_t first;

	memcpy(entry, &ctrl, sizeof(ctrl));
	memcpy(entry + INLINE_AT, &count, sizeof(count));
	memcpy(entry + INLINE_AT + sizeof(count), &data, sizeof(data));
	memcpy(&first, &ctrl, sizeof(first));
	raw->next++;
	return first;
}

void raw_record(struct raw_queue *raw)
{
	__atomic_store_n((uint32_t *)&raw->dv.dbrec[RECORD_SEND], htobe32(raw->next),
			 __ATOMIC_RELEASE);
}

void raw_doorbell(struct raw_queue *raw, uint64_t first)
{
	__atomic_store_n((uint64_t *)raw->dv.bf.reg, first, __ATOMIC_RELEASE);
}
