/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the entries of the send queue of the driver mlx5: each kind of entry, the end of the
 * ring, and fences. The expected bytes are written by hand, at the offsets that the device expects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "send_fixture.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
