/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the completions of the driver mlx5: entries of both sizes over the end of the queue,
 * each kind of completion, each invalid entry, and completions of destroyed queue pairs. The test
 * plays the device, which writes to arrays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "completion.h"
#include "guarded.h"
#include "wire.h"

#define CQES	8u
#define BLOCKS	16u
#define RECVS	8u
#define NUM	0x000105u
#define NUM_SRQ 0x000205u /* in the same bucket of the table */

static uint8_t *memory, *send_memory, *recv_memory, *srq_memory, *reg;
static uint8_t cq_record[8], qp_record[8], srq_record[8], data[64];
static uint32_t stride, produced;
static struct mlx5_cq_ring cq;
static struct mlx5_srq_ring srq;
static struct mlx5_srq_entry srq_entries[RECVS];
static struct mlx5_qp qp, qp_srq;
static struct mlx5_send_block blocks[2][BLOCKS];
static struct mlx5_doorbell doorbell;
static struct mlx5_qp *buckets[16];
static struct mlx5_qp_table table = {.buckets = buckets, .mask = 15};
static struct mlx5_completion out;

static __be32 *words(uint8_t *bytes)
{
	return (__be32 *)(void *)bytes;
}

static void init_qp(struct mlx5_qp *one, uint32_t num, uint32_t index)
{
	const struct mlx5dv_qp dv = {
		.dbrec = words(qp_record),
		.sq = {.buf = send_memory + index * BLOCKS * 64, .wqe_cnt = BLOCKS, .stride = 64},
		.rq = {.buf = recv_memory, .wqe_cnt = index == 0 ? RECVS : 0, .stride = 16},
		.bf = {.reg = reg, .size = 0},
	};

	*one = (struct mlx5_qp){.has_srq = index == 1};
	assert_int_equal(mlx5_send_ring_init(&one->send, &dv, num, &doorbell, blocks[index]), 0);
	assert_int_equal(mlx5_recv_ring_init(&one->recv, &dv), 0);
	mlx5_qp_table_add(&table, one);
}

static void init(uint32_t cqe_size)
{
	struct mlx5dv_cq dv = {.dbrec = words(cq_record), .cqe_cnt = CQES, .cqe_size = cqe_size};
	struct mlx5dv_srq srq_dv = {.dbrec = words(srq_record), .stride = 32, .tail = RECVS - 1};

	stride = cqe_size;
	produced = 0;
	dv.buf = memory = guarded_alloc(CQES * stride);
	send_memory = guarded_alloc(2 * BLOCKS * 64);
	recv_memory = guarded_alloc(RECVS * 16);
	srq_dv.buf = srq_memory = guarded_alloc(RECVS * 32);
	reg = guarded_alloc(8);
	doorbell = (struct mlx5_doorbell){.reg = reg};
	for (uint32_t i = 0; i < CQES; i++)
		memory[(i + 1) * stride - 1] = 0xf0; /* MLX5_CQE_INVALID */
	for (uint32_t i = 0; i < RECVS; i++)
		srq_memory[i * 32 + 3] = (uint8_t)(i + 1);
	memset(buckets, 0, sizeof(buckets));
	assert_int_equal(mlx5_cq_ring_init(&cq, &dv), 0);
	assert_int_equal(mlx5_srq_ring_init(&srq, &srq_dv, srq_entries), 0);
	init_qp(&qp, NUM, 0);
	init_qp(&qp_srq, NUM_SRQ, 1);
}

static int setup(void **state)
{
	(void)state;
	init(64);
	return 0;
}

static int setup_128(void **state)
{
	(void)state;
	init(128);
	return 0;
}

static int teardown(void **state)
{
	uint8_t *arrays[] = {memory, send_memory, recv_memory, srq_memory, reg};
	size_t sizes[] = {CQES * stride, 2 * BLOCKS * 64, RECVS * 16, RECVS * 32, 8};

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		guarded_check(arrays[i], sizes[i]);
		guarded_free(arrays[i]);
	}
	return 0;
}

