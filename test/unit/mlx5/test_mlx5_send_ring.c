/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the send queue of the driver mlx5: each kind of entry, the end of the ring, fences, the
 * doorbell, and completions. The expected bytes are written by hand, at the offsets that the device
 * documents. The queue, the doorbell record and the register are arrays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

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

static int setup(void **state)
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

static int teardown(void **state)
{
	(void)state;
	guarded_check(memory, BYTES);
	guarded_check(reg, 2 * BF_BYTES);
	guarded_free(memory);
	guarded_free(reg);
	return 0;
}

/* Returns the byte at an offset of the entry that begins at a count of blocks. */
static uint8_t *entry_byte(uint16_t count, uint32_t offset)
{
	return memory + (count * 64u + offset) % BYTES;
}

static void expect_words(uint16_t count, uint32_t offset, const uint32_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(wire_get_u32(entry_byte(count, offset + 4 * i)), words[i]);
}

static void expect_control(uint16_t count, uint32_t opcode, uint32_t units, uint8_t flags,
			   uint32_t immediate)
{
	const uint32_t words[] = {(uint32_t)count << 8 | opcode, NUM << 8 | units, flags,
				  immediate};

	expect_words(count, 0, words, 4);
}

static void expect_data(uint16_t count, uint32_t offset, const void *addr, uint32_t len,
			uint32_t lkey)
{
	uint64_t at = (uintptr_t)addr;
	const uint32_t words[] = {len, lkey, (uint32_t)(at >> 32), (uint32_t)at};

	expect_words(count, offset, words, 4);
}

static void expect_remote(uint16_t count, uint64_t raddr, uint32_t rkey)
{
	const uint32_t words[] = {(uint32_t)(raddr >> 32), (uint32_t)raddr, rkey, 0};

	expect_words(count, 16, words, 4);
}

static void complete_all(void)
{
	uint32_t position;

	mlx5_send_ring_notify(&ring);
	assert_true(ring.next == ring.first ||
		    mlx5_send_ring_complete(&ring, ring.last, &position));
}

/* Moves the beginning of the next entry by one block. */
static void skip_block(void)
{
	const struct fabric_wr wr = {.op = FABRIC_SEND};

	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	complete_all();
}

static void init__refuses_other_queues(void **state)
{
	const struct {
		uint32_t n, stride, bf;
	} bad[] = {{0, 64, 256},  {2, 64, 256},	    {33, 64, 256},
		   {32, 32, 256}, {65536, 64, 256}, {32, 64, 100}};
	struct mlx5_send_ring other;

	(void)state;
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct mlx5dv_qp wrong = dv;

		wrong.sq.wqe_cnt = bad[i].n;
		wrong.sq.stride = bad[i].stride;
		wrong.bf.size = bad[i].bf;
		assert_int_equal(mlx5_send_ring_init(&other, &wrong, NUM, &doorbell, blocks),
				 -EINVAL);
	}
	assert_int_equal(mlx5_send_ring_init(&other, &dv, 0x1000000, &doorbell, blocks), -EINVAL);
}

static void build__send(void **state)
{
	struct fabric_sge sge[] = {{data, 100, 0x1111}, {data + 100, 200, 0x2222}};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = sge, .nsge = 2, .rkey = 0x99};

	(void)state;
	assert_true(mlx5_send_ring_build(&ring, &wr, 7));
	expect_control(0, 0x0a, 3, 0x08, 0);
	expect_data(0, 16, data, 100, 0x1111);
	expect_data(0, 32, data + 100, 200, 0x2222);
	assert_int_equal(ring.next, 1);
}

static void build__send_with_invalidate(void **state)
{
	struct fabric_sge sge = {data, 100, 0x1111};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND_INV, .sge = &sge, .nsge = 1, .rkey = 0xabcd1234};

	(void)state;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	expect_control(0, 0x01, 2, 0, 0xabcd1234);
	expect_data(0, 16, data, 100, 0x1111);
}

