/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs random work requests by the data path of the driver mlx5 alone: PROGRAM [N]. libmlx5 only
 * creates the objects. The driver builds the entries in the queues of the device, rings the
 * doorbells, reads the completions and gives their entries back, for N rounds. The completion queue
 * is small, so that it wraps many times.
 *
 * Each message, and the data of each WRITE and READ, must arrive. A doorbell that is missing or
 * wrong makes the program wait until it gives up.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define SIZE	 (512u << 10)
#define HALF	 (SIZE / 2) /* the first half is the source of all data and never changes */
#define CHAIN	 4u
#define CQES	 63u
#define MSG	 1024u /* longest message */
#define SINKS_AT HALF  /* the elements of a chain write to sinks of MSG bytes */
#define RECVS_AT (HALF + CHAIN * MSG)
#define POLLS	 100000000u
#define BUCKETS	 4u

/* The objects of one side of a connection. */
struct end {
	struct mlx5_qp qp;
	struct ibv_qp *ibv;
	struct mlx5_send_block *blocks;
	struct ibv_mw *window;
	uint32_t key; /* present key of the window */
	bool is_bound;
	struct fabric_sge bound; /* memory of the window */
	uint32_t posted, recvs_done;
	uint8_t *recvs; /* buffers of its receive queue */
};

/* The requests of a round, and what must arrive. */
struct chain {
	struct fabric_wr wrs[CHAIN];
	struct fabric_sge sges[CHAIN];
	uint32_t messages[CHAIN]; /* indices of the work requests that send messages */
	uint32_t n, nmessages, nreceived;
};

static struct device device;
static struct ibv_cq *ibv_cq;
static struct ibv_srq *ibv_srq;
static struct mlx5_cq_ring cq;
static struct mlx5_srq_ring srq;
static struct mlx5_srq_entry *srq_entries;
static struct mlx5_qp *buckets[BUCKETS];
static struct mlx5_qp_table table = {.buckets = buckets, .mask = BUCKETS - 1};
static struct mlx5_doorbell doorbells[8];
static struct end ends[4]; /* the last two have shared receives */

/* Returns the doorbell of a register, which queue pairs share. */
static struct mlx5_doorbell *doorbell_of(const struct mlx5dv_qp *dv)
{
	struct mlx5_doorbell *doorbell = doorbells;

	while (doorbell->reg && doorbell->reg != dv->bf.reg)
		doorbell++;
	*doorbell = (struct mlx5_doorbell){.reg = dv->bf.reg, .bytes = dv->bf.size};
	return doorbell;
}

static uint8_t *shared_buffer(uint32_t index)
{
	return device.memory + RECVS_AT + (2 * DEVICE_RECVS + index) * MSG;
}

static void post_shared(void)
{
	uint16_t index = srq.head;

	NEED(mlx5_srq_ring_build(&srq, shared_buffer(index), MSG, device.mr->lkey, &index));
	mlx5_srq_ring_notify(&srq);
}

static void post_own(struct end *end)
{
	uint32_t place = end->qp.recv.next % DEVICE_RECVS;

	NEED(mlx5_recv_ring_build(&end->qp.recv, end->recvs + place * MSG, MSG, device.mr->lkey));
	mlx5_recv_ring_notify(&end->qp.recv);
}

static void end_open(uint32_t i)
{
	struct end *end = &ends[i];
	struct mlx5dv_qp dv;

	end->qp.has_srq = i >= 2;
	end->ibv = device_qp(&device, ibv_cq, end->qp.has_srq ? ibv_srq : NULL, 1);
	dv = device_dv_qp(end->ibv);
	end->blocks = calloc(dv.sq.wqe_cnt, sizeof(end->blocks[0]));
	NEED(end->blocks != NULL);
	NEED(mlx5_send_ring_init(&end->qp.send, &dv, end->ibv->qp_num, doorbell_of(&dv),
				 end->blocks) == 0);
	NEED(mlx5_recv_ring_init(&end->qp.recv, &dv) == 0);
	mlx5_qp_table_add(&table, &end->qp);
	end->window = ibv_alloc_mw(device.pd, IBV_MW_TYPE_2);
	NEED(end->window != NULL);
	end->key = end->window->rkey;
	end->recvs = device.memory + RECVS_AT + i * DEVICE_RECVS * MSG;
	for (uint32_t n = 0; n < 8; n++)
		if (end->qp.has_srq)
			post_shared();
		else
			post_own(end);
}