/* The device writes an entry. 'last' has the opcode and the format. Returns the entry. */
static uint8_t *produce(uint32_t num, uint8_t last, uint16_t counter)
{
	uint8_t *entry = memory + (produced % CQES + 1) * stride - 64;
	uint8_t owner = produced++ / CQES & 1;

	memset(entry, 0, 63);
	wire_put_u32(entry + 56, 0xee000000u | num);
	entry[60] = (uint8_t)(counter >> 8);
	entry[61] = (uint8_t)counter;
	entry[63] = last | owner;
	return entry;
}

static enum mlx5_poll poll_one(void)
{
	return mlx5_poll_one(&cq, &table, &srq, &out);
}

static void post_send(struct mlx5_qp *to, uint32_t position)
{
	const struct fabric_wr wr = {.op = FABRIC_SEND};

	assert_true(mlx5_send_ring_build(&to->send, &wr, position));
	mlx5_send_ring_notify(&to->send);
}

static void post_recv(void)
{
	assert_true(mlx5_recv_ring_build(&qp.recv, data, 64, 1));
	mlx5_recv_ring_notify(&qp.recv);
}

static uint16_t post_srq(void)
{
	uint16_t index;

	assert_true(mlx5_srq_ring_build(&srq, data, 64, 1, &index));
	mlx5_srq_ring_notify(&srq);
	return index;
}

static void init__refuses_other_queues(void **state)
{
	const struct {
		uint32_t n, size;
	} bad[] = {{0, 64}, {7, 64}, {8, 32}, {8, 256}, {1u << 23, 64}};
	struct mlx5_cq_ring other;

	(void)state;
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct mlx5dv_cq dv = {.buf = memory,
					     .dbrec = words(cq_record),
					     .cqe_cnt = bad[i].n,
					     .cqe_size = bad[i].size};

		assert_int_equal(mlx5_cq_ring_init(&other, &dv), -EINVAL);
	}
}

static void poll__each_kind_for_many_rounds(void **state)
{
	uint32_t rounds = 100 * CQES + 3;

	(void)state;
	assert_int_equal(poll_one(), MLX5_POLL_EMPTY);
	for (uint32_t i = 0; i < rounds; i++) {
		uint16_t index;

		post_send(&qp, i);
		post_recv();
		index = post_srq();
		produce(NUM, 0x00, (uint16_t)i);
		wire_put_u32(produce(NUM, 0x20, (uint16_t)i) + 44, 1000 + i);
		produce(NUM_SRQ, 0x40, index);
		wire_put_u32(memory + ((produced - 1) % CQES + 1) * stride - 64 + 36, 0xabc0 + i);

		assert_int_equal(poll_one(), MLX5_POLL_DONE);
		assert_true(out.qp == &qp && !out.is_recv && out.position == i);
		assert_int_equal(out.status, IBV_WC_SUCCESS);
		assert_int_equal(poll_one(), MLX5_POLL_DONE);
		assert_true(out.qp == &qp && out.is_recv && !out.has_inv);
		assert_int_equal(out.byte_len, 1000 + i);
		assert_int_equal(poll_one(), MLX5_POLL_DONE);
		assert_true(out.qp == &qp_srq && out.is_recv && out.has_inv);
		assert_int_equal(out.inv_rkey, 0xabc0 + i);
		assert_int_equal(out.position, index);
		assert_int_equal(poll_one(), MLX5_POLL_EMPTY);
		mlx5_cq_ring_release(&cq);
		assert_int_equal(wire_get_u32(cq_record), 3 * i + 3);
	}
}

static void release__counts_in_24_bits(void **state)
{
	(void)state;
	cq.next = 0x3000001;
	mlx5_cq_ring_release(&cq);
	assert_int_equal(wire_get_u32(cq_record), 1);
}

static void poll__a_completion_stands_for_earlier_sends(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		post_send(&qp, 10 + i);
	produce(NUM, 0x00, 3);
	produce(NUM, 0x00, 1);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_int_equal(out.position, 13);
	assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
	assert_ptr_equal(out.qp, &qp);
}

