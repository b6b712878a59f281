/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the doorbell of the driver mlx5, and of the completions of a send queue: BlueFlame,
 * chains with one doorbell, and the entries that a completion frees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "send_fixture.h"

static void notify__blueflame_for_a_single_short_entry(void **state)
{
	struct fabric_sge sge = {data, 180, 0};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_INLINE, .sge = &sge, .nsge = 1};

	(void)state;
	/* entries of 4 blocks, at each place of the ring, in alternating buffers */
	for (uint32_t i = 0; i < BLOCKS + 1; i++) {
		uint32_t offset = doorbell.offset, other = offset ^ BF_BYTES;
		uint16_t count = ring.next;

		memset(reg, 0, 2 * BF_BYTES);
		assert_true(mlx5_send_ring_build(&ring, &wr, 0));
		mlx5_send_ring_notify(&ring);
		for (uint32_t at = 0; at < 256; at++)
			assert_int_equal(reg[offset + at], *entry_byte(count, at));
		for (uint32_t at = 0; at < BF_BYTES; at++)
			assert_int_equal(reg[other + at], 0);
		assert_int_equal(doorbell.offset, other);
		assert_int_equal(wire_get_u32(record), 0);
		assert_int_equal(wire_get_u32(record + 4), ring.next);
		complete_all();
		skip_block();
		skip_block();
	}
}

/* Checks that the register has the first 8 bytes of an entry and nothing else. */
static void expect_word(uint32_t offset, uint16_t count)
{
	for (uint32_t at = 0; at < 2 * BF_BYTES; at++)
		assert_int_equal(reg[at], at - offset < 8 ? *entry_byte(count, at - offset) : 0);
}

static void notify__one_word_for_a_chain(void **state)
{
	const struct fabric_wr wr = {.op = FABRIC_SEND};

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_true(mlx5_send_ring_build(&ring, &wr, i));
	assert_int_equal(wire_get_u32(record + 4), 0);
	mlx5_send_ring_notify(&ring);
	assert_int_equal(wire_get_u32(record + 4), 5);
	expect_word(0, 4);
	memset(reg, 0, 2 * BF_BYTES);
	mlx5_send_ring_notify(&ring); /* nothing was built */
	assert_int_equal(reg[0] | reg[BF_BYTES], 0);
	assert_true(mlx5_send_ring_build(&ring, &wr, 5));
	assert_true(mlx5_send_ring_build(&ring, &wr, 6));
	mlx5_send_ring_notify(&ring);
	expect_word(BF_BYTES, 6);
	assert_int_equal(doorbell.offset, 0);
}

static void notify__one_word_for_a_long_entry(void **state)
{
	struct fabric_sge sge = {data, 300, 0};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_INLINE, .sge = &sge, .nsge = 1};

	(void)state;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	mlx5_send_ring_notify(&ring);
	expect_word(0, 0);
	assert_int_equal(wire_get_u32(record + 4), 5);
}

static void notify__one_word_without_blueflame(void **state)
{
	const struct fabric_wr wr = {.op = FABRIC_SEND};

	(void)state;
	doorbell.bytes = 0;
	for (uint16_t i = 0; i < 3; i++) {
		assert_true(mlx5_send_ring_build(&ring, &wr, 0));
		mlx5_send_ring_notify(&ring);
		expect_word(0, i);
	}
}

static void notify__rings_share_the_buffers_of_a_register(void **state)
{
	const struct fabric_wr wr = {.op = FABRIC_SEND};
	uint8_t *second = guarded_alloc(BYTES), second_record[8];
	struct mlx5_send_block second_blocks[BLOCKS];
	struct mlx5dv_qp second_dv = dv;
	struct mlx5_send_ring other;

	(void)state;
	second_dv.sq.buf = second;
	second_dv.dbrec = (__be32 *)(void *)second_record;
	assert_int_equal(mlx5_send_ring_init(&other, &second_dv, NUM + 1, &doorbell, second_blocks),
			 0);
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	assert_true(mlx5_send_ring_build(&other, &wr, 0));
	mlx5_send_ring_notify(&ring);
	mlx5_send_ring_notify(&other);
	assert_memory_equal(reg, memory, 64);
	assert_memory_equal(reg + BF_BYTES, second, 64);
	guarded_check(second, BYTES);
	guarded_free(second);
}

