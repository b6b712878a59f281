/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of files with holes in the back end 'ram'. Holes use no block, read as zeros and cost no
 * time. Data that are written are stored, counted and freed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ram/ram.h"

#define NPAGES	    1024u
#define ZEROS_PAGES (RAM_CHUNK / BLOCK_POOL_PAGE)
#define NPAGES_FREE (NPAGES - ZEROS_PAGES) /* number of free pages of an empty export */
#define MIB	    (1ull << 20)
#define GIB	    (1ull << 30)
#define STRIDE	    (2 * MIB) /* with this stride, each second chunk is a hole */

static struct ram_fs fs;
static struct ram_inode files[3];
static uint8_t *memory;

static int set_up(void **state)
{
	(void)state;
	fs = (struct ram_fs){.nodes = {.max = NPAGES}};
	memory = aligned_alloc(BLOCK_POOL_PAGE, NPAGES * BLOCK_POOL_PAGE);
	for (uint32_t i = 0; i < 3; i++)
		files[i] = (struct ram_inode){.block = BLOCK_POOL_NONE};
	if (!memory || block_pool_init(&fs.pool, memory, NPAGES * BLOCK_POOL_PAGE) != 0)
		return -1;
	memset(memory, 0xaa, NPAGES * BLOCK_POOL_PAGE);
	fs.zeros = block_pool_get(&fs.pool, RAM_CHUNK);
	memset(block_pool_data(&fs.pool, fs.zeros), 0, RAM_CHUNK);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		ram_data_free(&fs, &files[i]);
		assert_int_equal(files[i].attr.used, 0);
	}
	assert_int_equal(fs.nodes.n, 0);
	assert_int_equal(fs.pool.nfree, NPAGES_FREE);
	block_pool_fini(&fs.pool);
	free(memory);
	return 0;
}

static uint64_t used_bytes(void)
{
	return (uint64_t)(NPAGES_FREE - fs.pool.nfree) * BLOCK_POOL_PAGE;
}

static uint32_t write_byte(struct ram_inode *file, uint64_t offset)
{
	const uint8_t byte = 'x';

	return ram_data_write(&fs, file, offset, &byte, 1);
}

static int read_byte(const struct ram_inode *file, uint64_t offset)
{
	const uint8_t *data;
	uint32_t block;

	assert_int_equal(ram_data_at(&fs, file, offset, 1, &block, &data), 1);
	return *data;
}

static void ram_data_truncate__to_any_size_takes_nothing(void **state)
{
	(void)state;
	assert_int_equal(ram_data_truncate(&fs, &files[0], RAM_FILE_MAX), NFS3_OK);
	assert_int_equal(files[0].attr.size, RAM_FILE_MAX);
	assert_int_equal(files[0].attr.used, 0);
	assert_int_equal(fs.pool.nfree, NPAGES_FREE);
	assert_int_equal(fs.nodes.n, 0);
	assert_int_equal(ram_data_truncate(&fs, &files[0], 1), NFS3_OK);
	assert_int_equal(files[0].attr.size, 1);
}

static void ram_data_at__of_a_hole_is_the_shared_block_of_zeros(void **state)
{
	static const uint64_t offsets[] = {1,	    MIB,     2 * MIB - 1,      2 * GIB - 1,
					   4 * GIB, 9 * GIB, RAM_FILE_MAX / 2, RAM_FILE_MAX - MIB};
	const uint8_t *data;
	uint32_t block, n;

	(void)state;
	assert_int_equal(write_byte(&files[0], RAM_FILE_MAX - 1), 1);
	for (uint32_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint32_t free_before = fs.pool.nfree;

		n = ram_data_at(&fs, &files[0], offsets[i], UINT32_MAX, &block, &data);
		if (i + 1 < sizeof(offsets) / sizeof(offsets[0]))
			assert_int_equal(block, fs.zeros);
		assert_true(n > 0 && n <= RAM_CHUNK - offsets[i] % RAM_CHUNK);
		for (uint32_t at = 0; at + 1 < n; at++)
			assert_int_equal(data[at], 0);
		assert_int_equal(fs.pool.nfree, free_before);
	}
}

