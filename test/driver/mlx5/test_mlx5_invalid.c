/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver mlx5 with invalid completions: PROGRAM ADDRESS. Two device objects in this
 * process are connected. The test writes an invalid entry to the completion queue of one of them,
 * where the driver reads next. The connection must end, all its receives must be flushed, and the
 * peer must get its event. If the entry belongs to no queue pair, the whole device object ends.
 */
#include <endian.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "eal.h"
#include "mlx5.h"

#define RECVS 3u
#define POLLS 100000000u

extern const struct fabric_ops mlx5_ops;

/* The entries that the test writes. */
static const struct {
	const char *name;
	uint32_t num; /* 0: that of the queue pair */
	uint16_t counter;
	uint8_t last; /* opcode and format */
	bool is_of_device;
} entries[] = {
	{"opcode", 0, 0, 9 << 4, false},
	{"counter of a Send", 0, 5, MLX5_CQE_REQ << 4, false},
	{"counter of a receive", 0, 1, MLX5_CQE_RESP_SEND << 4, false},
	{"data in the entry", 0, 0, MLX5_CQE_RESP_SEND << 4 | MLX5_INLINE_SCATTER_32, false},
	{"queue pair", 0xabcdef, 0, MLX5_CQE_REQ << 4, true},
	{"compression", 0, 0, MLX5_CQE_REQ << 4 | 3 << 2, true},
};

static struct fabric_dev *devs[2];
static struct fabric_mr mr;
static struct fabric_listener *listener;
static struct fabric_qp *qps[2]; /* the first one connects */
static uint8_t memory[4096];

/* Returns the next event of a device object. */
static struct fabric_cm_event next_event(uint32_t which)
{
	struct fabric_cm_event event;
	uint32_t polls = 0;

	while (mlx5_ops.cm_poll(devs[which], &event, 1) == 0) {
		NEED(polls++ < POLLS);
		sched_yield();
	}
	return event;
}

static void post_receives(void)
{
	for (uint32_t i = 0; i < RECVS; i++) {
		const struct fabric_recv_wr wr = {
			.wr_id = i, .addr = memory, .len = sizeof(memory), .lkey = mr.lkey};

		NEED(mlx5_ops.post_recv(qps[0], &wr, 1) == 1);
	}
}

static void connect_devs(const char *address, uint32_t port)
{
	const struct fabric_qp_attr attr = {
		.max_send_wr = 4, .max_recv_wr = 4, .max_sge = 1, .max_rd_atomic = 1};
	const struct fabric_dev_config config = {
		.max_connections = 2, .max_requests = 2, .max_regions = 2, .numa_node = -1};
	struct fabric_cm_event event;
	char text[FABRIC_ADDR_MAX];

	snprintf(text, sizeof(text), "%s:%u", address, port);
	for (uint32_t i = 0; i < 2; i++)
		NEED(mlx5_ops.open(&config, &devs[i]) == 0);
	NEED(mlx5_ops.mr_register(devs[0], memory, sizeof(memory), FABRIC_LOCAL_WRITE, -1, 0,
				  &mr) == 0);
	NEED(mlx5_ops.listen(devs[1], text, 2, NULL, &listener) == 0);
	NEED(mlx5_ops.connect(devs[0], text, &attr, NULL, 0, &qps[0]) == 0);
	event = next_event(1);
	NEED(event.kind == FABRIC_CM_REQUEST);
	NEED(mlx5_ops.accept(devs[1], event.req, &attr, NULL, 0, &qps[1]) == 0);
	NEED(next_event(0).kind == FABRIC_CM_ESTABLISHED);
	NEED(next_event(1).kind == FABRIC_CM_ESTABLISHED);
	post_receives();
}

static void disconnect_devs(void)
{
	for (uint32_t i = 0; i < 2; i++)
		mlx5_ops.qp_destroy(qps[i]);
	mlx5_ops.unlisten(listener);
	mlx5_ops.mr_deregister(devs[0], &mr);
	for (uint32_t i = 0; i < 2; i++)
		mlx5_ops.close(devs[i]);
}

/* Writes an entry where the driver reads next. */
static void forge(uint32_t which)
{
	struct verbs_qp *qp = (struct verbs_qp *)qps[0];
	struct mlx5_cq_ring *ring = &((struct mlx5_direct_cq *)qp->cq->direct)->ring;
	struct mlx5_cqe64 *cqe =
		(void *)(ring->ring + (size_t)(ring->next & ring->mask) * ring->stride);
	uint32_t num = entries[which].num ? entries[which].num : qp->ibv->qp_num;

	NEED(mlx5_cq_ring_at(ring, ring->next) == NULL);
	cqe->sop_drop_qpn = htobe32(num);
	cqe->wqe_counter = htobe16(entries[which].counter);
	cqe->op_own = entries[which].last | ((ring->next & (ring->mask + 1)) != 0);
	NEED(mlx5_cq_ring_at(ring, ring->next) != NULL);
}

/* Polls until the receives are flushed, and checks that there is no other completion. */
static void expect_flushed(uint32_t n)
{
	struct fabric_wc wcs[2 * RECVS];
	uint32_t polls = 0, done = 0;

	while (done < n) {
		uint32_t got = mlx5_ops.poll(devs[0], wcs, 2 * RECVS);

		for (uint32_t i = 0; i < got; i++) {
			NEED(wcs[i].op == FABRIC_RECV && wcs[i].wr_id == done++ % RECVS);
			NEED(wcs[i].status == FABRIC_ERR_FLUSHED);
		}
		NEED(polls++ < POLLS);
	}
	NEED(mlx5_ops.poll(devs[0], wcs, 2 * RECVS) == 0);
}

int main(int argc, char **argv)
{
	const uint32_t n = sizeof(entries) / sizeof(entries[0]);

	if (argc != 2) {
		fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
		return 2;
	}
	if (mem_eal_start(NULL) != 0)
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		printf("%s\n", entries[i].name);
		connect_devs(argv[1], 25000 + i);
		forge(i);
		expect_flushed(RECVS);
		post_receives();
		expect_flushed(RECVS);
		NEED(next_event(1).kind == FABRIC_CM_DISCONNECTED);
		if (entries[i].is_of_device)
			NEED(next_event(0).kind == FABRIC_CM_DISCONNECTED);
		disconnect_devs();
	}
	return 0;
}
