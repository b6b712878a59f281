/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the data path of the driver mlx5 with libmlx5, byte by byte: PROGRAM [N]. The program
 * gives the same random work requests to both, until there were N of each kind.
 *
 * libmlx5 posts to the queues of the device. The driver builds its entries in copies of these
 * queues. Before each post, both get the same content, so that the comparison covers all bytes of
 * the queue, including those that must not change. Only the fields that may_differ() names may
 * differ. The doorbell records must be equal, too.
 *
 * Both read the completions of the device, the driver first, and must agree on each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twin.h"

/* The first half of the memory is the source of data. The device writes to the second half. */
#define HALF	    (TWIN_MEMORY / 2)
#define CHAIN	    6u
#define SEG_BYTES   900u
#define KEY_CONTEXT 64u /* offset of the context of a key in an entry */

enum kind { SEND, SEND_SHORT, SEND_INV, WRITE, WRITE_SHORT, READ, BIND, INVALIDATE, NSENDS };

static const char *const kind_names[] = {"SEND",  "inline SEND",  "SEND with invalidate",
					 "WRITE", "inline WRITE", "READ",
					 "bind",  "invalidate"};

static uint64_t counts[NSENDS], nwraps;

/* A chain of work requests, for the driver and for libmlx5. */
struct chain {
	struct fabric_wr wrs[CHAIN];
	struct fabric_sge sges[CHAIN][DEVICE_SGES];
	struct fabric_mw mw;
	struct ibv_send_wr ibv[CHAIN];
	struct ibv_sge ibv_sges[CHAIN][DEVICE_SGES];
	uint32_t new_key; /* of a bind */
	uint32_t n, nmessages;
	bool has_bind;
};

/* Waits for the Send at 'position', and for 'nmessages' receives. */
static void wait_for(const struct twin *twin, uint32_t position, uint32_t nmessages)
{
	bool is_sent = false;

	while (!is_sent || nmessages > 0) {
		struct mlx5_completion completion = twin_next_completion();

		NEED(completion.status == IBV_WC_SUCCESS);
		if (completion.is_recv)
			nmessages--;
		else if (completion.qp == &twin->mine && completion.position == position)
			is_sent = true;
	}
}

/* Posts receives if there are too few for a chain of Sends. */
static void provide_receives(struct twin *twin)
{
	uint32_t have = twin->mine.has_srq ? twins.nshared : twin->recvs_posted - twin->recvs_done;

	if (have < CHAIN)
		twin_post_receives(twin, CHAIN + device_random() % (DEVICE_RECVS - 2 * CHAIN));
}

/* ---- the send queue ---- */

static void add_elements(struct chain *chain, enum kind kind)
{
	struct fabric_wr *wr = &chain->wrs[chain->n];
	struct ibv_send_wr *ibv = &chain->ibv[chain->n];
	bool is_short = kind == SEND_SHORT || kind == WRITE_SHORT ||
			(kind == SEND_INV && device_random() % 2);
	uint32_t base = kind == READ ? HALF : 0;

	wr->nsge = device_random() % (DEVICE_SGES + 1);
	for (uint32_t i = 0; i < wr->nsge; i++) {
		uint32_t most = is_short ? DEVICE_INLINE / wr->nsge : SEG_BYTES;
		uint32_t len = device_random() % 4 ? device_random() % (most + 1) : 0;
		uint8_t *addr = twins.device.memory + base + device_random() % (HALF - SEG_BYTES);

		wr->sge[i] = (struct fabric_sge){addr, len, twins.device.mr->lkey};
		ibv->sg_list[i] = (struct ibv_sge){(uintptr_t)addr, len, twins.device.mr->lkey};
	}
	ibv->num_sge = (int)wr->nsge;
	if (is_short) {
		wr->flags |= FABRIC_INLINE;
		ibv->send_flags |= IBV_SEND_INLINE;
	}
}

