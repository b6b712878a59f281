/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WRITEs of back end ram whose data are pulled straight to their blocks: what one that is never
 * carried out leaves behind the file's end goes when its request does. The request is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cred.h"
#include "ram.h"

#define NPAGES	    1024u
#define NPAGES_FREE (NPAGES - RAM_CHUNK / RAM_PAGE) /* of an empty export */
#define GIB	    (1ull << 30)

struct write {
	void (*on_sent)(void *arg);
	void *arg;
	struct weir_place place;
};

static struct export export;
static struct ram_fs fs;
static struct ram_inode inodes[1], *file;
static struct handle_id id;
static uint8_t *memory;
static const struct cred cred = {.uid = 7};

void __wrap_weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg);
void __wrap_weir_request_set_user(struct weir_request *req, void *user);

void __wrap_weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg)
{
	struct write *write = (struct write *)req;

	write->on_sent = fn;
	write->arg = arg;
}

void __wrap_weir_request_set_user(struct weir_request *req, void *user)
{
	assert_non_null(req);
	assert_non_null(user);
}

static int set_up(void **state)
{
	(void)state;
	memset(inodes, 0, sizeof(inodes));
	fs = (struct ram_fs){
		.export = &export,
		.nodes = {.max = NPAGES},
		.inodes = inodes,
		.ninodes_max = 1,
		.free_slot = RAM_NONE,
		.size_bytes = NPAGES * RAM_PAGE,
	};
	LIST_INIT(&fs.free_placements);
	memory = aligned_alloc(RAM_PAGE, NPAGES * RAM_PAGE);
	if (!memory || ram_blocks_init(&fs.blocks, memory, NPAGES * RAM_PAGE) != 0)
		return -1;
	memset(memory, 0xaa, NPAGES * RAM_PAGE);
	fs.zeros = ram_block_get(&fs.blocks, RAM_CHUNK);
	memset(ram_block_data(&fs.blocks, fs.zeros), 0, RAM_CHUNK);
	file = ram_inode_make(&fs, NFS3_REG, 0600, cred.uid, 7);
	assert_non_null(file);
	ram_id_of(&fs, file, &id);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (file->is_used)
		ram_inode_free(&fs, file);
	assert_int_equal(fs.nodes.n, 0);
	assert_int_equal(fs.blocks.nfree, NPAGES_FREE);
	ram_placements_fini(&fs);
	ram_blocks_fini(&fs.blocks);
	free(memory);
	return 0;
}

/* The data of a WRITE are on their way to where they are to be. */
static void begin(struct write *write, uint64_t offset, uint32_t len_bytes)
{
	assert_int_equal(ram_place((struct fs *)&fs, (struct weir_request *)write, &id, &cred, offset,
				   len_bytes, &write->place),
			 0);
	memset(write->place.data, 'w', len_bytes);
}

static void carry_out(struct write *write, uint64_t offset, uint32_t len_bytes)
{
	assert_int_equal(ram_data_write(&fs, file, offset, write->place.data, len_bytes), len_bytes);
	ram_placement_done(write->arg);
}

static void end(struct write *write)
{
	write->on_sent(write->arg);
}

static void expect(uint64_t offset, uint8_t byte)
{
	const uint8_t *data;
	uint32_t block;

	assert_int_equal(ram_data_at(&fs, file, offset, 1, &block, &data), 1);
	assert_int_equal(*data, byte);
}

static void write__that_was_carried_out_stays(void **state)
{
	struct write write;

	(void)state;
	begin(&write, 4 * GIB, 100);
	carry_out(&write, 4 * GIB, 100);
	end(&write);
	assert_int_equal(file->attr.size, 4 * GIB + 100);
	assert_int_equal(file->attr.used, RAM_PAGE);
	expect(4 * GIB + 99, 'w');
	expect(4 * GIB - 1, 0);
}

static void write__that_never_was_gives_its_block_back(void **state)
{
	struct write write;

	(void)state;
	for (uint32_t i = 0; i < 10 * NPAGES; i++) {
		begin(&write, (i % 1000) * GIB, 100);
		end(&write);
		assert_int_equal(fs.blocks.nfree, NPAGES_FREE);
		assert_int_equal(fs.nodes.n, 0);
	}
	assert_int_equal(file->attr.used, 0);
	assert_int_equal(file->attr.size, 0);
}

static void write__that_never_was_leaves_zeros(void **state)
{
	const uint8_t byte = 'x';
	struct write write;

	(void)state;
	assert_int_equal(ram_data_write(&fs, file, 4 * GIB, &byte, 1), 1);
	begin(&write, 4 * GIB + 1, 1000);
	end(&write);
	assert_int_equal(file->attr.size, 4 * GIB + 1);
	assert_int_equal(file->attr.used, RAM_PAGE);
	assert_int_equal(ram_data_truncate(&fs, file, 5 * GIB), NFS3_OK);
	expect(4 * GIB, 'x');
	for (uint32_t i = 1; i < 1001; i++)
		expect(4 * GIB + i, 0);
}

/* It loses its block by the end of the first one, and has its data all the same. */
static void write__beside_one_that_never_was(void **state)
{
	struct write first, second;

	(void)state;
	begin(&first, 4 * GIB, 100);
	begin(&second, 6 * GIB, 100);
	end(&first);
	carry_out(&second, 6 * GIB, 100);
	end(&second);
	assert_int_equal(file->attr.size, 6 * GIB + 100);
	assert_int_equal(file->attr.used, RAM_PAGE);
	expect(4 * GIB, 0);
	expect(6 * GIB, 'w');
	expect(6 * GIB + 99, 'w');
}

static void write__to_a_file_that_goes_meanwhile(void **state)
{
	struct write write;

	(void)state;
	begin(&write, 4 * GIB, 100);
	ram_inode_free(&fs, file);
	assert_int_equal(fs.blocks.nfree, NPAGES_FREE - 1);
	end(&write);
	assert_int_equal(fs.blocks.nfree, NPAGES_FREE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(write__that_was_carried_out_stays),    TEST(write__that_never_was_gives_its_block_back),
		TEST(write__that_never_was_leaves_zeros),   TEST(write__beside_one_that_never_was),
		TEST(write__to_a_file_that_goes_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