static void ram_data_write__in_holes_takes_blocks(void **state)
{
	static const uint64_t offsets[] = {RAM_FILE_MAX - MIB, 4 * GIB, 2 * GIB, 40 * MIB, 0};
	uint64_t used = 0;

	(void)state;
	for (uint32_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		assert_int_equal(write_byte(&files[0], offsets[i]), 1);
		used += BLOCK_POOL_PAGE;
		assert_int_equal(files[0].attr.used, used);
		assert_int_equal(used_bytes(), used);
	}
	for (uint32_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		assert_int_equal(read_byte(&files[0], offsets[i]), 'x');
		assert_int_equal(read_byte(&files[0], offsets[i] + 1), 0);
		assert_int_equal(read_byte(&files[0], offsets[i] + BLOCK_POOL_PAGE), 0);
	}
	assert_int_equal(files[0].attr.size, RAM_FILE_MAX - MIB + 1);
	/* A second write to the same block uses no new block. */
	assert_int_equal(write_byte(&files[0], 4 * GIB + 1), 1);
	assert_int_equal(used_bytes(), used);
}

static void ram_data_write__over_the_edge_of_a_chunk(void **state)
{
	const uint8_t data[] = {1, 2, 3, 4};
	static const uint64_t edges[] = {2 * GIB, 4 * GIB};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ram_data_write(&fs, &files[i], edges[i] - 2, data, 4), 4);
		assert_int_equal(files[i].attr.size, edges[i] + 2);
		assert_int_equal(read_byte(&files[i], edges[i] - 3), 0);
		for (uint32_t at = 0; at < 4; at++)
			assert_int_equal(read_byte(&files[i], edges[i] - 2 + at), data[at]);
		ram_data_free(&fs, &files[i]);
	}
}

static void ram_data_write__in_order_fills_chunks(void **state)
{
	(void)state;
	assert_int_equal(write_byte(&files[0], 0), 1);
	assert_int_equal(write_byte(&files[0], MIB), 1);
	/* If a file grows in order, each block has its final size from the start. */
	assert_int_equal(files[0].attr.used, BLOCK_POOL_PAGE + RAM_CHUNK);
	assert_int_equal(files[0].attr.used, used_bytes());
}

static void ram_data_write__without_space_loses_nothing(void **state)
{
	static uint8_t data[RAM_CHUNK + 100];
	uint32_t n = 0;

	(void)state;
	memset(data, 'y', sizeof(data));
	assert_int_equal(ram_data_truncate(&fs, &files[0], RAM_FILE_MAX), NFS3_OK);
	while (write_byte(&files[0], n * STRIDE) == 1)
		n++;
	assert_int_equal(n, NPAGES_FREE);
	assert_int_equal(fs.pool.nfree, 0);
	assert_int_equal(write_byte(&files[0], n * STRIDE), 0);
	assert_int_equal(write_byte(&files[1], 0), 0);
	/* This WRITE would need a larger block. */
	assert_int_equal(ram_data_write(&fs, &files[0], 0, data, BLOCK_POOL_PAGE + 1), 0);
	assert_int_equal(ram_data_write(&fs, &files[0], STRIDE - 1, data, 2), 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(read_byte(&files[0], i * STRIDE), 'x');
		assert_int_equal(read_byte(&files[0], i * STRIDE + 1), 0);
		assert_int_equal(read_byte(&files[0], i * STRIDE + STRIDE - 1), 0);
	}
	assert_int_equal(files[0].attr.size, RAM_FILE_MAX);
	assert_int_equal(files[1].attr.size, 0);
	assert_int_equal(files[0].attr.used, (uint64_t)NPAGES_FREE * BLOCK_POOL_PAGE);
	/* These WRITEs replace data, or need no additional space. */
	assert_int_equal(ram_data_write(&fs, &files[0], 0, data, BLOCK_POOL_PAGE), BLOCK_POOL_PAGE);
	assert_int_equal(ram_data_truncate(&fs, &files[0], (n - 1) * STRIDE), NFS3_OK);
	assert_int_equal(ram_data_write(&fs, &files[1], RAM_CHUNK - 1, data, 2), 0);
	assert_int_equal(ram_data_truncate(&fs, &files[0], 0), NFS3_OK);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(ram_data_write(&fs, &files[0], i * MIB, data, RAM_CHUNK),
				 RAM_CHUNK);
	assert_int_equal(ram_data_write(&fs, &files[1], RAM_CHUNK - 100, data, RAM_CHUNK + 100),
			 100);
	assert_int_equal(files[1].attr.size, RAM_CHUNK);
	assert_int_equal(fs.pool.nfree, 0);
}

