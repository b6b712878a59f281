/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the data path of the driver mlx5, and above all for its completions. The queues,
 * records and registers are arrays of exactly their sizes. The target plays the device.
 *
 * An input is a byte for the sizes, and a list of steps. A step is a byte, followed by its data.
 * The steps:
 * - post Sends, binds, invalidations and receives
 * - as a correct device, write the completion of an outstanding work request
 * - as a faulty device, write any completion, or any bytes to the completion queue
 * - poll, give entries back to the device, and replace a queue pair by one with the same number
 *
 * While the device is correct, each completion is found, in order, with its work request. At all
 * times:
 * - No memory outside of the arrays is accessed.
 * - A completion is that of an outstanding work request, which then is not outstanding any more.
 * - An invalid entry changes nothing, other than that it was read.
 * - Polls do not change the queues, except for the links of the shared receive queue.
 * - After an error of the device, no further entry is read.
 */
#include "completion.h"
#include "fuzz.h"
#include "wire.h"

#define QPS	 4u /* the second half has shared receives */
#define BLOCKS	 16u
#define RECVS	 8u
#define CQES_MAX 32u
#define CQE	 64u
#define BF_BYTES 256u
#define DATA	 1200u
#define LATER	 256u /* bound for completions that were written and not read */

enum { SEND, KEY, RECV, DONE, DONE_RECV, ANY, BYTES, POLL, RELEASE, REPLACE, NSTEPS };

/* A completion that a correct device wrote. */
struct expected {
	uint32_t qp;
	uint32_t round; /* the replacements of the queue pair before it */
	uint32_t position;
	bool is_recv;
};

struct side {
	struct mlx5_qp qp;
	uint8_t *send, *recv, *before;
	__be32 *record;
	struct mlx5_send_block *blocks;
	uint32_t num, round;
	uint32_t counters[BLOCKS]; /* of outstanding entries, by position */
	uint32_t posted, notified, done, retired;
	uint32_t recvs_posted, recvs_done, recvs_retired;
};

struct run {
	struct side sides[QPS];
	struct mlx5_qp *buckets[2];
	struct mlx5_qp_table table;
	struct mlx5_cq_ring cq;
	struct mlx5_srq_ring srq;
	struct mlx5_srq_entry *entries;
	struct mlx5_doorbell doorbell;
	uint8_t *cqes, *shared, *data;
	__be32 *cq_record, *srq_record;
	uint32_t ncqes, stride, produced;
	uint16_t device_head;	    /* the entry of the shared receive queue that is used next */
	uint32_t srq_posted, taken; /* shared receives that were posted and used */
	bool is_posted[RECVS];
	uint32_t nposted;
	struct expected expected[LATER];
	uint32_t first, last; /* of 'expected' */
	bool is_tainted;      /* the device was not correct, so that nothing is expected */
	bool is_broken;
};

static void create(struct run *run, uint32_t index)
{
	struct side *side = &run->sides[index];
	bool has_srq = index >= QPS / 2;
	const struct mlx5dv_qp dv = {
		.dbrec = side->record,
		.sq = {.buf = side->send, .wqe_cnt = BLOCKS, .stride = 64},
		.rq = {.buf = side->recv, .wqe_cnt = has_srq ? 0 : RECVS, .stride = 16},
		.bf = {.reg = run->doorbell.reg, .size = run->doorbell.bytes},
	};

	side->qp = (struct mlx5_qp){.has_srq = has_srq};
	side->record[MLX5_RCV_DBR] = side->record[MLX5_SND_DBR] = 0;
	REQUIRE(mlx5_send_ring_init(&side->qp.send, &dv, side->num, &run->doorbell, side->blocks) ==
		0);
	REQUIRE(mlx5_recv_ring_init(&side->qp.recv, &dv) == 0);
	mlx5_qp_table_add(&run->table, &side->qp);
	side->posted = side->notified = side->done = side->retired = 0;
	side->recvs_posted = side->recvs_done = side->recvs_retired = 0;
}

