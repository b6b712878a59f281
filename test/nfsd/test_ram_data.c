/* SPDX-License-Identifier: BSD-3-Clause */
/* Files with holes of back end ram: the tables of chunks that they take are bounded, and given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ram.h"

#define NPAGES	   1024u
#define NPLACES	   (RAM_CHUNKS_PER_PAGE * NPAGES)
#define HALF_BYTES ((uint64_t)NPLACES / 2 * RAM_CHUNK)

static struct ram_fs fs;
static struct ram_inode files[3];
static void *memory;

static int set_up(void **state)
{
	(void)state;
	fs = (struct ram_fs){.nchunks_max = NPLACES};
	memory = aligned_alloc(RAM_PAGE, NPAGES * RAM_PAGE);
	for (uint32_t i = 0; i < 3; i++)
		files[i] = (struct ram_inode){.block = RAM_NONE};
	return memory ? ram_blocks_init(&fs.blocks, memory, NPAGES * RAM_PAGE) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		ram_data_free(&fs, &files[i]);
	assert_int_equal(fs.nchunks, 0);
	assert_int_equal(fs.blocks.nfree, NPAGES);
	ram_blocks_fini(&fs.blocks);
	free(memory);
	return 0;
}

static uint32_t write_byte(struct ram_inode *file, uint64_t offset)
{
	const uint8_t byte = 'x';

	return ram_data_write(&fs, file, offset, &byte, 1);
}

static void ram_data_write__tables_of_all_files_are_bounded(void **state)
{
	uint32_t free_before;

	(void)state;
	assert_int_equal(write_byte(&files[0], HALF_BYTES - 1), 1);
	assert_int_equal(write_byte(&files[1], HALF_BYTES - 1), 1);
	assert_int_equal(fs.nchunks, NPLACES);
	free_before = fs.blocks.nfree;
	assert_int_equal(write_byte(&files[2], 0), 0);
	assert_int_equal(write_byte(&files[0], HALF_BYTES), 0);
	assert_int_equal(files[0].attr.size, HALF_BYTES);
	assert_int_equal(fs.blocks.nfree, free_before);
	/* Their holes can be filled still. */
	assert_int_equal(write_byte(&files[0], 0), 1);
}

static void ram_data_truncate__nothing_left_gives_the_table_back(void **state)
{
	(void)state;
	assert_int_equal(write_byte(&files[0], 2 * HALF_BYTES - 1), 1);
	assert_int_equal(write_byte(&files[1], 0), 0);
	assert_int_equal(ram_data_truncate(&fs, &files[0], 0), NFS3_OK);
	assert_int_equal(fs.nchunks, 0);
	assert_int_equal(write_byte(&files[1], 0), 1);
	assert_int_equal(write_byte(&files[0], 5), 1);
}

static void ram_data_free__gives_the_table_back(void **state)
{
	(void)state;
	assert_int_equal(write_byte(&files[0], 2 * HALF_BYTES - 1), 1);
	ram_data_free(&fs, &files[0]);
	assert_int_equal(fs.nchunks, 0);
	assert_int_equal(write_byte(&files[1], 2 * HALF_BYTES - 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ram_data_write__tables_of_all_files_are_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ram_data_truncate__nothing_left_gives_the_table_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ram_data_free__gives_the_table_back, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