static void poll__errors(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum ibv_wc_status status;
	} errors[] = {
		{0x01, IBV_WC_LOC_LEN_ERR},    {0x02, IBV_WC_LOC_QP_OP_ERR},
		{0x04, IBV_WC_LOC_PROT_ERR},   {0x05, IBV_WC_WR_FLUSH_ERR},
		{0x06, IBV_WC_MW_BIND_ERR},    {0x10, IBV_WC_BAD_RESP_ERR},
		{0x11, IBV_WC_LOC_ACCESS_ERR}, {0x12, IBV_WC_REM_INV_REQ_ERR},
		{0x13, IBV_WC_REM_ACCESS_ERR}, {0x14, IBV_WC_REM_OP_ERR},
		{0x15, IBV_WC_RETRY_EXC_ERR},  {0x16, IBV_WC_RNR_RETRY_EXC_ERR},
		{0x22, IBV_WC_REM_ABORT_ERR},  {0x00, IBV_WC_GENERAL_ERR},
		{0xff, IBV_WC_GENERAL_ERR},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		post_send(&qp, i);
		post_recv();
		produce(NUM, 0xd0, (uint16_t)i)[55] = errors[i].syndrome;
		produce(NUM, 0xe0, (uint16_t)i)[55] = errors[i].syndrome;
		assert_int_equal(poll_one(), MLX5_POLL_DONE);
		assert_true(!out.is_recv && out.position == i && out.status == errors[i].status);
		assert_int_equal(poll_one(), MLX5_POLL_DONE);
		assert_true(out.is_recv && out.status == errors[i].status);
	}
}

static void poll__send_with_immediate_is_a_message(void **state)
{
	(void)state;
	post_recv();
	wire_put_u32(produce(NUM, 0x30, 0) + 44, 77);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_true(out.status == IBV_WC_SUCCESS && out.is_recv && out.byte_len == 77);
	assert_false(out.has_inv || out.is_write);
}

static void poll__write_with_immediate_is_an_error(void **state)
{
	(void)state;
	post_recv();
	wire_put_u32(produce(NUM, 0x10, 0) + 44, 77);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_true(out.status == IBV_WC_GENERAL_ERR && out.is_recv && out.byte_len == 0);
	assert_true(out.is_write);
}

static void poll__unknown_opcodes_close_the_connection(void **state)
{
	static const uint8_t unknown[] = {5, 6, 7, 8, 9, 10, 11, 12};

	(void)state;
	post_send(&qp, 0);
	for (uint32_t i = 0; i < sizeof(unknown); i++) {
		produce(NUM, (uint8_t)(unknown[i] << 4), 0);
		assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
		assert_ptr_equal(out.qp, &qp);
		mlx5_cq_ring_release(&cq);
	}
	/* The work request is still outstanding. */
	produce(NUM, 0x00, 0);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
}

static void poll__data_inside_of_an_entry_close_the_connection(void **state)
{
	(void)state;
	post_recv();
	produce(NUM, 0x24, 0);
	assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
	produce(NUM, 0x28, 0);
	assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
	assert_ptr_equal(out.qp, &qp);
}

