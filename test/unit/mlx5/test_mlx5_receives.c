/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the receive queues of the driver mlx5, which are arrays here: the entries, the doorbell
 * record, the list of a shared receive queue, and completions that name no posted receive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>

#include "guarded.h"
#include "recv_ring.h"
#include "srq_ring.h"
#include "wire.h"

#define ENTRIES 16u

static uint8_t *memory, record[8], data[64];
static size_t bytes;
static struct mlx5_recv_ring ring;
static struct mlx5_srq_ring srq;
static struct mlx5_srq_entry entries[ENTRIES];

static void expect_segment(const uint8_t *segment, const void *addr, uint32_t len, uint32_t lkey)
{
	assert_int_equal(wire_get_u32(segment), len);
	assert_int_equal(wire_get_u32(segment + 4), lkey);
	assert_int_equal(wire_get_u64(segment + 8), (uintptr_t)addr);
}

static void free_memory(void)
{
	guarded_check(memory, bytes);
	guarded_free(memory);
}

/* ---- the receive queue of a queue pair ---- */

static struct mlx5dv_qp queue_of(uint32_t stride)
{
	bytes = ENTRIES * stride;
	memory = guarded_alloc(bytes);
	memset(record, 0, sizeof(record));
	return (struct mlx5dv_qp){
		.dbrec = (__be32 *)(void *)record,
		.rq = {.buf = memory, .wqe_cnt = ENTRIES, .stride = stride},
	};
}

static void recv__init_refuses_other_queues(void **state)
{
	const struct {
		uint32_t n, stride;
	} bad[] = {{15, 16}, {65536, 16}, {16, 8}, {16, 48}};
	struct mlx5dv_qp dv = queue_of(16);

	(void)state;
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		dv.rq.wqe_cnt = bad[i].n;
		dv.rq.stride = bad[i].stride;
		assert_int_equal(mlx5_recv_ring_init(&ring, &dv), -EINVAL);
	}
	free_memory();
}

static void recv__a_queue_pair_without_receives(void **state)
{
	const struct mlx5dv_qp dv = {0};

	(void)state;
	assert_int_equal(mlx5_recv_ring_init(&ring, &dv), 0);
	assert_false(mlx5_recv_ring_build(&ring, data, 1, 1));
	assert_false(mlx5_recv_ring_complete(&ring, 0));
}

static void recv__entries_of(uint32_t stride)
{
	const struct mlx5dv_qp dv = queue_of(stride);

	assert_int_equal(mlx5_recv_ring_init(&ring, &dv), 0);
	memset(memory, 0xff, bytes);
	for (uint32_t i = 0; i < 70000; i++) {
		uint8_t *entry = memory + i % ENTRIES * stride;

		assert_true(mlx5_recv_ring_build(&ring, data + i % 7, 1 + i, 5 + i));
		assert_int_equal(wire_get_u32(record), i % 65536);
		mlx5_recv_ring_notify(&ring);
		assert_int_equal(wire_get_u32(record), (i + 1) % 65536);
		assert_int_equal(wire_get_u32(record + 4), 0);
		expect_segment(entry, data + i % 7, 1 + i, 5 + i);
		if (stride >= 32)
			expect_segment(entry + 16, NULL, 0, 0x100);
		assert_true(mlx5_recv_ring_complete(&ring, (uint16_t)i));
	}
	free_memory();
}

static void recv__entries_of_each_size(void **state)
{
	(void)state;
	recv__entries_of(16);
	recv__entries_of(32);
	recv__entries_of(64);
}

static void recv__length_zero_is_a_terminator(void **state)
{
	const struct mlx5dv_qp dv = queue_of(16);

	(void)state;
	assert_int_equal(mlx5_recv_ring_init(&ring, &dv), 0);
	assert_true(mlx5_recv_ring_build(&ring, data, 0, 5));
	expect_segment(memory, NULL, 0, 0x100);
	assert_false(mlx5_recv_ring_build(&ring, data, 0x80000000u, 5));
	assert_true(mlx5_recv_ring_build(&ring, data, 0x7fffffffu, 5));
	free_memory();
}

