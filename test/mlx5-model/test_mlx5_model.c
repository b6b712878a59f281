/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the model itself: the faults that a test can set, and the violations that it reports.
 * The requests are posted by libmlx5, except where a test says that it writes them itself.
 */
#include <endian.h>
#include <string.h>

#include "loopback.h"

#define FROM 0u /* offsets of the memory */
#define TO   64u
#define AWAY 128u
#define PEER 256u

static const struct loopback_options one = {.pairs = 1, .cq_entries = 64, .rnr_retry = 7};

static struct loopback loop;

static void put(uint32_t offset, const char *text)
{
	memset(loop.memory + offset, 0, 8);
	memcpy(loop.memory + offset, text, strlen(text));
}

static void late(bool reads, bool binds, bool completions)
{
	const struct mlx5_model_faults faults = {
		.late_reads = reads, .late_binds = binds, .late_completions = completions};

	mlx5_model_set_faults(&faults);
}

/* Reads 'AWAY' to 'FROM', and sends 'FROM'. The peer must get 'expected'. */
static void read_and_send(unsigned flags, const char *expected)
{

	loopback_open(&loop, &one);
	late(true, false, false);
	put(FROM, "old");
	put(AWAY, "new");
	loopback_recv(&loop, loop.qp[0][1], TO);
	loopback_rdma(&loop, loop.qp[0][0], IBV_WR_RDMA_READ, FROM, AWAY, loop.mr->rkey);
	loopback_send(&loop, loop.qp[0][0], FROM, IBV_SEND_SIGNALED | flags);
	/* Completions of a send queue are in order, also if the effects are not. */
	if (flags & IBV_SEND_FENCE)
		loopback_expect(&loop, FROM, IBV_WC_SUCCESS);
	loopback_expect(&loop, TO, IBV_WC_SUCCESS);
	assert_string_equal((const char *)loop.memory + TO, expected);
	if (!(flags & IBV_SEND_FENCE))
		loopback_expect(&loop, FROM, IBV_WC_SUCCESS);
	loopback_expect(&loop, FROM, IBV_WC_SUCCESS);
	assert_string_equal((const char *)loop.memory + FROM, "new");
}

static void late_read__is_overtaken_without_a_fence(void **state)
{
	(void)state;
	read_and_send(0, "old");
}

static void late_read__holds_up_a_fence(void **state)
{
	(void)state;
	read_and_send(IBV_SEND_FENCE, "new");
}

/* Binds a window, and returns it with the key that the bind gives it. */
static struct ibv_mw *bind_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(loop.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .wr_id = 1}, *bad;

	assert_non_null(mw);
	loop.window = mw;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = loop.mr,
		.addr = (uintptr_t)loop.memory + AWAY,
		.length = 8,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	assert_int_equal(ibv_post_send(loop.qp[0][0], &wr, &bad), 0);
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

/* Sends a message with a small fence, as libmlx5 posts it after a bind. The key works when the
 * message has arrived. */
static void late_bind__holds_up_a_small_fence(void **state)
{
	struct ibv_mw *mw;

	(void)state;
	loopback_open(&loop, &one);
	late(false, true, false);
	mw = bind_window();
	loopback_recv(&loop, loop.qp[0][1], TO);
	loopback_send(&loop, loop.qp[0][0], FROM, 0);
	loopback_expect(&loop, TO, IBV_WC_SUCCESS);
	loopback_rdma(&loop, loop.qp[0][1], IBV_WR_RDMA_WRITE, PEER, AWAY, mw->rkey);
	loopback_expect(&loop, PEER, IBV_WC_SUCCESS);
}

/* The test writes the entry of the message itself, without a small fence. */
static void late_bind__is_overtaken_without_a_small_fence(void **state)
{
	struct raw_queue raw;
	struct ibv_mw *mw;
	uint64_t first;

	(void)state;
	loopback_open(&loop, &one);
	late(false, true, false);
	mw = bind_window();
	loopback_recv(&loop, loop.qp[0][1], TO);
	raw_open(&raw, loop.qp[0][0]);
	first = raw_write_send(&raw, 7);
	raw_record(&raw);
	raw_doorbell(&raw, first);
	loopback_expect(&loop, TO, IBV_WC_SUCCESS);
	loopback_rdma(&loop, loop.qp[0][1], IBV_WR_RDMA_WRITE, PEER, AWAY, mw->rkey);
	loopback_expect(&loop, PEER, IBV_WC_REM_ACCESS_ERR);
}