static void build__write_of_several_segments(void **state)
{
	struct fabric_sge sge[FABRIC_SGE_MAX];
	struct fabric_wr wr = {.op = FABRIC_WRITE,
			       .sge = sge,
			       .nsge = FABRIC_SGE_MAX,
			       .rkey = 0x77,
			       .raddr = 0x123456789abcdef0};

	(void)state;
	for (uint32_t i = 0; i < FABRIC_SGE_MAX; i++)
		sge[i] = (struct fabric_sge){data + i, i + 1, i};
	/* at each place, so that the entry also continues at the beginning of the ring */
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint16_t count = ring.next;

		assert_true(mlx5_send_ring_build(&ring, &wr, 0));
		expect_control(count, 0x08, 2 + FABRIC_SGE_MAX, 0, 0);
		expect_remote(count, wr.raddr, 0x77);
		for (uint32_t j = 0; j < FABRIC_SGE_MAX; j++)
			expect_data(count, 32 + 16 * j, data + j, j + 1, j);
		assert_int_equal(ring.next, (uint16_t)(count + 5));
		complete_all();
	}
}

static void build__read(void **state)
{
	struct fabric_sge sge = {data, 100, 0x1111};
	/* A READ has no inline data. */
	const struct fabric_wr wr = {.op = FABRIC_READ,
				     .flags = FABRIC_INLINE | FABRIC_FENCE,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = 0x77,
				     .raddr = 0x1000};

	(void)state;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	expect_control(0, 0x10, 3, 0x80, 0);
	expect_remote(0, 0x1000, 0x77);
	expect_data(0, 32, data, 100, 0x1111);
}

static void build__elements_without_bytes_are_left_out(void **state)
{
	struct fabric_sge sge[] = {{data, 0, 1}, {data, 5, 2}, {data, 0, 3}};
	struct fabric_wr wr = {.op = FABRIC_WRITE, .sge = sge, .nsge = 3};

	(void)state;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	expect_control(0, 0x08, 3, 0, 0);
	expect_data(0, 32, data, 5, 2);
	wr.flags = FABRIC_INLINE;
	wr.nsge = 1;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	expect_control(1, 0x08, 2, 0, 0);
}

/* Checks inline data of 'len' bytes at 'offset' of an entry. */
static void expect_inline(uint16_t count, uint32_t offset, uint32_t len)
{
	assert_int_equal(wire_get_u32(entry_byte(count, offset)), 0x80000000u | len);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(*entry_byte(count, offset + 4 + i), data[i]);
}

static void build__inline_of_each_length_at_each_place(void **state)
{
	(void)state;
	for (uint32_t len = 1; len <= 300; len++)
		for (uint32_t place = 0; place < BLOCKS; place++) {
			uint32_t cut = len / 3;
			struct fabric_sge sge[] = {{data, cut, 0}, {data + cut, len - cut, 0}};
			const struct fabric_wr wr = {.op = len % 2 ? FABRIC_SEND : FABRIC_WRITE,
						     .flags = FABRIC_INLINE,
						     .sge = sge,
						     .nsge = 2};
			uint32_t offset = wr.op == FABRIC_SEND ? 16 : 32;
			uint16_t count = ring.next;

			assert_true(mlx5_send_ring_build(&ring, &wr, 0));
			expect_control(count, wr.op == FABRIC_SEND ? 0x0a : 0x08,
				       offset / 16 + (len + 4 + 15) / 16, 0, 0);
			expect_inline(count, offset, len);
			complete_all();
		}
}

static void build__longest_inline_and_one_byte_more(void **state)
{
	/* 63 units without the control segment and the 4 bytes of the length */
	struct fabric_sge sge = {data, 62 * 16 - 4, 0};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_INLINE, .sge = &sge, .nsge = 1};
	struct mlx5_send_ring before;

	(void)state;
	skip_block();
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	expect_control(1, 0x0a, 63, 0, 0);
	expect_inline(1, 16, 62 * 16 - 4);
	complete_all();
	sge.len++;
	before = ring;
	assert_false(mlx5_send_ring_build(&ring, &wr, 0));
	sge.len = UINT32_MAX;
	assert_false(mlx5_send_ring_build(&ring, &wr, 0));
	assert_memory_equal(&ring, &before, sizeof(ring));
}

