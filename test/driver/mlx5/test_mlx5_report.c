/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a ConnectX device, or a model of one, reports completions to a thread of the driver
 * mlx5 that sleeps: PROGRAM [N]. In each of N rounds, one completion arrives after the report was
 * requested, and ends the sleep. Another one arrives before the request, which then says that there
 * is work. A report that is missing makes the program fail after 10 s.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "mlx5.h"

#define POLLS	 100000000u
#define SLEEP_MS 10000

static struct device device;
static struct verbs_cq cq;
static struct ibv_qp *ibv[2];
static struct mlx5_send_ring ring; /* of the first queue pair */
static struct mlx5_send_block *blocks;
static struct mlx5_doorbell doorbell;
static struct ibv_comp_channel *channel;

static void start(void)
{
	struct mlx5dv_qp dv;

	device_open(&device, 4096);
	channel = ibv_create_comp_channel(device.context);
	NEED(channel != NULL);
	NEED(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
	cq.ibv = ibv_create_cq(device.context, 15, NULL, channel, 0);
	NEED(cq.ibv != NULL);
	NEED(mlx5_cq_open(&cq) == 0);
	for (uint32_t i = 0; i < 2; i++)
		ibv[i] = device_qp(&device, cq.ibv, NULL, 1);
	device_connect(&device, ibv[0], ibv[1], 7);
	dv = device_dv_qp(ibv[0]);
	blocks = calloc(dv.sq.wqe_cnt, sizeof(blocks[0]));
	NEED(blocks != NULL);
	doorbell = (struct mlx5_doorbell){.reg = dv.bf.reg, .bytes = dv.bf.size};
	NEED(mlx5_send_ring_init(&ring, &dv, ibv[0]->qp_num, &doorbell, blocks) == 0);
}

static void finish(void)
{
	for (uint32_t i = 0; i < 2; i++)
		NEED(ibv_destroy_qp(ibv[i]) == 0);
	NEED(ibv_destroy_cq(cq.ibv) == 0);
	mlx5_cq_close(&cq);
	NEED(ibv_destroy_comp_channel(channel) == 0);
	free(blocks);
	device_close(&device);
}

/* Posts a WRITE, whose completion is the only one. */
static void post(void)
{
	struct fabric_sge sge = {device.memory, 8, device.mr->lkey};
	const struct fabric_wr wr = {.op = FABRIC_WRITE,
				     .flags = FABRIC_SIGNALED,
				     .sge = &sge,
				     .nsge = 1,
				     .raddr = (uintptr_t)device.memory + 64,
				     .rkey = device.mr->rkey};

	NEED(mlx5_send_ring_build(&ring, &wr, 0));
	mlx5_send_ring_notify(&ring);
}

static void wait_for_completion(void)
{
	struct mlx5_cq_ring *entries = &((struct mlx5_direct_cq *)cq.direct)->ring;
	uint32_t polls = 0;

	while (!mlx5_cq_ring_at(entries, entries->next)) {
		NEED(polls++ < POLLS);
		sched_yield();
	}
}

static void take_completion(void)
{
	struct mlx5_cq_ring *entries = &((struct mlx5_direct_cq *)cq.direct)->ring;
	const struct mlx5_cqe64 *cqe;
	uint32_t position;

	wait_for_completion();
	cqe = mlx5_cq_ring_at(entries, entries->next);
	NEED(mlx5dv_get_cqe_opcode((struct mlx5_cqe64 *)(uintptr_t)cqe) == MLX5_CQE_REQ);
	NEED(mlx5_send_ring_complete(&ring, be16toh(cqe->wqe_counter), &position));
	entries->next++;
	mlx5_cq_ring_release(entries);
}

/* Waits for a report, and takes all reports from the channel. */
static void take_reports(void)
{
	struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
	struct ibv_cq *from;
	void *context;

	NEED(poll(&fd, 1, SLEEP_MS) == 1);
	while (ibv_get_cq_event(channel, &from, &context) == 0) {
		NEED(from == cq.ibv);
		ibv_ack_cq_events(from, 1);
	}
}

static void run_round(void)
{
	NEED(mlx5_cq_report(&cq) == 0);
	post();
	take_reports();
	take_completion();
	post();
	wait_for_completion();
	NEED(mlx5_cq_report(&cq) == -EAGAIN);
	take_reports(); /* the request has the count of an earlier completion */
	take_completion();
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;

	if (argc > 2 || rounds == 0) {
		fprintf(stderr, "usage: %s [N]\n", argv[0]);
		return 2;
	}
	start();
	for (uint64_t i = 0; i < rounds; i++)
		run_round();
	finish();
	return 0;
}