static void late_completions__keep_the_order_of_a_queue_only(void **state)
{
	const struct loopback_options two = {.pairs = 2, .cq_entries = 64, .rnr_retry = 7};
	struct ibv_wc wc;

	(void)state;
	loopback_open(&loop, &two);
	late(false, false, true);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 2; j++)
			loopback_rdma(&loop, loop.qp[i][0], IBV_WR_RDMA_WRITE, 8 * (2 * i + j), TO,
				      loop.mr->rkey);
	loopback_run();
	assert_false(loopback_poll(&loop, &wc));
	loopback_expect(&loop, 16, IBV_WC_SUCCESS);
	loopback_expect(&loop, 24, IBV_WC_SUCCESS);
	loopback_expect(&loop, 0, IBV_WC_SUCCESS);
	loopback_expect(&loop, 8, IBV_WC_SUCCESS);
}

static void late_completions__arrive_when_the_fault_ends(void **state)
{
	struct ibv_wc wc;

	(void)state;
	loopback_open(&loop, &one);
	late(false, false, true);
	loopback_rdma(&loop, loop.qp[0][0], IBV_WR_RDMA_WRITE, FROM, TO, loop.mr->rkey);
	loopback_run();
	assert_false(loopback_poll(&loop, &wc));
	mlx5_model_set_faults(NULL);
	assert_true(loopback_poll(&loop, &wc));
}

/* The test reads the ring itself, because libmlx5 removes completions of a queue pair that it
 * destroys. */
static void stale_completion__names_the_destroyed_queue_pair(void **state)
{
	const struct mlx5_model_faults faults = {.stale_completions = true};
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj object = {.cq = {.out = &dv}};
	const struct mlx5_cqe64 *cqe;
	uint32_t qpn;

	(void)state;
	loopback_open(&loop, &one);
	object.cq.in = loop.cq;
	assert_int_equal(mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ), 0);
	mlx5_model_set_faults(&faults);
	qpn = loop.qp[0][0]->qp_num;
	assert_int_equal(ibv_destroy_qp(loop.qp[0][0]), 0);
	loop.qp[0][0] = NULL;
	cqe = dv.buf;
	assert_int_equal(mlx5dv_get_cqe_opcode((struct mlx5_cqe64 *)dv.buf), MLX5_CQE_REQ);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, qpn);
}

/* Each syndrome, after each number of work requests. The later ones are flushed. */
static void syndrome__fails_one_and_flushes_the_rest(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum ibv_wc_status status;
	} all[] = {
		{MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, IBV_WC_LOC_LEN_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, IBV_WC_LOC_PROT_ERR},
		{MLX5_CQE_SYNDROME_MW_BIND_ERR, IBV_WC_MW_BIND_ERR},
		{MLX5_CQE_SYNDROME_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, IBV_WC_REM_INV_REQ_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_OP_ERR, IBV_WC_REM_OP_ERR},
		{MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR},
		{MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR, IBV_WC_REM_ABORT_ERR},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct mlx5_model_faults faults = {.fail_after = i % 4,
							 .syndrome = all[i].syndrome};

		loopback_open(&loop, &one);
		mlx5_model_set_faults(&faults);
		for (uint32_t j = 0; j < 5; j++)
			loopback_rdma(&loop, loop.qp[0][0], IBV_WR_RDMA_WRITE, 8 * j, TO,
				      loop.mr->rkey);
		for (uint32_t j = 0; j < 5; j++)
			loopback_expect(&loop, 8 * j,
					j < i % 4    ? IBV_WC_SUCCESS
					: j == i % 4 ? all[i].status
						     : IBV_WC_WR_FLUSH_ERR);
		loopback_close(&loop);
	}
}