static void build__refuses_what_an_entry_cannot_say(void **state)
{
	struct fabric_sge sge[64];
	struct fabric_wr wr = {.op = FABRIC_SEND, .sge = sge, .nsge = 1};

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		sge[i] = (struct fabric_sge){data, 1, 1};
	sge[0].len = 0x80000000u;
	assert_false(mlx5_send_ring_build(&ring, &wr, 0));
	sge[0].len = 0x7fffffffu;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	wr.nsge = 63;
	assert_false(mlx5_send_ring_build(&ring, &wr, 0));
	wr.nsge = 62;
	assert_true(mlx5_send_ring_build(&ring, &wr, 0));
	wr.op = FABRIC_RECV;
	wr.nsge = 0;
	assert_false(mlx5_send_ring_build(&ring, &wr, 0));
}

static void build__a_full_ring_refuses(void **state)
{
	struct fabric_sge sge[] = {{data, 1, 1}, {data, 1, 1}, {data, 1, 1}, {data, 1, 1}};
	const struct fabric_wr one = {.op = FABRIC_SEND},
			       two = {.op = FABRIC_SEND, .sge = sge, .nsge = 4},
			       inv = {.op = FABRIC_LOCAL_INV},
			       bind = {.op = FABRIC_BIND_MW, .sge = sge, .nsge = 1};
	uint32_t position;

	(void)state;
	for (uint32_t i = 0; i < BLOCKS - 1; i++)
		assert_true(mlx5_send_ring_build(&ring, &one, i));
	assert_false(mlx5_send_ring_build(&ring, &two, 0));
	assert_false(mlx5_send_ring_build(&ring, &inv, 0));
	assert_false(mlx5_send_ring_build_bind(&ring, &bind, 0, 1, 2));
	assert_true(mlx5_send_ring_build(&ring, &one, BLOCKS - 1));
	assert_false(mlx5_send_ring_build(&ring, &one, 0));
	mlx5_send_ring_notify(&ring);
	assert_true(mlx5_send_ring_complete(&ring, 1, &position));
	assert_int_equal(position, 1);
	assert_true(mlx5_send_ring_build(&ring, &two, 0));
	assert_false(mlx5_send_ring_build(&ring, &one, 0));
}

static void expect_bind(uint16_t count, uint32_t access, uint32_t rkey, uint32_t new_rkey,
			const struct fabric_sge *sge)
{
	uint64_t at = (uintptr_t)sge->addr, mask = 0x203c6041;
	const uint32_t umr[] = {0xb0000000, 0x00040000, (uint32_t)(mask >> 32), (uint32_t)mask};
	const uint32_t context[16] = {[0] = access << 8,
				      [1] = NUM << 8 | (new_rkey & 0xff),
				      [4] = (uint32_t)(at >> 32),
				      [5] = (uint32_t)at,
				      [7] = sge->len};
	const uint32_t list[16] = {sge->len, sge->lkey, (uint32_t)(at >> 32), (uint32_t)at};
	const uint32_t none[8] = {0};

	expect_control(count, 0x25, 12, 0x08, rkey);
	expect_words(count, 16, umr, 4);
	expect_words(count, 32, none, 8);
	expect_words(count, 64, context, 16);
	expect_words(count, 128, list, 16);
}