static void start(struct run *run, struct fuzz_in *in)
{
	uint32_t sizes = fuzz_u8(in);
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_srq srq = {.stride = 32, .tail = RECVS - 1};

	memset(run, 0, sizeof(*run));
	run->stride = sizes & 1 ? 2 * CQE : CQE;
	run->ncqes = CQES_MAX >> (sizes >> 1 & 3);
	run->doorbell.bytes = sizes & 8 ? 0 : BF_BYTES;
	run->doorbell.reg = fuzz_copy(NULL, run->doorbell.bytes ? 2 * BF_BYTES : 8);
	run->table = (struct mlx5_qp_table){.buckets = run->buckets, .mask = 1};
	run->data = fuzz_copy(NULL, DATA);
	memset(run->data, 0x5a, DATA);
	cq.cqe_cnt = run->ncqes;
	cq.cqe_size = run->stride;
	cq.buf = run->cqes = fuzz_copy(NULL, (size_t)run->ncqes * run->stride);
	memset(run->cqes, 0xf0, (size_t)run->ncqes * run->stride);
	cq.dbrec = run->cq_record = calloc(2, sizeof(__be32));
	srq.buf = run->shared = calloc(RECVS, srq.stride);
	for (uint32_t i = 0; i < RECVS; i++)
		run->shared[i * srq.stride + 3] = (uint8_t)(i + 1);
	srq.dbrec = run->srq_record = calloc(1, sizeof(__be32));
	run->entries = calloc(RECVS, sizeof(run->entries[0]));
	REQUIRE(mlx5_cq_ring_init(&run->cq, &cq) == 0);
	REQUIRE(mlx5_srq_ring_init(&run->srq, &srq, run->entries) == 0);
	for (uint32_t i = 0; i < QPS; i++) {
		struct side *side = &run->sides[i];

		side->num = 0x100 + i;
		side->send = calloc(BLOCKS, 64);
		side->before = calloc(BLOCKS, 64);
		side->recv = calloc(RECVS, 16);
		side->record = calloc(2, sizeof(__be32));
		side->blocks = calloc(BLOCKS, sizeof(side->blocks[0]));
		create(run, i);
	}
}

static void finish(struct run *run)
{
	for (uint32_t i = 0; i < QPS; i++) {
		free(run->sides[i].send);
		free(run->sides[i].before);
		free(run->sides[i].recv);
		free(run->sides[i].record);
		free(run->sides[i].blocks);
	}
	free(run->doorbell.reg);
	free(run->data);
	free(run->cqes);
	free(run->cq_record);
	free(run->shared);
	free(run->srq_record);
	free(run->entries);
}

/* ---- posts ---- */

static void step_send(struct run *run, bool changes_key, struct fuzz_in *in)
{
	struct side *side = &run->sides[fuzz_u8(in) % QPS];
	struct fabric_sge sges[20];
	struct fabric_wr wr = {.flags = fuzz_u8(in) & 15, .sge = sges};
	uint16_t count = side->qp.send.next;
	uint32_t what = fuzz_u8(in), len = fuzz_u16(in);
	bool built;

	wr.op = changes_key ? FABRIC_LOCAL_INV : (enum fabric_op)(what % 4);
	wr.nsge = what / 4 % 20 + 1;
	for (uint32_t i = 0; i < wr.nsge; i++)
		sges[i] = (struct fabric_sge){run->data, len % (DATA / wr.nsge + 1), i};
	if (changes_key && what & 1)
		wr.op = FABRIC_BIND_MW;
	built = wr.op == FABRIC_BIND_MW
			? mlx5_send_ring_build_bind(&side->qp.send, &wr, side->posted, len, len + 1)
			: mlx5_send_ring_build(&side->qp.send, &wr, side->posted);
	REQUIRE(built == (side->qp.send.next != count));
	if (built)
		side->counters[side->posted++ % BLOCKS] = count;
	REQUIRE(side->posted - side->retired <= BLOCKS);
	if (what & 128)
		return;
	mlx5_send_ring_notify(&side->qp.send);
	side->notified = side->posted;
	REQUIRE(be32toh(side->record[MLX5_SND_DBR]) == side->qp.send.next);
}

static void step_recv(struct run *run, struct fuzz_in *in)
{
	uint32_t which = fuzz_u8(in) % QPS;
	struct side *side = &run->sides[which];
	uint16_t index = 0;

	if (which < QPS / 2) {
		if (mlx5_recv_ring_build(&side->qp.recv, run->data, DATA, 1))
			side->recvs_posted++;
		REQUIRE(side->recvs_posted - side->recvs_retired <= RECVS);
		mlx5_recv_ring_notify(&side->qp.recv);
		return;
	}
	REQUIRE(mlx5_srq_ring_build(&run->srq, run->data, DATA, 1, &index) ==
		(run->nposted < RECVS - 1));
	if (run->nposted == RECVS - 1)
		return;
	REQUIRE(index < RECVS && !run->is_posted[index]);
	run->is_posted[index] = true;
	run->nposted++;
	run->srq_posted++;
	mlx5_srq_ring_notify(&run->srq);
	REQUIRE(be32toh(*run->srq_record) == (run->srq_posted & UINT16_MAX));
}

