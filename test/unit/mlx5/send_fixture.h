/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SEND_FIXTURE_H
#define SEND_FIXTURE_H

/* A send queue, its doorbell record and its register, which are arrays. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler.h"
#include "guarded.h"
#include "send_ring.h"
#include "wire.h"

#define BLOCKS	 32u
#define BYTES	 (BLOCKS * 64u)
#define BF_BYTES 256u
#define NUM	 0x012345u

static uint8_t *memory, *reg, record[8];
static uint8_t data[2048];
static struct mlx5dv_qp dv;
static struct mlx5_doorbell doorbell;
static struct mlx5_send_block blocks[BLOCKS];
static struct mlx5_send_ring ring;

static maybe_unused int setup(void **state)
{
	(void)state;
	memory = guarded_alloc(BYTES);
	reg = guarded_alloc(2 * BF_BYTES);
	memset(record, 0, sizeof(record));
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256 + 1);
	dv = (struct mlx5dv_qp){
		.dbrec = (__be32 *)(void *)record,
		.sq = {.buf = memory, .wqe_cnt = BLOCKS, .stride = 64},
		.bf = {.reg = reg, .size = BF_BYTES},
	};
	doorbell = (struct mlx5_doorbell){.reg = reg, .bytes = BF_BYTES};
	return mlx5_send_ring_init(&ring, &dv, NUM, &doorbell, blocks);
}

static maybe_unused int teardown(void **state)
{
	(void)state;
	guarded_check(memory, BYTES);
	guarded_check(reg, 2 * BF_BYTES);
	guarded_free(memory);
	guarded_free(reg);
	return 0;
}

/* Returns the byte at an offset of the entry that begins at a count of blocks. */
static maybe_unused uint8_t *entry_byte(uint16_t count, uint32_t offset)
{
	return memory + (count * 64u + offset) % BYTES;
}

static maybe_unused void expect_words(uint16_t count, uint32_t offset, const uint32_t *words,
				      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(wire_get_u32(entry_byte(count, offset + 4 * i)), words[i]);
}

static maybe_unused void expect_control(uint16_t count, uint32_t opcode, uint32_t units,
					uint8_t flags, uint32_t immediate)
{
	const uint32_t words[] = {(uint32_t)count << 8 | opcode, NUM << 8 | units, flags,
				  immediate};

	expect_words(count, 0, words, 4);
}

static maybe_unused void expect_data(uint16_t count, uint32_t offset, const void *addr,
				     uint32_t len, uint32_t lkey)
{
	uint64_t at = (uintptr_t)addr;
	const uint32_t words[] = {len, lkey, (uint32_t)(at >> 32), (uint32_t)at};

	expect_words(count, offset, words, 4);
}

static maybe_unused void expect_remote(uint16_t count, uint64_t raddr, uint32_t rkey)
{
	const uint32_t words[] = {(uint32_t)(raddr >> 32), (uint32_t)raddr, rkey, 0};

	expect_words(count, 16, words, 4);
}

static maybe_unused void complete_all(void)
{
	uint32_t position;

	mlx5_send_ring_notify(&ring);
	assert_true(ring.next == ring.first ||
		    mlx5_send_ring_complete(&ring, ring.last, &position));
}

/* Moves the beginning of the next entry by one block. */
static maybe_unused void skip_block(void)
{
	const struct fabric_wr wr = {.op = FABRIC_SEND};

	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	complete_all();
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