static void build_bind__at_each_place(void **state)
{
	static const struct {
		uint32_t access, flags;
	} rights[] = {{FABRIC_REMOTE_READ, 0x10},
		      {FABRIC_REMOTE_WRITE, 0x20},
		      {FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE, 0x30}};
	struct fabric_sge sge = {data, 1500, 0x4242};
	struct fabric_wr wr = {
		.op = FABRIC_BIND_MW, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	(void)state;
	memset(memory, 0xff, BYTES); /* an entry leaves no byte as it was */
	for (uint32_t i = 0; i < 3 * BLOCKS; i++) {
		uint16_t count = ring.next;

		wr.access = rights[i % 3].access;
		ring.fence = 0;
		assert_true(mlx5_send_ring_build_bind(&ring, &wr, 0, 0x700 + i, 0x800 + i));
		expect_bind(count, rights[i % 3].flags, 0x700 + i, 0x800 + i, &sge);
		complete_all();
		skip_block();
	}
	sge.len = 0;
	assert_false(mlx5_send_ring_build_bind(&ring, &wr, 0, 1, 2));
	sge.len = 0x80000001u;
	assert_false(mlx5_send_ring_build_bind(&ring, &wr, 0, 1, 2));
	sge.len = 0x80000000u;
	assert_true(mlx5_send_ring_build_bind(&ring, &wr, 0, 1, 2));
}

static void build__local_invalidate(void **state)
{
	const struct fabric_wr wr = {.op = FABRIC_LOCAL_INV, .rkey = 0x1234};
	const uint32_t umr[] = {0x98000000, 0, 0, 0x20006000};
	const uint32_t context[16] = {0x40000000, 0xffffff00}, none[8] = {0};

	(void)state;
	memset(memory, 0xff, BYTES);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint16_t count = ring.next;

		ring.fence = 0;
		assert_true(mlx5_send_ring_build(&ring, &wr, 0));
		expect_control(count, 0x25, 8, 0, 0x1234);
		expect_words(count, 16, umr, 4);
		expect_words(count, 32, none, 8);
		expect_words(count, 64, context, 16);
		complete_all();
		skip_block();
	}
}

static void build__small_fence_after_each_change_of_a_key(void **state)
{
	struct fabric_sge sge = {data, 1, 1};
	const struct fabric_wr bind = {.op = FABRIC_BIND_MW, .sge = &sge, .nsge = 1},
			       inv = {.op = FABRIC_LOCAL_INV}, send = {.op = FABRIC_SEND},
			       fenced = {.op = FABRIC_SEND, .flags = FABRIC_FENCE};

	(void)state;
	assert_true(mlx5_send_ring_build_bind(&ring, &bind, 0, 1, 2));
	assert_true(mlx5_send_ring_build(&ring, &send, 0));
	assert_true(mlx5_send_ring_build(&ring, &send, 0));
	assert_true(mlx5_send_ring_build(&ring, &inv, 0));
	assert_true(mlx5_send_ring_build(&ring, &inv, 0));
	assert_true(mlx5_send_ring_build(&ring, &fenced, 0));
	assert_true(mlx5_send_ring_build(&ring, &send, 0));
	expect_control(3, 0x0a, 1, 0x20, 0);
	expect_control(4, 0x0a, 1, 0, 0);
	expect_control(5, 0x25, 8, 0, 0);
	expect_control(7, 0x25, 8, 0x20, 0);
	expect_control(9, 0x0a, 1, 0x80, 0);
	expect_control(10, 0x0a, 1, 0, 0);
}

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

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(init__refuses_other_queues),
		RING_TEST(build__send),
		RING_TEST(build__send_with_invalidate),
		RING_TEST(build__write_of_several_segments),
		RING_TEST(build__read),
		RING_TEST(build__elements_without_bytes_are_left_out),
		RING_TEST(build__inline_of_each_length_at_each_place),
		RING_TEST(build__longest_inline_and_one_byte_more),
		RING_TEST(build__refuses_what_an_entry_cannot_say),
		RING_TEST(build__a_full_ring_refuses),
		RING_TEST(build_bind__at_each_place),
		RING_TEST(build__local_invalidate),
		RING_TEST(build__small_fence_after_each_change_of_a_key),
		RING_TEST(notify__blueflame_for_a_single_short_entry),
		RING_TEST(notify__one_word_for_a_chain),
		RING_TEST(notify__one_word_for_a_long_entry),
		RING_TEST(notify__one_word_without_blueflame),
		RING_TEST(notify__rings_share_the_buffers_of_a_register),
		RING_TEST(complete__frees_all_earlier_entries),
		RING_TEST(complete__random_entries_for_many_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