static void complete__frees_all_earlier_entries(void **state)
{
	struct fabric_sge sge[4] = {{data, 1, 1}, {data, 1, 1}, {data, 1, 1}, {data, 1, 1}};
	const struct fabric_wr wr = {.op = FABRIC_SEND, .sge = sge, .nsge = 4}; /* 2 blocks */
	uint32_t position = 99;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_true(mlx5_send_ring_build(&ring, &wr, 100 + i));
	assert_false(mlx5_send_ring_complete(&ring, 0, &position)); /* the device has none yet */
	mlx5_send_ring_notify(&ring);
	assert_true(mlx5_send_ring_build(&ring, &wr, 105));
	assert_true(mlx5_send_ring_complete(&ring, 4, &position));
	assert_int_equal(position, 102);
	for (uint32_t counter = 0; counter <= UINT16_MAX; counter++)
		if (counter != 6 && counter != 8)
			assert_false(mlx5_send_ring_complete(&ring, (uint16_t)counter, &position));
	assert_int_equal(position, 102);
	assert_true(mlx5_send_ring_complete(&ring, 6, &position));
	assert_int_equal(position, 103);
	assert_true(mlx5_send_ring_complete(&ring, 8, &position));
	assert_int_equal(position, 104);
	assert_int_equal(ring.first, 10);
}

/* A block that began an entry in an earlier round of the ring can be within another one. */
static void complete__no_entry_begins_within_another(void **state)
{
	struct fabric_sge sge[4] = {{data, 1, 1}, {data, 1, 1}, {data, 1, 1}, {data, 1, 1}};
	const struct fabric_wr wr = {.op = FABRIC_SEND, .sge = sge, .nsge = 4}; /* 2 blocks */
	uint32_t position;

	(void)state;
	for (uint32_t i = 0; i < BLOCKS; i++)
		skip_block();
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	assert_true(mlx5_send_ring_build(&ring, &wr, 1));
	mlx5_send_ring_notify(&ring);
	assert_false(mlx5_send_ring_complete(&ring, BLOCKS + 1, &position));
	assert_false(mlx5_send_ring_complete(&ring, BLOCKS + 3, &position));
	assert_true(mlx5_send_ring_complete(&ring, BLOCKS + 2, &position));
	assert_int_equal(position, 1);
}

/* The count of blocks wraps at 65536, several times. */
static void complete__random_entries_for_many_rounds(void **state)
{
	uint32_t seed = 1, posted = 0, retired = 0, position;
	uint16_t counters[64];

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		struct fabric_sge sge = {data, (seed = seed * 1103515245 + 12345) >> 16 & 0xff, 0};
		const struct fabric_wr wr = {
			.op = FABRIC_WRITE, .flags = FABRIC_INLINE, .sge = &sge, .nsge = 1};
		uint16_t count = ring.next;

		if (mlx5_send_ring_build(&ring, &wr, posted)) {
			counters[posted++ % 64] = count;
			mlx5_send_ring_notify(&ring);
			continue;
		}
		assert_true(posted > retired);
		retired += (seed >> 8) % (posted - retired);
		assert_true(mlx5_send_ring_complete(&ring, counters[retired % 64], &position));
		assert_int_equal(position, retired);
		retired++;
	}
	assert_true(posted > 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(notify__blueflame_for_a_single_short_entry),
		RING_TEST(notify__one_word_for_a_chain),
		RING_TEST(notify__one_word_for_a_long_entry),
		RING_TEST(notify__one_word_without_blueflame),
		RING_TEST(notify__rings_share_the_buffers_of_a_register),
		RING_TEST(complete__frees_all_earlier_entries),
		RING_TEST(complete__no_entry_begins_within_another),
		RING_TEST(complete__random_entries_for_many_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
