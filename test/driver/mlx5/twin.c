/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define POLLS	100000000u
#define BUCKETS 16u

struct twins twins;

/* ---- the objects of the device ---- */

void twin_open(struct twin *twin, bool is_shared, uint32_t recv_sges)
{
	struct mlx5dv_qp copy;

	memset(twin, 0, sizeof(*twin));
	twin->ibv = device_qp(&twins.device, twins.cq, is_shared ? twins.srq : NULL, recv_sges);
	twin->theirs = device_dv_qp(twin->ibv);
	twin->send = aligned_alloc(64, twin->theirs.sq.wqe_cnt * 64u);
	twin->recv = calloc(1, twin->theirs.rq.wqe_cnt * twin->theirs.rq.stride + 1u);
	twin->blocks = calloc(twin->theirs.sq.wqe_cnt, sizeof(twin->blocks[0]));
	NEED(twin->send && twin->recv && twin->blocks);
	copy = twin->theirs;
	copy.sq.buf = twin->send;
	copy.rq.buf = twin->recv;
	copy.dbrec = twin->record;
	copy.bf.reg = twin->reg;
	copy.bf.size = sizeof(twin->reg) / 2;
	twin->doorbell = (struct mlx5_doorbell){.reg = (uint8_t *)twin->reg, .bytes = 256};
	twin->mine.has_srq = is_shared;
	NEED(mlx5_send_ring_init(&twin->mine.send, &copy, twin->ibv->qp_num, &twin->doorbell,
				 twin->blocks) == 0);
	NEED(mlx5_recv_ring_init(&twin->mine.recv, &copy) == 0);
	mlx5_qp_table_add(&twins.table, &twin->mine);
	twin->window = ibv_alloc_mw(twins.device.pd, IBV_MW_TYPE_2);
	NEED(twin->window != NULL);
	twin->key = twin->window->rkey;
}

void twin_close(struct twin *twin)
{
	mlx5_qp_table_remove(&twins.table, &twin->mine);
	NEED(ibv_destroy_qp(twin->ibv) == 0);
	NEED(ibv_dealloc_mw(twin->window) == 0);
	free(twin->send);
	free(twin->recv);
	free(twin->blocks);
}

void twin_shared_open(uint32_t recv_sges)
{
	struct mlx5dv_srq copy;

	twins.srq = device_srq(&twins.device, recv_sges);
	twins.srq_theirs = copy = device_dv_srq(twins.srq);
	twins.srq_copy = malloc((size_t)mlx5_srq_nentries(&copy) * copy.stride);
	twins.srq_entries = calloc(mlx5_srq_nentries(&copy), sizeof(twins.srq_entries[0]));
	NEED(twins.srq_copy && twins.srq_entries);
	memcpy(twins.srq_copy, twins.srq_theirs.buf,
	       (size_t)mlx5_srq_nentries(&copy) * copy.stride);
	copy.buf = twins.srq_copy;
	copy.dbrec = &twins.srq_record;
	twins.srq_record = 0;
	twins.nshared = 0;
	NEED(mlx5_srq_ring_init(&twins.srq_mine, &copy, twins.srq_entries) == 0);
}

void twin_shared_close(void)
{
	NEED(ibv_destroy_srq(twins.srq) == 0);
	free(twins.srq_copy);
	free(twins.srq_entries);
}

void twin_start(void)
{
	static struct mlx5_qp *buckets[BUCKETS];
	struct mlx5dv_cq dv;

	device_open(&twins.device, TWIN_MEMORY);
	twins.table = (struct mlx5_qp_table){.buckets = buckets, .mask = BUCKETS - 1};
	twins.cq = device_cq(&twins.device, 255);
	dv = device_dv_cq(twins.cq);
	dv.dbrec = &twins.cq_record; /* libmlx5 gives entries back to the device */
	NEED(mlx5_cq_ring_init(&twins.cq_mine, &dv) == 0);
}

void twin_finish(void)
{
	NEED(ibv_destroy_cq(twins.cq) == 0);
	device_close(&twins.device);
}

/* ---- completions ---- */