static void add_bind(struct chain *chain, struct twin *twin)
{
	static const uint32_t rights[] = {FABRIC_REMOTE_READ, FABRIC_REMOTE_WRITE,
					  FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE};
	struct fabric_wr *wr = &chain->wrs[chain->n];
	struct ibv_send_wr *ibv = &chain->ibv[chain->n];
	uint32_t at = device_random() % HALF, len = 1 + device_random() % HALF;
	unsigned access = 0;

	wr->access = rights[device_random() % 3];
	if (wr->access & FABRIC_REMOTE_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (wr->access & FABRIC_REMOTE_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	wr->nsge = 1;
	wr->sge[0] = (struct fabric_sge){twins.device.memory + at, len, twins.device.mr->lkey};
	wr->mw = &chain->mw;
	chain->mw.rkey = twin->key;
	chain->new_key = ibv_inc_rkey(twin->key);
	chain->has_bind = true;
	twin->window->rkey = twin->key; /* libmlx5 reads it when the bind is posted */
	ibv->opcode = IBV_WR_BIND_MW;
	ibv->bind_mw.mw = twin->window;
	ibv->bind_mw.rkey = chain->new_key;
	ibv->bind_mw.bind_info = (struct ibv_mw_bind_info){
		twins.device.mr, (uintptr_t)twins.device.memory + at, len, access};
	twin->key = chain->new_key;
	twin->is_bound = true;
}

/* Adds a work request of a kind to a chain of 'twin', whose peer is 'peer'. */
static void add(struct chain *chain, struct twin *twin, struct twin *peer, enum kind kind)
{
	static const enum fabric_op ops[] = {FABRIC_SEND,    FABRIC_SEND,     FABRIC_SEND_INV,
					     FABRIC_WRITE,   FABRIC_WRITE,    FABRIC_READ,
					     FABRIC_BIND_MW, FABRIC_LOCAL_INV};
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,	   IBV_WR_SEND,	     IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_BIND_MW,	   IBV_WR_LOCAL_INV};
	uint32_t i = chain->n;
	bool has_fence = device_random() % 4 == 0;

	chain->wrs[i] = (struct fabric_wr){
		.op = ops[kind], .flags = has_fence ? FABRIC_FENCE : 0, .sge = chain->sges[i]};
	chain->ibv[i] = (struct ibv_send_wr){.wr_id = (uint64_t)(twin->posted + i) << 1,
					     .opcode = opcodes[kind],
					     .send_flags = has_fence ? IBV_SEND_FENCE : 0,
					     .sg_list = chain->ibv_sges[i]};
	if (kind < BIND)
		add_elements(chain, kind);
	if (kind == WRITE || kind == WRITE_SHORT || kind == READ) {
		uint32_t place = kind == READ ? 0 : HALF;

		chain->wrs[i].raddr =
			(uintptr_t)twins.device.memory + place + device_random() % (HALF / 2);
		chain->wrs[i].rkey = twins.device.mr->rkey;
		chain->ibv[i].wr.rdma.remote_addr = chain->wrs[i].raddr;
		chain->ibv[i].wr.rdma.rkey = twins.device.mr->rkey;
	} else if (kind == SEND_INV || kind == INVALIDATE) {
		struct twin *owner = kind == SEND_INV ? peer : twin;

		chain->wrs[i].rkey = chain->ibv[i].invalidate_rkey = owner->key;
		owner->is_bound = false;
	} else if (kind == BIND) {
		add_bind(chain, twin);
	}
	chain->nmessages += kind <= SEND_INV;
	if (i > 0)
		chain->ibv[i - 1].next = &chain->ibv[i];
	chain->n++;
	counts[kind]++;
}

/*
 * Returns whether an entry of libmlx5 may have another byte at 'offset' than the driver. These are
 * the reserved bytes of the context of a key, and, in an invalidation, the members that it does not
 * use. libmlx5 leaves them as they were or writes 0, and the driver always writes 0.
 */
static bool may_differ(const struct fabric_wr *wr, uint32_t offset)
{
	uint32_t at = offset - KEY_CONTEXT;

	if ((wr->op != FABRIC_BIND_MW && wr->op != FABRIC_LOCAL_INV) ||
	    at >= sizeof(struct mlx5_wqe_mkey_context_seg))
		return false;
	if (at == offsetof(struct mlx5_wqe_mkey_context_seg, free) || (at >= 4 && at < 8))
		return false;
	return wr->op == FABRIC_LOCAL_INV ||
	       (at != offsetof(struct mlx5_wqe_mkey_context_seg, access_flags) &&
		(at < 16 || at >= 32));
}

/* Compares the entries of a chain, whose first one begins at block 'count'. Bytes that libmlx5 is
 * allowed to leave have the value 'filler'. */
static void compare_entries(struct twin *twin, const struct chain *chain, uint32_t count,
			    uint8_t filler)
{
	uint32_t size = twin->theirs.sq.wqe_cnt * 64;
	uint8_t *theirs = twin->theirs.sq.buf;

	for (uint32_t i = 0; i < chain->n; i++) {
		uint32_t nblocks = twin->blocks[count % twin->theirs.sq.wqe_cnt].nblocks;

		NEED(nblocks > 0);
		nwraps += count % twin->theirs.sq.wqe_cnt + nblocks > twin->theirs.sq.wqe_cnt;
		for (uint32_t offset = 0; offset < nblocks * 64; offset++) {
			uint32_t at = (count * 64 + offset) % size;

			if (!may_differ(&chain->wrs[i], offset) || twin->send[at] == theirs[at])
				continue;
			NEED(twin->send[at] == 0 && theirs[at] == filler);
			twin->send[at] = filler;
		}
		count += nblocks;
	}
	for (uint32_t at = 0; at < size; at++)
		if (twin->send[at] != theirs[at])
			fprintf(stderr, "byte %u of block %u is %02x, and %02x with libmlx5\n",
				at % 64, at / 64, twin->send[at], theirs[at]);
	NEED(memcmp(twin->send, theirs, size) == 0);
	NEED(twin->record[MLX5_SND_DBR] == twin->theirs.dbrec[MLX5_SND_DBR]);
}

/* Posts a chain with both. Only its last work request is signalled. */
static void post(struct twin *twin, struct chain *chain)
{
	uint32_t size = twin->theirs.sq.wqe_cnt * 64, count = twin->mine.send.next;
	uint8_t filler = (uint8_t)device_random();
	struct ibv_send_wr *bad;

	chain->wrs[chain->n - 1].flags |= FABRIC_SIGNALED;
	chain->ibv[chain->n - 1].send_flags |= IBV_SEND_SIGNALED;
	memset(twin->send, filler, size);
	memset(twin->theirs.sq.buf, filler, size);
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct fabric_wr *wr = &chain->wrs[i];
		uint32_t position = twin->posted++;

		NEED(wr->op == FABRIC_BIND_MW
			     ? mlx5_send_ring_build_bind(&twin->mine.send, wr, position,
							 chain->mw.rkey, chain->new_key)
			     : mlx5_send_ring_build(&twin->mine.send, wr, position));
	}
	mlx5_send_ring_notify(&twin->mine.send);
	NEED(ibv_post_send(twin->ibv, chain->ibv, &bad) == 0);
	compare_entries(twin, chain, count, filler);
}