static void end_close(struct end *end)
{
	NEED(ibv_destroy_qp(end->ibv) == 0);
	NEED(ibv_dealloc_mw(end->window) == 0);
	mlx5_qp_table_remove(&table, &end->qp);
	free(end->blocks);
}

static void start(void)
{
	struct mlx5dv_srq dv_srq;
	struct mlx5dv_cq dv_cq;

	device_open(&device, SIZE);
	ibv_cq = device_cq(&device, CQES);
	ibv_srq = device_srq(&device, 1);
	dv_cq = device_dv_cq(ibv_cq);
	dv_srq = device_dv_srq(ibv_srq);
	srq_entries = calloc(mlx5_srq_nentries(&dv_srq), sizeof(srq_entries[0]));
	NEED(srq_entries != NULL);
	NEED(RECVS_AT + (2 * DEVICE_RECVS + mlx5_srq_nentries(&dv_srq)) * MSG <= SIZE);
	NEED(mlx5_cq_ring_init(&cq, &dv_cq) == 0);
	NEED(mlx5_srq_ring_init(&srq, &dv_srq, srq_entries) == 0);
	for (uint32_t i = 0; i < 4; i++)
		end_open(i);
	device_connect(&device, ends[0].ibv, ends[1].ibv, 7);
	device_connect(&device, ends[2].ibv, ends[3].ibv, 7);
}

static void finish(void)
{
	for (uint32_t i = 0; i < 4; i++)
		end_close(&ends[i]);
	NEED(ibv_destroy_srq(ibv_srq) == 0);
	NEED(ibv_destroy_cq(ibv_cq) == 0);
	free(srq_entries);
	device_close(&device);
}

/* ---- one round ---- */

/* Adds a random work request to a chain. */
static void add(struct chain *chain, struct end *end, struct end *peer)
{
	struct fabric_wr *wr = &chain->wrs[chain->n];
	uint8_t *source = device.memory + device_random() % (HALF - MSG);
	uint8_t *sink = device.memory + SINKS_AT + chain->n * MSG;
	uint32_t len = 1 + device_random() % MSG;

	*wr = (struct fabric_wr){.op = (enum fabric_op)(device_random() % FABRIC_RECV),
				 .flags = device_random() % 4 ? 0 : FABRIC_FENCE,
				 .sge = &chain->sges[chain->n],
				 .nsge = 1,
				 .raddr = (uintptr_t)source,
				 .rkey = device.mr->rkey,
				 .access = FABRIC_REMOTE_READ};
	if (wr->op == FABRIC_SEND_INV && !peer->is_bound)
		wr->op = FABRIC_SEND;
	if (wr->op == FABRIC_BIND_MW && end->is_bound)
		wr->op = FABRIC_LOCAL_INV;
	if (wr->op == FABRIC_LOCAL_INV && !end->is_bound)
		wr->op = FABRIC_BIND_MW;
	if (wr->op < FABRIC_READ && device_random() % 2) {
		wr->flags |= FABRIC_INLINE;
		len = 1 + len % DEVICE_INLINE;
	}
	wr->sge[0] = (struct fabric_sge){source, len, device.mr->lkey};
	if (wr->op == FABRIC_READ) {
		wr->sge[0].addr = sink;
		if (peer->is_bound) {
			wr->sge[0].len = peer->bound.len;
			wr->raddr = (uintptr_t)peer->bound.addr;
			wr->rkey = peer->key;
		}
	}
	if (wr->op == FABRIC_WRITE)
		wr->raddr = (uintptr_t)sink;
	if (wr->op == FABRIC_SEND || wr->op == FABRIC_SEND_INV)
		chain->messages[chain->nmessages++] = chain->n;
	if (wr->op == FABRIC_SEND_INV) {
		wr->rkey = peer->key;
		peer->is_bound = false;
	}
	if (wr->op == FABRIC_LOCAL_INV) {
		wr->rkey = end->key;
		end->is_bound = false;
	}
	if (wr->op == FABRIC_BIND_MW) {
		end->bound = wr->sge[0];
		end->is_bound = true;
	}
	chain->n++;
}