static void ram_data_write__maps_of_all_files_are_limited(void **state)
{
	(void)state;
	fs.nodes.max = 2 * RAM_MAP_HEIGHT;
	assert_int_equal(write_byte(&files[0], RAM_FILE_MAX - 1), 1);
	assert_int_equal(write_byte(&files[1], RAM_FILE_MAX - 1), 1);
	assert_int_equal(used_bytes(), 2 * RAM_CHUNK);
	assert_int_equal(write_byte(&files[2], MIB), 0);
	assert_int_equal(write_byte(&files[0], 0), 0);
	assert_int_equal(used_bytes(), 2 * RAM_CHUNK);
	/*
	 * The first chunk of a file needs no node, and a chunk next to an existing one does not
	 * either.
	 */
	assert_int_equal(write_byte(&files[2], 0), 1);
	assert_int_equal(write_byte(&files[0], RAM_FILE_MAX - 2 * MIB), 1);
	ram_data_free(&fs, &files[1]);
	assert_int_equal(write_byte(&files[2], MIB), 1);
}

static void ram_data_truncate__frees_what_lies_behind(void **state)
{
	static const uint64_t sizes[] = {
		RAM_FILE_MAX / 2 + 1, RAM_FILE_MAX / 2, 4 * GIB + 5, 4 * GIB, 2 * GIB, 1, 0};
	static const uint32_t pages[] = {4, 3, 3, 2, 1, 1, 0};

	(void)state;
	assert_int_equal(write_byte(&files[0], 0), 1);
	assert_int_equal(write_byte(&files[0], 2 * GIB), 1);
	assert_int_equal(write_byte(&files[0], 4 * GIB), 1);
	assert_int_equal(write_byte(&files[0], RAM_FILE_MAX / 2), 1);
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(ram_data_truncate(&fs, &files[0], sizes[i]), NFS3_OK);
		assert_int_equal(files[0].attr.size, sizes[i]);
		assert_int_equal(used_bytes(), (uint64_t)pages[i] * BLOCK_POOL_PAGE);
		assert_int_equal(files[0].attr.used, used_bytes());
	}
	assert_int_equal(fs.nodes.n, 0);
	/* After the file has grown again, the new part reads as zeros. */
	assert_int_equal(ram_data_truncate(&fs, &files[0], RAM_FILE_MAX), NFS3_OK);
	assert_int_equal(read_byte(&files[0], 0), 0);
	assert_int_equal(read_byte(&files[0], 4 * GIB), 0);
}

static void ram_data_truncate__zeros_the_rest_of_a_chunk(void **state)
{
	static uint8_t data[RAM_CHUNK];

	(void)state;
	memset(data, 'y', sizeof(data));
	assert_int_equal(ram_data_write(&fs, &files[0], 4 * GIB, data, RAM_CHUNK), RAM_CHUNK);
	assert_int_equal(ram_data_truncate(&fs, &files[0], 4 * GIB + 2), NFS3_OK);
	assert_int_equal(ram_data_truncate(&fs, &files[0], RAM_FILE_MAX), NFS3_OK);
	assert_int_equal(read_byte(&files[0], 4 * GIB + 1), 'y');
	for (uint32_t at = 2; at < RAM_CHUNK; at += 997)
		assert_int_equal(read_byte(&files[0], 4 * GIB + at), 0);
}

static void ram_data_trim__gives_back_what_lies_behind_the_end(void **state)
{
	uint32_t block;

	(void)state;
	assert_int_equal(write_byte(&files[0], 10), 1);
	assert_non_null(ram_data_reserve(&fs, &files[0], 11, 1, &block));
	assert_non_null(ram_data_reserve(&fs, &files[0], 4 * GIB, 1, &block));
	assert_int_equal(used_bytes(), 2 * BLOCK_POOL_PAGE);
	ram_data_trim(&fs, &files[0]);
	assert_int_equal(used_bytes(), BLOCK_POOL_PAGE);
	assert_int_equal(files[0].attr.used, BLOCK_POOL_PAGE);
	assert_int_equal(fs.nodes.n, 0);
	assert_int_equal(read_byte(&files[0], 10), 'x');
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ram_data_truncate__to_any_size_takes_nothing),
		TEST(ram_data_at__of_a_hole_is_the_shared_block_of_zeros),
		TEST(ram_data_write__in_holes_takes_blocks),
		TEST(ram_data_write__over_the_edge_of_a_chunk),
		TEST(ram_data_write__in_order_fills_chunks),
		TEST(ram_data_write__without_space_loses_nothing),
		TEST(ram_data_write__maps_of_all_files_are_limited),
		TEST(ram_data_truncate__frees_what_lies_behind),
		TEST(ram_data_truncate__zeros_the_rest_of_a_chunk),
		TEST(ram_data_trim__gives_back_what_lies_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