static void chain_init(struct chain *chain)
{
	memset(chain, 0, sizeof(*chain));
}

static enum kind choose(const struct chain *chain, const struct twin *twin, const struct twin *peer)
{
	for (;;) {
		enum kind kind = (enum kind)(device_random() % NSENDS);

		if (kind == BIND && (twin->is_bound || chain->has_bind))
			continue;
		if (kind == INVALIDATE && !twin->is_bound)
			continue;
		if (kind == SEND_INV && !peer->is_bound)
			continue;
		return kind;
	}
}

/* A bind of its own, so that the peer can send a Send with Invalidate. */
static void bind_window(struct twin *twin, struct twin *peer)
{
	struct chain chain;

	chain_init(&chain);
	add(&chain, twin, peer, BIND);
	post(twin, &chain);
	wait_for(twin, twin->posted - 1, 0);
}

static void run_round(struct twin *twin, struct twin *peer)
{
	uint32_t n = device_random() % 2 ? 1 : 1 + device_random() % CHAIN;
	struct chain chain;

	for (uint32_t i = 0; i < 64; i++)
		twins.device.memory[device_random() % HALF] = (uint8_t)device_random();
	provide_receives(peer);
	if (!peer->is_bound)
		bind_window(peer, twin);
	chain_init(&chain);
	while (chain.n < n)
		add(&chain, twin, peer, choose(&chain, twin, peer));
	post(twin, &chain);
	wait_for(twin, twin->posted - 1, chain.nmessages);
}

static bool has_all(uint64_t wanted)
{
	for (uint32_t i = 0; i < NSENDS; i++)
		if (counts[i] < wanted)
			return false;
	return twins.nrecvs >= wanted && twins.nshared_recvs >= wanted;
}

static void run_rounds(uint64_t wanted, uint32_t recv_sges)
{
	struct twin own[2], shared[2];

	twin_shared_open(recv_sges);
	for (uint32_t i = 0; i < 2; i++) {
		twin_open(&own[i], false, recv_sges);
		twin_open(&shared[i], true, recv_sges);
	}
	device_connect(&twins.device, own[0].ibv, own[1].ibv, 7);
	device_connect(&twins.device, shared[0].ibv, shared[1].ibv, 7);
	while (!has_all(wanted)) {
		uint32_t i = device_random() % 2;
		struct twin *pair = device_random() % 2 ? own : shared;

		run_round(&pair[i], &pair[1 - i]);
	}
	for (uint32_t i = 0; i < 2; i++) {
		twin_close(&own[i]);
		twin_close(&shared[i]);
	}
	twin_shared_close();
}