static bool build(struct end *end, const struct fabric_wr *wr)
{
	uint32_t key = end->key;

	if (wr->op != FABRIC_BIND_MW)
		return mlx5_send_ring_build(&end->qp.send, wr, end->posted++);
	end->key = ibv_inc_rkey(key);
	return mlx5_send_ring_build_bind(&end->qp.send, wr, end->posted++, key, end->key);
}

/* A message has arrived: compares it, and posts its receive again. */
static void received(struct chain *chain, struct end *to, const struct mlx5_completion *completion)
{
	const struct fabric_wr *wr = &chain->wrs[chain->messages[chain->nreceived]];
	const uint8_t *buffer = to->qp.has_srq ? shared_buffer(completion->position)
					       : to->recvs + to->recvs_done++ % DEVICE_RECVS * MSG;

	NEED(chain->nreceived++ < chain->nmessages);
	NEED(completion->byte_len == wr->sge[0].len);
	NEED(memcmp(buffer, wr->sge[0].addr, completion->byte_len) == 0);
	NEED(completion->has_inv == (wr->op == FABRIC_SEND_INV));
	NEED(!completion->has_inv || completion->inv_rkey == wr->rkey);
	if (to->qp.has_srq)
		post_shared();
	else
		post_own(to);
}

/* Waits for the last work request of the chain, and for all its messages. */
static void wait_for(struct chain *chain, struct end *end, struct end *peer)
{
	struct mlx5_completion completion;
	uint32_t polls = 0;
	bool is_sent = false;

	while (!is_sent || chain->nreceived < chain->nmessages) {
		enum mlx5_poll result = mlx5_poll_one(&cq, &table, &srq, &completion);

		if (result == MLX5_POLL_EMPTY) {
			NEED(polls++ < POLLS);
			sched_yield();
			continue;
		}
		NEED(result == MLX5_POLL_DONE && completion.status == IBV_WC_SUCCESS);
		NEED(completion.qp == (completion.is_recv ? &peer->qp : &end->qp));
		if (completion.is_recv)
			received(chain, peer, &completion);
		else
			NEED(completion.position == end->posted - 1);
		is_sent |= !completion.is_recv;
		mlx5_cq_ring_release(&cq);
	}
}

static void run_round(struct end *end, struct end *peer)
{
	uint32_t n = 1 + device_random() % 2 * (device_random() % CHAIN);
	struct chain chain = {0};

	memset(device.memory + SINKS_AT, 0, CHAIN * MSG);
	while (chain.n < n) {
		struct fabric_wr *wr = &chain.wrs[chain.n];

		add(&chain, end, peer); /* which counts chain.n up */
		wr->flags |= chain.n == n ? FABRIC_SIGNALED : 0;
		NEED(build(end, wr));
	}
	mlx5_send_ring_notify(&end->qp.send);
	wait_for(&chain, end, peer);
	for (uint32_t i = 0; i < n; i++) {
		const struct fabric_wr *wr = &chain.wrs[i];
		const void *from = wr->sge[0].addr, *raddr = (const void *)(uintptr_t)wr->raddr;

		if (wr->op == FABRIC_WRITE || wr->op == FABRIC_READ)
			NEED(memcmp(from, raddr, wr->sge[0].len) == 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;

	if (argc > 2 || rounds == 0) {
		fprintf(stderr, "usage: %s [N]\n", argv[0]);
		return 2;
	}
	start();
	for (uint64_t i = 0; i < rounds; i++) {
		uint32_t which = device_random() % 4;

		run_round(&ends[which], &ends[which ^ 1]);
	}
	printf("%llu rounds, %u completions\n", (unsigned long long)rounds, cq.next);
	finish();
	return 0;
}