static void recv__a_full_ring_refuses(void **state)
{
	const struct mlx5dv_qp dv = queue_of(16);

	(void)state;
	assert_int_equal(mlx5_recv_ring_init(&ring, &dv), 0);
	for (uint32_t i = 0; i < ENTRIES; i++)
		assert_true(mlx5_recv_ring_build(&ring, data, 1, i));
	assert_false(mlx5_recv_ring_build(&ring, data, 1, 99));
	assert_true(mlx5_recv_ring_complete(&ring, 0));
	assert_true(mlx5_recv_ring_build(&ring, data, 1, 99));
	assert_false(mlx5_recv_ring_build(&ring, data, 1, 99));
	free_memory();
}

static void recv__complete_in_order_only(void **state)
{
	const struct mlx5dv_qp dv = queue_of(16);

	(void)state;
	assert_int_equal(mlx5_recv_ring_init(&ring, &dv), 0);
	assert_false(mlx5_recv_ring_complete(&ring, 0));
	assert_true(mlx5_recv_ring_build(&ring, data, 1, 1));
	assert_true(mlx5_recv_ring_build(&ring, data, 1, 1));
	for (uint32_t counter = 1; counter <= UINT16_MAX; counter++)
		assert_false(mlx5_recv_ring_complete(&ring, (uint16_t)counter));
	assert_true(mlx5_recv_ring_complete(&ring, 0));
	assert_true(mlx5_recv_ring_complete(&ring, 1));
	assert_false(mlx5_recv_ring_complete(&ring, 2));
	free_memory();
}

/* ---- the shared receive queue ---- */

static uint16_t link_of(uint16_t index)
{
	const uint8_t *at = memory + index * srq.stride;

	return (uint16_t)(at[2] << 8 | at[3]);
}

static struct mlx5dv_srq shared_of(uint32_t stride)
{
	bytes = ENTRIES * stride;
	memory = guarded_alloc(bytes);
	memset(record, 0, sizeof(record));
	for (uint32_t i = 0; i < ENTRIES; i++)
		memory[i * stride + 3] = (uint8_t)(i + 1);
	return (struct mlx5dv_srq){
		.buf = memory,
		.dbrec = (__be32 *)(void *)record,
		.stride = stride,
		.tail = ENTRIES - 1,
	};
}

static void srq__init_refuses_other_queues(void **state)
{
	struct mlx5dv_srq dv = shared_of(32), wrong = dv;

	(void)state;
	wrong.stride = 16;
	assert_int_equal(mlx5_srq_ring_init(&srq, &wrong, entries), -EINVAL);
	wrong = dv;
	wrong.head = ENTRIES;
	assert_int_equal(mlx5_srq_ring_init(&srq, &wrong, entries), -EINVAL);
	wrong = dv;
	wrong.tail = 65536;
	assert_int_equal(mlx5_srq_ring_init(&srq, &wrong, entries), -EINVAL);
	wrong.tail = 0;
	assert_int_equal(mlx5_srq_ring_init(&srq, &wrong, entries), -EINVAL);
	free_memory();
}

static void srq__init_refuses_wrong_links(void **state)
{
	const struct mlx5dv_srq dv = shared_of(32);

	(void)state;
	memory[5 * 32 + 3] = ENTRIES; /* outside of the queue */
	assert_int_equal(mlx5_srq_ring_init(&srq, &dv, entries), -EINVAL);
	memory[5 * 32 + 3] = 3; /* in a circle */
	assert_int_equal(mlx5_srq_ring_init(&srq, &dv, entries), -EINVAL);
	memory[5 * 32 + 3] = 6;
	assert_int_equal(mlx5_srq_ring_init(&srq, &dv, entries), 0);
	free_memory();
}

