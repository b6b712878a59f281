/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts and polls the same bursts of 16 work requests by the data path of the driver mlx5 and by
 * libmlx5, so that callgrind can count the instructions of each. check_instructions.py runs this
 * program under callgrind. The program itself measures no time.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler.h"
#include "device.h"

#define BURST  16u
#define ROUNDS 200u
#define POLLS  100000000u
#define BYTES  64u

/* A queue pair with its peer. Each of the two has a completion queue of its own. */
struct end {
	struct ibv_cq *cq, *peer_cq;
	struct ibv_qp *qp, *peer;
};

static struct device device;
static struct end mine, theirs;
static struct mlx5_qp qp;
static struct mlx5_qp *buckets[1];
static struct mlx5_qp_table table = {.buckets = buckets};
static struct mlx5_cq_ring cq;
static struct mlx5_srq_ring no_srq;
static struct mlx5_doorbell doorbell;
static struct fabric_wr wrs[BURST];
static struct fabric_sge sges[BURST];
static struct ibv_send_wr ibv_wrs[BURST];
static struct ibv_sge ibv_sges[BURST];
static struct mlx5_completion completions[BURST];
static struct ibv_wc wcs[BURST];

void measure_post_mlx5(uint32_t position);
void measure_post_libmlx5(void);
uint32_t measure_poll_mlx5(void);
uint32_t measure_poll_libmlx5(void);

out_of_line void measure_post_mlx5(uint32_t position)
{
	bool is_built = true;

	for (uint32_t i = 0; i < BURST; i++)
		is_built &= mlx5_send_ring_build(&qp.send, &wrs[i], position + i);
	mlx5_send_ring_notify(&qp.send);
	NEED(is_built);
}

out_of_line void measure_post_libmlx5(void)
{
	struct ibv_send_wr *bad;

	NEED(ibv_post_send(theirs.qp, ibv_wrs, &bad) == 0);
}

out_of_line uint32_t measure_poll_mlx5(void)
{
	uint32_t n = 0;

	while (n < BURST && mlx5_poll_one(&cq, &table, &no_srq, &completions[n]) == MLX5_POLL_DONE)
		n++;
	mlx5_cq_ring_release(&cq);
	return n;
}

out_of_line uint32_t measure_poll_libmlx5(void)
{
	return (uint32_t)ibv_poll_cq(theirs.cq, (int)BURST, wcs);
}

static void end_open(struct end *end)
{
	end->cq = device_cq(&device, 63);
	end->peer_cq = device_cq(&device, 63);
	end->qp = device_qp(&device, end->cq, NULL, 1);
	end->peer = device_qp(&device, end->peer_cq, NULL, 1);
	device_connect(&device, end->qp, end->peer, 7);
}

static void end_close(struct end *end)
{
	NEED(ibv_destroy_qp(end->qp) == 0 && ibv_destroy_qp(end->peer) == 0);
	NEED(ibv_destroy_cq(end->cq) == 0 && ibv_destroy_cq(end->peer_cq) == 0);
}

/* Makes the requests: WRITEs of one element, each with a completion. */
static void make_requests(void)
{
	for (uint32_t i = 0; i < BURST; i++) {
		uint8_t *from = device.memory + i * BYTES, *to = from + BURST * BYTES;

		sges[i] = (struct fabric_sge){from, BYTES, device.mr->lkey};
		wrs[i] = (struct fabric_wr){.op = FABRIC_WRITE,
					    .flags = FABRIC_SIGNALED,
					    .sge = &sges[i],
					    .nsge = 1,
					    .raddr = (uintptr_t)to,
					    .rkey = device.mr->rkey};
		ibv_sges[i] = (struct ibv_sge){(uintptr_t)from, BYTES, device.mr->lkey};
		ibv_wrs[i] = (struct ibv_send_wr){
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.sg_list = &ibv_sges[i],
			.num_sge = 1,
			.wr.rdma = {.remote_addr = (uintptr_t)to, .rkey = device.mr->rkey},
			.next = i + 1 < BURST ? &ibv_wrs[i + 1] : NULL,
		};
	}
}

/* Waits until the device has executed the burst of the driver, and therefore the earlier one of
 * libmlx5. */
static void wait_for_mine(void)
{
	uint32_t polls = 0;

	while (!mlx5_cq_ring_at(&cq, cq.next + BURST - 1)) {
		NEED(polls++ < POLLS);
		sched_yield();
	}
}

int main(void)
{
	struct mlx5_send_block *blocks;
	struct mlx5dv_cq dv_cq;
	struct mlx5dv_qp dv;

	device_open(&device, 4096);
	end_open(&theirs);
	end_open(&mine);
	dv = device_dv_qp(mine.qp);
	dv_cq = device_dv_cq(mine.cq);
	blocks = calloc(dv.sq.wqe_cnt, sizeof(blocks[0]));
	NEED(blocks != NULL);
	doorbell = (struct mlx5_doorbell){.reg = dv.bf.reg, .bytes = dv.bf.size};
	NEED(mlx5_send_ring_init(&qp.send, &dv, mine.qp->qp_num, &doorbell, blocks) == 0);
	NEED(mlx5_cq_ring_init(&cq, &dv_cq) == 0);
	mlx5_qp_table_add(&table, &qp);
	make_requests();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		/* The device executes the requests of libmlx5 before those of the driver. */
		measure_post_libmlx5();
		measure_post_mlx5(i * BURST);
		wait_for_mine();
		NEED(measure_poll_mlx5() == BURST);
		NEED(measure_poll_libmlx5() == BURST);
	}
	end_close(&theirs);
	end_close(&mine);
	free(blocks);
	device_close(&device);
	return 0;
}