static void rnr__fails_after_the_retries(void **state)
{
	const struct loopback_options once = {.pairs = 1, .cq_entries = 64, .rnr_retry = 1};

	(void)state;
	loopback_open(&loop, &once);
	loopback_send(&loop, loop.qp[0][0], FROM, IBV_SEND_SIGNALED);
	loopback_expect(&loop, FROM, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void rnr__waits_for_ever_with_7_retries(void **state)
{
	struct ibv_wc wc;

	(void)state;
	loopback_open(&loop, &one);
	loopback_send(&loop, loop.qp[0][0], FROM, IBV_SEND_SIGNALED);
	while (!mlx5_model_is_idle())
		assert_false(loopback_poll(&loop, &wc));
	loopback_recv(&loop, loop.qp[0][1], TO);
	loopback_expect(&loop, TO, IBV_WC_SUCCESS);
	loopback_expect(&loop, FROM, IBV_WC_SUCCESS);
}

static void overrun__is_reported_once(void **state)
{
	const struct loopback_options small = {.pairs = 2, .cq_entries = 15, .rnr_retry = 7};
	uint64_t before = mlx5_model_violations();
	struct ibv_async_event event;

	(void)state;
	loopback_open(&loop, &small);
	for (uint32_t i = 0; i < 2 * 10; i++)
		loopback_rdma(&loop, loop.qp[i % 2][0], IBV_WR_RDMA_WRITE, FROM, TO, loop.mr->rkey);
	loopback_run();
	assert_int_equal(mlx5_model_violations() - before, 1);
	assert_int_equal(ibv_get_async_event(loop.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, loop.cq);
	ibv_ack_async_event(&event);
}

static void doorbell__of_a_record_is_no_violation(void **state)
{
	uint64_t before = mlx5_model_violations(), first;
	struct raw_queue raw;

	(void)state;
	loopback_open(&loop, &one);
	loopback_recv(&loop, loop.qp[0][1], TO);
	raw_open(&raw, loop.qp[0][0]);
	first = raw_write_send(&raw, 0x1234);
	raw_record(&raw);
	raw_doorbell(&raw, first);
	loopback_expect(&loop, TO, IBV_WC_SUCCESS);
	assert_int_equal(*(const uint64_t *)(const void *)(loop.memory + TO), 0x1234);
	assert_int_equal(mlx5_model_violations(), before);
}

static void doorbell__without_a_record_is_a_violation(void **state)
{
	uint64_t before = mlx5_model_violations();
	struct raw_queue raw;

	(void)state;
	loopback_open(&loop, &one);
	raw_open(&raw, loop.qp[0][0]);
	raw_doorbell(&raw, raw_write_send(&raw, 0));
	loopback_run();
	assert_int_equal(mlx5_model_violations() - before, 1);
}

static void send_queue__with_a_block_too_many_is_a_violation(void **state)
{
	uint64_t before = mlx5_model_violations(), first = 0;
	struct raw_queue raw;

	(void)state;
	loopback_open(&loop, &one);
	raw_open(&raw, loop.qp[0][0]);
	for (uint32_t i = 0; i < raw.dv.sq.wqe_cnt + 1; i++)
		first = raw_write_send(&raw, 0);
	raw_record(&raw);
	raw_doorbell(&raw, first);
	loopback_run();
	/* The first block has the entry of the last one, which is a violation, too. */
	assert_int_equal(mlx5_model_violations() - before, 2);
}

static void send_queue__that_is_full_is_no_violation(void **state)
{
	uint64_t before = mlx5_model_violations(), first = 0;
	struct raw_queue raw;

	(void)state;
	loopback_open(&loop, &one);
	raw_open(&raw, loop.qp[0][0]);
	for (uint32_t i = 0; i < raw.dv.sq.wqe_cnt; i++)
		first = raw_write_send(&raw, 0);
	raw_record(&raw);
	raw_doorbell(&raw, first);
	loopback_run();
	assert_int_equal(mlx5_model_violations(), before);
}

static int teardown(void **state)
{
	(void)state;
	loopback_close(&loop);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(late_read__is_overtaken_without_a_fence, teardown),
		cmocka_unit_test_teardown(late_read__holds_up_a_fence, teardown),
		cmocka_unit_test_teardown(late_bind__holds_up_a_small_fence, teardown),
		cmocka_unit_test_teardown(late_bind__is_overtaken_without_a_small_fence, teardown),
		cmocka_unit_test_teardown(late_completions__keep_the_order_of_a_queue_only,
					  teardown),
		cmocka_unit_test_teardown(late_completions__arrive_when_the_fault_ends, teardown),
		cmocka_unit_test_teardown(stale_completion__names_the_destroyed_queue_pair,
					  teardown),
		cmocka_unit_test_teardown(syndrome__fails_one_and_flushes_the_rest, teardown),
		cmocka_unit_test_teardown(rnr__fails_after_the_retries, teardown),
		cmocka_unit_test_teardown(rnr__waits_for_ever_with_7_retries, teardown),
		cmocka_unit_test_teardown(overrun__is_reported_once, teardown),
		cmocka_unit_test_teardown(doorbell__of_a_record_is_no_violation, teardown),
		cmocka_unit_test_teardown(doorbell__without_a_record_is_a_violation, teardown),
		cmocka_unit_test_teardown(send_queue__with_a_block_too_many_is_a_violation,
					  teardown),
		cmocka_unit_test_teardown(send_queue__that_is_full_is_no_violation, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