/* ---- errors ---- */

/* Mistakes in work requests, or at the peer. */
enum mistake {
	WRONG_LKEY,
	WRONG_RKEY,
	BEYOND_RIGHTS,
	SHORT_RECEIVE,
	NO_RECEIVE,
	BOUND_TWICE,
	WRONG_KEY_INVALIDATED,
	NMISTAKES
};

static void make_mistake(struct chain *chain, struct twin *twin, struct twin *peer,
			 enum mistake mistake)
{
	static const enum kind kinds[] = {SEND, WRITE, READ, SEND, SEND_SHORT, BIND, INVALIDATE};
	struct fabric_wr *wr = &chain->wrs[0];

	add(chain, twin, peer, kinds[mistake]);
	if (kinds[mistake] < BIND) {
		wr->nsge = 1;
		chain->ibv[0].num_sge = 1;
		wr->sge[0] = (struct fabric_sge){twins.device.memory, 100, twins.device.mr->lkey};
		chain->ibv[0].sg_list[0] = (struct ibv_sge){(uintptr_t)twins.device.memory, 100,
							    twins.device.mr->lkey};
	}
	if (mistake == WRONG_LKEY)
		wr->sge[0].lkey = chain->ibv[0].sg_list[0].lkey = twins.device.mr->lkey + 0x100000;
	if (mistake == WRONG_RKEY)
		wr->rkey = chain->ibv[0].wr.rdma.rkey = twins.device.mr->rkey + 1;
	if (mistake == BEYOND_RIGHTS)
		wr->raddr = chain->ibv[0].wr.rdma.remote_addr =
			(uintptr_t)twins.device.memory + twins.device.size - 50;
	if (mistake == SHORT_RECEIVE)
		wr->sge[0].len = chain->ibv[0].sg_list[0].length = 2 * TWIN_RECV_BYTES + 1;
}

/*
 * Posts three work requests. The first fails, and the device flushes the two others. The number of
 * completions at the peer depends on the mistake. In the end, both queue pairs are moved to the
 * error state, which flushes the receives that are left.
 */
static void run_mistake(enum mistake mistake)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	uint32_t nfailed = 0, nflushed = 0, nsent = 0;
	struct twin a, b;
	struct chain chain;

	twin_open(&a, false, 1);
	twin_open(&b, false, 1);
	device_connect(&twins.device, a.ibv, b.ibv, mistake == NO_RECEIVE ? 1 : 7);
	if (mistake == BOUND_TWICE)
		bind_window(&a, &b);
	twin_post_receives(&a, 2);
	if (mistake != NO_RECEIVE)
		twin_post_receives(&b, 3);
	chain_init(&chain);
	make_mistake(&chain, &a, &b, mistake);
	add(&chain, &a, &b, WRITE);
	add(&chain, &a, &b, SEND);
	post(&a, &chain);
	while (nsent < 3) {
		struct mlx5_completion completion = twin_next_completion();

		nsent += completion.qp == &a.mine && !completion.is_recv;
		nfailed += completion.status != IBV_WC_SUCCESS;
		nflushed += completion.status == IBV_WC_WR_FLUSH_ERR;
	}
	NEED(nfailed > nflushed && nflushed >= 2);
	NEED(ibv_modify_qp(a.ibv, &attr, IBV_QP_STATE) == 0);
	NEED(ibv_modify_qp(b.ibv, &attr, IBV_QP_STATE) == 0);
	while (a.recvs_done < a.recvs_posted || b.recvs_done < b.recvs_posted)
		NEED(twin_next_completion().status != IBV_WC_SUCCESS);
	twin_close(&a);
	twin_close(&b);
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;

	if (argc > 2 || wanted == 0) {
		fprintf(stderr, "usage: %s [N]\n", argv[0]);
		return 2;
	}
	twin_start();
	/* Entries of receives with more room than for one segment have a terminator. */
	run_rounds(wanted / 2, 1);
	run_rounds(wanted, 3);
	twin_shared_open(1);
	for (uint32_t i = 0; i < NMISTAKES; i++)
		run_mistake((enum mistake)i);
	twin_shared_close();
	for (uint32_t i = 0; i < NSENDS; i++)
		printf("%s: %llu\n", kind_names[i], (unsigned long long)counts[i]);
	printf("receive: %llu\nshared receive: %llu\n", (unsigned long long)twins.nrecvs,
	       (unsigned long long)twins.nshared_recvs);
	printf("entries over the end of the queue: %llu\ncompletions: %llu\n",
	       (unsigned long long)nwraps, (unsigned long long)twins.ncompletions);
	twin_finish();
	return 0;
}