static void poll__counters_outside_of_the_ring_close_the_connection(void **state)
{
	(void)state;
	post_send(&qp, 0);
	post_recv();
	post_srq();
	for (uint32_t counter = 1; counter <= UINT16_MAX; counter++) {
		produce(NUM, 0x00, (uint16_t)counter);
		assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
		assert_ptr_equal(out.qp, &qp);
		produce(NUM, 0x20, (uint16_t)counter);
		assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
		produce(NUM_SRQ, 0x20, (uint16_t)counter);
		assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
		assert_ptr_equal(out.qp, &qp_srq);
	}
	produce(NUM_SRQ, 0x00, 0); /* nothing was posted to this send queue */
	assert_int_equal(poll_one(), MLX5_POLL_BAD_QP);
	/* The work requests are still outstanding. */
	produce(NUM, 0x00, 0);
	produce(NUM, 0x20, 0);
	produce(NUM_SRQ, 0x20, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(poll_one(), MLX5_POLL_DONE);
}

/* After an error of the device, no entry is read any more. */
static void expect_broken(void)
{
	uint32_t next;

	assert_int_equal(poll_one(), MLX5_POLL_BAD_DEVICE);
	next = cq.next;
	post_send(&qp, 0);
	produce(NUM, 0x00, 0);
	assert_int_equal(poll_one(), MLX5_POLL_BAD_DEVICE);
	assert_int_equal(cq.next, next);
}

static void poll__compressed_entries_close_the_device(void **state)
{
	(void)state;
	produce(NUM, 0x2c, 0);
	expect_broken();
}

static void poll__unknown_queue_pairs_close_the_device(void **state)
{
	(void)state;
	produce(NUM + 16, 0x00, 0);
	expect_broken();
}

static void poll__a_destroyed_receive_that_was_not_posted(void **state)
{
	(void)state;
	produce(MLX5_NUM_DESTROYED, 0x20, 3);
	expect_broken();
}

static void forget__drops_completions_of_the_number(void **state)
{
	struct mlx5_qp again;

	(void)state;
	post_send(&qp, 0);
	post_send(&qp_srq, 0);
	post_recv();
	produce(NUM, 0x00, 0);
	produce(NUM_SRQ, 0x00, 0);
	produce(NUM, 0x20, 0);
	mlx5_qp_table_remove(&table, &qp);
	mlx5_cq_ring_forget(&cq, NUM, false);
	/* Another queue pair gets the same number, and its completion comes at once. */
	init_qp(&again, NUM, 0);
	post_send(&again, 7);
	produce(NUM, 0x00, 0);
	assert_int_equal(poll_one(), MLX5_POLL_STALE);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_ptr_equal(out.qp, &qp_srq);
	assert_int_equal(poll_one(), MLX5_POLL_STALE);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_true(out.qp == &again && out.position == 7);
	assert_int_equal(poll_one(), MLX5_POLL_EMPTY);
}

static void forget__returns_shared_receives(void **state)
{
	uint16_t first = post_srq(), second = post_srq();

	(void)state;
	post_send(&qp_srq, 0);
	produce(NUM_SRQ, 0x20, first);
	produce(NUM_SRQ, 0x00, 0);
	produce(NUM_SRQ, 0xe0, second)[55] = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
	mlx5_qp_table_remove(&table, &qp_srq);
	mlx5_cq_ring_forget(&cq, NUM_SRQ, true);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_true(!out.qp && out.is_recv && out.position == first);
	assert_int_equal(poll_one(), MLX5_POLL_STALE);
	assert_int_equal(poll_one(), MLX5_POLL_DONE);
	assert_true(!out.qp && out.is_recv && out.position == second);
	assert_int_equal(poll_one(), MLX5_POLL_EMPTY);
}

static void forget__a_full_queue_over_its_end(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		post_send(&qp_srq, i);
		produce(NUM_SRQ, 0x00, (uint16_t)i);
		assert_int_equal(poll_one(), MLX5_POLL_DONE);
	}
	for (uint16_t i = 0; i < CQES; i++) {
		post_send(&qp, i);
		produce(NUM, 0x00, i);
	}
	mlx5_qp_table_remove(&table, &qp);
	mlx5_cq_ring_forget(&cq, NUM, false);
	for (uint32_t i = 0; i < CQES; i++)
		assert_int_equal(poll_one(), MLX5_POLL_STALE);
	assert_int_equal(poll_one(), MLX5_POLL_EMPTY);
}

#define CQ_TEST(name)	 cmocka_unit_test_setup_teardown(name, setup, teardown)
#define BOTH_SIZES(name) CQ_TEST(name), cmocka_unit_test_setup_teardown(name, setup_128, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CQ_TEST(init__refuses_other_queues),
		BOTH_SIZES(poll__each_kind_for_many_rounds),
		CQ_TEST(release__counts_in_24_bits),
		CQ_TEST(poll__a_completion_stands_for_earlier_sends),
		BOTH_SIZES(poll__errors),
		CQ_TEST(poll__send_with_immediate_is_a_message),
		CQ_TEST(poll__write_with_immediate_is_an_error),
		CQ_TEST(poll__unknown_opcodes_close_the_connection),
		CQ_TEST(poll__data_inside_of_an_entry_close_the_connection),
		CQ_TEST(poll__counters_outside_of_the_ring_close_the_connection),
		CQ_TEST(poll__compressed_entries_close_the_device),
		CQ_TEST(poll__unknown_queue_pairs_close_the_device),
		CQ_TEST(poll__a_destroyed_receive_that_was_not_posted),
		BOTH_SIZES(forget__drops_completions_of_the_number),
		CQ_TEST(forget__returns_shared_receives),
		BOTH_SIZES(forget__a_full_queue_over_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