/* ---- the device ---- */

/* Writes an entry, unless the queue is full. 'last' has the opcode and the format. */
static bool produce(struct run *run, uint32_t num, uint8_t last, uint16_t counter, uint8_t more)
{
	uint32_t read = be32toh(run->cq_record[0]);
	uint8_t *cqe;

	if (run->produced - read >= run->ncqes)
		return false;
	cqe = run->cqes + (size_t)(run->produced % run->ncqes + 1) * run->stride - CQE;
	memset(cqe, more, CQE - 1);
	wire_put_u32(cqe + 56, (uint32_t)more << 24 | num);
	cqe[60] = (uint8_t)(counter >> 8);
	cqe[61] = (uint8_t)counter;
	cqe[63] = (uint8_t)((last & ~1u) | (run->produced / run->ncqes & 1));
	run->produced++;
	return true;
}

static void expect(struct run *run, uint32_t which, uint32_t position, bool is_recv)
{
	REQUIRE(run->last - run->first < LATER);
	run->expected[run->last++ % LATER] =
		(struct expected){which, run->sides[which].round, position, is_recv};
}

static void step_done(struct run *run, struct fuzz_in *in)
{
	uint32_t which = fuzz_u8(in) % QPS;
	struct side *side = &run->sides[which];
	uint32_t more = fuzz_u8(in), left = side->notified - side->done, position;

	if (left == 0)
		return;
	position = side->done + more % left;
	if (!produce(run, side->num, more & 128 ? 0xd0 : 0x00,
		     (uint16_t)side->counters[position % BLOCKS], (uint8_t)more))
		return;
	side->done = position + 1;
	expect(run, which, position, false);
}

static void step_done_recv(struct run *run, struct fuzz_in *in)
{
	static const uint8_t opcodes[] = {0x20, 0x40, 0x30, 0xe0};
	uint32_t which = fuzz_u8(in) % QPS, more = fuzz_u8(in);
	struct side *side = &run->sides[which];
	bool is_shared = which >= QPS / 2;
	uint16_t counter = is_shared ? run->device_head : (uint16_t)side->recvs_done;

	if (is_shared ? run->taken == run->srq_posted : side->recvs_done == side->recvs_posted)
		return;
	if (!produce(run, side->num, opcodes[more % 4], counter, (uint8_t)more))
		return;
	expect(run, which, counter, true);
	if (is_shared) {
		run->taken++;
		run->device_head = (uint16_t)(run->shared[counter * 32 + 2] << 8 |
					      run->shared[counter * 32 + 3]);
		REQUIRE(run->device_head < RECVS);
	} else {
		side->recvs_done++;
	}
}

static void step_any(struct run *run, struct fuzz_in *in)
{
	static const uint32_t others[] = {MLX5_NUM_DESTROYED, 0, 0x200, 0x110};
	uint32_t which = fuzz_u8(in) % (2 * QPS);
	uint32_t num = which < QPS ? run->sides[which].num : others[which - QPS];
	uint8_t last = fuzz_u8(in);
	uint16_t counter = (uint16_t)fuzz_u16(in);

	if (produce(run, num, last, counter, fuzz_u8(in)))
		run->is_tainted = true;
}

static void step_bytes(struct run *run, struct fuzz_in *in)
{
	size_t size = (size_t)run->ncqes * run->stride, at = fuzz_u16(in) % size;
	uint32_t len = fuzz_u8(in) % CQE + 1;

	for (uint32_t i = 0; i < len; i++)
		run->cqes[(at + i) % size] = fuzz_u8(in);
	run->is_tainted = true;
}

/* ---- polls ---- */

/* The list of free entries contains each entry that is not posted, and no other one. */
static void check_srq(const struct run *run)
{
	uint32_t nfree = 1;

	for (uint16_t at = run->srq.head; at != run->srq.tail; at = run->entries[at].next) {
		REQUIRE(at < RECVS && !run->is_posted[at]);
		REQUIRE(++nfree <= RECVS);
	}
	REQUIRE(nfree == RECVS - run->nposted);
}