static void srq__full_at_one_less_than_its_entries(void **state)
{
	const struct mlx5dv_srq dv = shared_of(32);
	uint16_t index;

	(void)state;
	assert_int_equal(mlx5_srq_ring_init(&srq, &dv, entries), 0);
	for (uint16_t i = 0; i < ENTRIES - 1; i++) {
		assert_true(mlx5_srq_ring_build(&srq, data + i, 10, 20, &index));
		assert_int_equal(index, i);
		expect_segment(memory + i * 32 + 16, data + i, 10, 20);
	}
	assert_false(mlx5_srq_ring_build(&srq, data, 10, 20, &index));
	assert_int_equal(wire_get_u32(record), 0);
	mlx5_srq_ring_notify(&srq);
	assert_int_equal(wire_get_u32(record), ENTRIES - 1);
	assert_true(mlx5_srq_ring_complete(&srq, 7));
	assert_int_equal(link_of(ENTRIES - 1), 7);
	assert_true(mlx5_srq_ring_build(&srq, data, 10, 20, &index));
	assert_int_equal(index, ENTRIES - 1);
	assert_false(mlx5_srq_ring_build(&srq, data, 10, 20, &index));
	free_memory();
}

static void srq__only_posted_receives_complete(void **state)
{
	const struct mlx5dv_srq dv = shared_of(32);
	uint16_t index;

	(void)state;
	assert_int_equal(mlx5_srq_ring_init(&srq, &dv, entries), 0);
	assert_true(mlx5_srq_ring_build(&srq, data, 10, 20, &index));
	for (uint32_t i = 1; i <= UINT16_MAX; i++)
		assert_false(mlx5_srq_ring_complete(&srq, (uint16_t)i));
	assert_true(mlx5_srq_ring_complete(&srq, 0));
	assert_false(mlx5_srq_ring_complete(&srq, 0));
	free_memory();
}

/*
 * The device follows the links in host memory. It must find the receives in the order of the posts,
 * although they complete in random order.
 */
static void srq__device_finds_the_receives_in_order(void **state)
{
	const struct mlx5dv_srq dv = shared_of(64);
	uint16_t held[ENTRIES], device = 0, index;
	uint32_t seed = 1, nheld = 0, taken = 0, posted = 0, order[ENTRIES];

	(void)state;
	assert_int_equal(mlx5_srq_ring_init(&srq, &dv, entries), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t what = (seed = seed * 1103515245 + 12345) >> 16;

		if (what % 3 == 0) {
			if (!mlx5_srq_ring_build(&srq, data, 1 + posted % 1000, posted, &index))
				continue;
			order[posted++ % ENTRIES] = index;
			mlx5_srq_ring_notify(&srq);
			assert_int_equal(wire_get_u32(record), posted % 65536);
		} else if (what % 3 == 1 && taken < posted) {
			assert_int_equal(device, order[taken % ENTRIES]);
			expect_segment(memory + device * 64 + 16, data, 1 + taken % 1000, taken);
			expect_segment(memory + device * 64 + 32, NULL, 0, 0x100);
			held[nheld++] = device;
			device = link_of(device);
			taken++;
		} else if (nheld > 0) {
			uint32_t which = what / 3 % nheld;

			assert_true(mlx5_srq_ring_complete(&srq, held[which]));
			held[which] = held[--nheld];
		}
	}
	assert_true(taken > 30000);
	free_memory();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recv__init_refuses_other_queues),
		cmocka_unit_test(recv__a_queue_pair_without_receives),
		cmocka_unit_test(recv__entries_of_each_size),
		cmocka_unit_test(recv__length_zero_is_a_terminator),
		cmocka_unit_test(recv__a_full_ring_refuses),
		cmocka_unit_test(recv__complete_in_order_only),
		cmocka_unit_test(srq__init_refuses_other_queues),
		cmocka_unit_test(srq__init_refuses_wrong_links),
		cmocka_unit_test(srq__full_at_one_less_than_its_entries),
		cmocka_unit_test(srq__only_posted_receives_complete),
		cmocka_unit_test(srq__device_finds_the_receives_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