static void compare(const struct mlx5_completion *mine, const struct ibv_wc *theirs)
{
	struct twin *twin = (struct twin *)(void *)mine->qp;
	bool is_recv = mine->is_recv;

	NEED(twin && twin->ibv->qp_num == theirs->qp_num);
	NEED(mine->status == theirs->status);
	if (!is_recv) {
		NEED((theirs->wr_id & 1) == 0 && theirs->wr_id >> 1 == mine->position);
	} else if (mine->qp->has_srq) {
		NEED((theirs->wr_id & 1) == 1 && theirs->wr_id >> 1 == mine->position);
		twins.nshared--;
	} else {
		NEED((theirs->wr_id & 1) == 1 && theirs->wr_id >> 1 == twin->recvs_done++);
	}
	twins.ncompletions++;
	if (theirs->status != IBV_WC_SUCCESS)
		return;
	NEED(((theirs->opcode & IBV_WC_RECV) != 0) == is_recv);
	NEED(!is_recv || mine->byte_len == theirs->byte_len);
	NEED(((theirs->wc_flags & IBV_WC_WITH_INV) != 0) == mine->has_inv);
	NEED(!mine->has_inv || mine->inv_rkey == theirs->invalidated_rkey);
}

struct mlx5_completion twin_next_completion(void)
{
	struct mlx5_completion mine;
	enum mlx5_poll result;
	struct ibv_wc theirs;
	uint32_t polls = 0;

	while ((result = mlx5_poll_one(&twins.cq_mine, &twins.table, &twins.srq_mine, &mine)) ==
	       MLX5_POLL_EMPTY) {
		NEED(polls++ < POLLS);
		sched_yield();
	}
	NEED(result == MLX5_POLL_DONE);
	NEED(ibv_poll_cq(twins.cq, 1, &theirs) == 1);
	compare(&mine, &theirs);
	return mine;
}

/* ---- receives ---- */

static void compare_receives(const struct twin *twin)
{
	const struct mlx5dv_qp *theirs = &twin->theirs;

	NEED(memcmp(twin->recv, theirs->rq.buf, theirs->rq.wqe_cnt * theirs->rq.stride) == 0);
	NEED(twin->record[MLX5_RCV_DBR] == theirs->dbrec[MLX5_RCV_DBR]);
}

static void compare_shared(void)
{
	size_t size = (size_t)mlx5_srq_nentries(&twins.srq_theirs) * twins.srq_theirs.stride;

	NEED(memcmp(twins.srq_copy, twins.srq_theirs.buf, size) == 0);
	NEED(twins.srq_record == *twins.srq_theirs.dbrec);
}

void twin_post_receives(struct twin *twin, uint32_t n)
{
	struct ibv_recv_wr wrs[DEVICE_RECVS], *bad;
	struct ibv_sge sges[DEVICE_RECVS];
	bool is_shared = twin->mine.has_srq;

	NEED(n > 0 && n <= DEVICE_RECVS);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *addr =
			twins.device.memory + TWIN_RECVS_AT + device_random() % (TWIN_RECVS_AT / 4);
		uint32_t len = TWIN_RECV_BYTES + device_random() % TWIN_RECV_BYTES;
		uint16_t index = 0;

		if (is_shared)
			NEED(mlx5_srq_ring_build(&twins.srq_mine, addr, len, twins.device.mr->lkey,
						 &index));
		else
			NEED(mlx5_recv_ring_build(&twin->mine.recv, addr, len,
						  twins.device.mr->lkey));
		sges[i] = (struct ibv_sge){(uintptr_t)addr, len, twins.device.mr->lkey};
		wrs[i] = (struct ibv_recv_wr){
			.wr_id = (uint64_t)(is_shared ? index : twin->recvs_posted++) << 1 | 1,
			.next = i + 1 < n ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
		};
	}
	*(is_shared ? &twins.nshared_recvs : &twins.nrecvs) += n;
	if (is_shared) {
		twins.nshared += n;
		mlx5_srq_ring_notify(&twins.srq_mine);
		NEED(ibv_post_srq_recv(twins.srq, wrs, &bad) == 0);
		compare_shared();
	} else {
		mlx5_recv_ring_notify(&twin->mine.recv);
		NEED(ibv_post_recv(twin->ibv, wrs, &bad) == 0);
		compare_receives(twin);
	}
}