static void check_done(struct run *run, const struct mlx5_completion *completion)
{
	struct side *side = (struct side *)(void *)completion->qp;

	if (completion->is_recv && (!side || completion->qp->has_srq)) {
		REQUIRE(completion->position < RECVS && run->is_posted[completion->position]);
		run->is_posted[completion->position] = false;
		run->nposted--;
	} else if (completion->is_recv) {
		REQUIRE(side->recvs_retired != side->recvs_posted);
		side->recvs_retired++;
	} else {
		REQUIRE(completion->position - side->retired < side->notified - side->retired);
		side->retired = completion->position + 1;
	}
}

/* Compares the result of a poll with the completion that a correct device wrote. */
static void check_expected(struct run *run, enum mlx5_poll result,
			   const struct mlx5_completion *completion)
{
	const struct expected *e = &run->expected[run->first % LATER];
	bool is_old;

	REQUIRE((result == MLX5_POLL_EMPTY) == (run->first == run->last));
	if (result == MLX5_POLL_EMPTY)
		return;
	run->first++;
	is_old = e->round != run->sides[e->qp].round;
	if (is_old && !(e->is_recv && e->qp >= QPS / 2)) {
		REQUIRE(result == MLX5_POLL_STALE);
		return;
	}
	REQUIRE(result == MLX5_POLL_DONE && completion->is_recv == e->is_recv);
	REQUIRE(completion->qp == (is_old ? NULL : &run->sides[e->qp].qp));
	REQUIRE((e->is_recv && e->qp < QPS / 2) || completion->position == e->position);
}

static void step_poll(struct run *run)
{
	struct mlx5_completion completion;
	struct mlx5_qp qps[QPS];
	struct mlx5_srq_ring srq = run->srq;
	uint32_t next = run->cq.next;
	enum mlx5_poll result;

	for (uint32_t i = 0; i < QPS; i++) {
		qps[i] = run->sides[i].qp;
		memcpy(run->sides[i].before, run->sides[i].send, BLOCKS * 64);
	}
	result = mlx5_poll_one(&run->cq, &run->table, &run->srq, &completion);
	for (uint32_t i = 0; i < QPS; i++) {
		REQUIRE(memcmp(run->sides[i].before, run->sides[i].send, BLOCKS * 64) == 0);
		REQUIRE(result == MLX5_POLL_DONE ||
			memcmp(&qps[i], &run->sides[i].qp, sizeof(qps[i])) == 0);
	}
	REQUIRE(result == MLX5_POLL_DONE || memcmp(&srq, &run->srq, sizeof(srq)) == 0);
	REQUIRE(run->cq.next - next <= 1 && (result != MLX5_POLL_EMPTY || run->cq.next == next));
	REQUIRE(result != MLX5_POLL_BAD_QP || completion.qp != NULL);
	REQUIRE(!run->is_broken || (result == MLX5_POLL_BAD_DEVICE && run->cq.next == next));
	run->is_broken = result == MLX5_POLL_BAD_DEVICE;
	REQUIRE(run->is_tainted || (result != MLX5_POLL_BAD_QP && !run->is_broken));
	if (!run->is_tainted)
		check_expected(run, result, &completion);
	if (result == MLX5_POLL_DONE)
		check_done(run, &completion);
	check_srq(run);
}

static void step_replace(struct run *run, struct fuzz_in *in)
{
	uint32_t which = fuzz_u8(in) % QPS;
	struct side *side = &run->sides[which];

	mlx5_qp_table_remove(&run->table, &side->qp);
	mlx5_cq_ring_forget(&run->cq, side->num, side->qp.has_srq);
	REQUIRE(mlx5_qp_table_find(&run->table, side->num) == NULL);
	side->round++;
	create(run, which);
}

static void step(struct run *run, struct fuzz_in *in)
{
	uint8_t kind = fuzz_u8(in) % NSTEPS;

	switch (kind) {
	case SEND:
	case KEY:
		step_send(run, kind == KEY, in);
		break;
	case RECV:
		step_recv(run, in);
		break;
	case DONE:
		step_done(run, in);
		break;
	case DONE_RECV:
		step_done_recv(run, in);
		break;
	case ANY:
		step_any(run, in);
		break;
	case BYTES:
		step_bytes(run, in);
		break;
	case POLL:
		step_poll(run);
		break;
	case RELEASE:
		mlx5_cq_ring_release(&run->cq);
		REQUIRE(be32toh(run->cq_record[0]) == run->cq.next);
		break;
	default:
		step_replace(run, in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	struct fuzz_in in = {data, size};

	if (size > 4096)
		return 0;
	start(&run, &in);
	while (in.left > 0)
		step(&run, &in);
	finish(&run);
	return 0;
}
