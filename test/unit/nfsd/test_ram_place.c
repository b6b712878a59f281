/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of WRITEs to the back end 'ram' whose data are read directly into their blocks. If such a
 * WRITE is never carried out:
 * - Data after the end of the file are dropped when the request ends.
 * - Data before the end of the file change the times of the file.
 * - No set-user-ID or set-group-ID bit stays set for these data.
 *
 * The tests make the requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cred.h"
#include "ram/ram.h"

#define NPAGES 1024u
/* number of free pages of an empty export */
#define NPAGES_FREE (NPAGES - RAM_CHUNK / BLOCK_POOL_PAGE)
#define GIB	    (1ull << 30)

struct write {
	void (*on_sent)(void *arg);
	void *arg;
	struct weir_arg_sink place;
};

static struct export export;
static struct ram_fs fs;
static struct ram_inode inodes[1], *file;
static struct handle_id id;
static uint8_t *memory;
static const struct cred cred = {.uid = 7}, root = {.uid = 0}, other = {.uid = 8};
static const struct nfs3_time long_ago = {1, 0};

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
		.free_slot = RAM_NO_SLOT,
		.size_bytes = NPAGES * BLOCK_POOL_PAGE,
	};
	LIST_INIT(&fs.free_placements);
	memory = aligned_alloc(BLOCK_POOL_PAGE, NPAGES * BLOCK_POOL_PAGE);
	if (!memory || block_pool_init(&fs.pool, memory, NPAGES * BLOCK_POOL_PAGE) != 0)
		return -1;
	memset(memory, 0xaa, NPAGES * BLOCK_POOL_PAGE);
	fs.zeros = block_pool_get(&fs.pool, RAM_CHUNK);
	memset(block_pool_data(&fs.pool, fs.zeros), 0, RAM_CHUNK);
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
	assert_int_equal(fs.pool.nfree, NPAGES_FREE);
	ram_placements_fini(&fs);
	block_pool_fini(&fs.pool);
	free(memory);
	return 0;
}

static int ask_as(struct write *write, const struct cred *who, uint64_t offset, uint32_t len_bytes)
{
	*write = (struct write){0};
	return ram_place((struct fs *)&fs, (struct weir_request *)write, &id, who, offset,
			 len_bytes, &write->place);
}

/* Begins a WRITE. Its data have been read into its block, and it has not been carried out. */
static void begin(struct write *write, uint64_t offset, uint32_t len_bytes)
{
	assert_int_equal(ask_as(write, &cred, offset, len_bytes), 0);
	memset(write->place.data, 'w', len_bytes);
}

static void carry_out(struct write *write, uint64_t offset, uint32_t len_bytes)
{
	assert_int_equal(ram_data_write(&fs, file, offset, write->place.data, len_bytes),
			 len_bytes);
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

/* Fills the file with 'len_bytes' bytes of 'o', and sets its times to a time long ago. */
static void fill(uint32_t len_bytes)
{
	static uint8_t data[2 * BLOCK_POOL_PAGE];

	memset(data, 'o', sizeof(data));
	assert_true(len_bytes <= sizeof(data));
	assert_int_equal(ram_data_write(&fs, file, 0, data, len_bytes), len_bytes);
	file->attr.mtime = file->attr.ctime = long_ago;
}

static bool is_long_ago(struct nfs3_time time)
{
	return time.seconds == long_ago.seconds && time.nseconds == long_ago.nseconds;
}

static enum nfs3_status set_mode(uint32_t mode)
{
	const struct nfs3_sattr attr = {.set_mode = true, .mode = mode};

	return ram_apply(&fs, file, &root, &attr);
}

static void write__that_was_carried_out_stays(void **state)
{
	struct write write;

	(void)state;
	begin(&write, 4 * GIB, 100);
	carry_out(&write, 4 * GIB, 100);
	end(&write);
	assert_int_equal(file->attr.size, 4 * GIB + 100);
	assert_int_equal(file->attr.used, BLOCK_POOL_PAGE);
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
		assert_int_equal(fs.pool.nfree, NPAGES_FREE);
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
	assert_int_equal(file->attr.used, BLOCK_POOL_PAGE);
	assert_int_equal(ram_data_truncate(&fs, file, 5 * GIB), NFS3_OK);
	expect(4 * GIB, 'x');
	for (uint32_t i = 1; i < 1001; i++)
		expect(4 * GIB + i, 0);
}

/*
 * Checks two WRITEs. The second one loses its block when the first one ends without being carried
 * out, and its data are written nevertheless.
 */
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
	assert_int_equal(file->attr.used, BLOCK_POOL_PAGE);
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
	assert_int_equal(fs.pool.nfree, NPAGES_FREE - 1);
	end(&write);
	assert_int_equal(fs.pool.nfree, NPAGES_FREE);
}

static void write__that_never_was_changes_the_times(void **state)
{
	struct write write;

	(void)state;
	fill(BLOCK_POOL_PAGE);
	begin(&write, BLOCK_POOL_PAGE - 1, 100);
	/* A reply at this time would contain the old times. */
	assert_true(is_long_ago(file->attr.mtime) && is_long_ago(file->attr.ctime));
	end(&write);
	expect(BLOCK_POOL_PAGE - 1, 'w');
	assert_int_equal(file->attr.size, BLOCK_POOL_PAGE);
	assert_false(is_long_ago(file->attr.mtime));
	assert_memory_equal(&file->attr.mtime, &file->attr.ctime, sizeof(long_ago));
}

/*
 * Checks a file that grows meanwhile. This copies the data, so that the file has another block when
 * the request ends.
 */
static void write__that_never_was_changes_the_times_of_a_copy(void **state)
{
	struct write write;
	uint8_t byte = 'x';

	(void)state;
	fill(BLOCK_POOL_PAGE);
	begin(&write, 0, 100);
	assert_int_equal(ram_data_write(&fs, file, 2 * BLOCK_POOL_PAGE, &byte, 1), 1);
	file->attr.mtime = file->attr.ctime = long_ago;
	end(&write);
	expect(0, 'w');
	assert_false(is_long_ago(file->attr.mtime) || is_long_ago(file->attr.ctime));
}

static void write__that_never_was_behind_the_end_changes_nothing(void **state)
{
	struct nfs3_fattr before;
	struct write write;

	(void)state;
	fill(100);
	before = file->attr;
	begin(&write, 100, 100);
	end(&write);
	assert_memory_equal(&file->attr, &before, sizeof(before));
}

static void write__that_was_carried_out_is_no_further_change(void **state)
{
	struct write write;

	(void)state;
	fill(BLOCK_POOL_PAGE);
	begin(&write, 0, 100);
	carry_out(&write, 0, 100);
	end(&write);
	assert_true(is_long_ago(file->attr.mtime) && is_long_ago(file->attr.ctime));
}

static void place__is_not_named_to_who_may_not_write(void **state)
{
	const uint32_t nfree = fs.pool.nfree;
	struct nfs3_fattr before;
	struct write write;

	(void)state;
	fill(1);
	before = file->attr;
	assert_int_equal(ask_as(&write, &other, 0, 100), -1);
	assert_int_equal(ask_as(&write, &other, 4 * GIB, 100), -1);
	assert_null(write.on_sent);
	assert_memory_equal(&file->attr, &before, sizeof(before));
	assert_true(LIST_EMPTY(&file->placements));
	assert_int_equal(fs.pool.nfree, nfree - 1);
}

/*
 * Checks that no memory is provided for a set-user-ID file. The data could be read in part, and
 * nothing would clear the bit.
 */
static void place__is_not_named_in_a_set_user_id_file(void **state)
{
	static const uint32_t modes[] = {04777, 02777, 06777};
	struct nfs3_fattr before;
	struct write write;

	(void)state;
	fill(BLOCK_POOL_PAGE);
	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		file->attr.mode = modes[i];
		before = file->attr;
		assert_int_equal(ask_as(&write, &cred, 0, 100), -1);
		assert_int_equal(ask_as(&write, &other, 0, 100), -1);
		assert_int_equal(ask_as(&write, &other, BLOCK_POOL_PAGE, 100), -1);
		assert_null(write.on_sent);
		assert_memory_equal(&file->attr, &before, sizeof(before));
	}
	/* WRITEs of root do not clear the bits. */
	assert_int_equal(ask_as(&write, &root, 0, 100), 0);
	end(&write);
	assert_int_equal(file->attr.mode, 06777);
}

/*
 * Checks a file that becomes set-user-ID meanwhile. Data that arrived before this change belong to
 * the file. Data that arrive later do not, before or after the end of the file.
 */
static void place__is_lost_by_a_file_that_becomes_set_user_id(void **state)
{
	struct write first, second;

	(void)state;
	fill(BLOCK_POOL_PAGE);
	begin(&first, 0, 100);
	begin(&second, BLOCK_POOL_PAGE - 1, 100);
	assert_int_equal(set_mode(04755), NFS3_OK);
	memset(first.place.data, 'l', 100);
	memset(second.place.data, 'l', 100);
	for (uint32_t i = 0; i < 100; i++)
		expect(i, 'w');
	expect(BLOCK_POOL_PAGE - 1, 'w');
	assert_int_equal(ram_data_truncate(&fs, file, 2 * BLOCK_POOL_PAGE), NFS3_OK);
	expect(BLOCK_POOL_PAGE, 0);
	file->attr.mtime = file->attr.ctime = long_ago;
	end(&first);
	assert_int_equal(file->attr.mode, 04755);
	assert_false(is_long_ago(file->attr.mtime));
	/* The handler finds the data of its call nevertheless. */
	carry_out(&second, BLOCK_POOL_PAGE - 1, 100);
	end(&second);
	expect(BLOCK_POOL_PAGE - 1, 'l');
	expect(BLOCK_POOL_PAGE + 98, 'l');
	expect(0, 'w');
}

static void set_user_id__waits_when_there_is_no_memory_to_divert_to(void **state)
{
	struct write write;
	uint32_t n = 0;

	(void)state;
	fill(BLOCK_POOL_PAGE);
	begin(&write, 0, 100);
	while (fs.pool.nfree > 0)
		assert_int_not_equal(
			ram_data_write(&fs, file, (++n) * (uint64_t)RAM_CHUNK, memory, 1), 0);
	assert_int_equal(set_mode(04755), NFS3ERR_JUKEBOX);
	assert_int_equal(file->attr.mode, 0600);
	assert_int_equal(set_mode(0755), NFS3_OK);
	end(&write);
	assert_int_equal(set_mode(04755), NFS3_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(write__that_was_carried_out_stays),
		TEST(write__that_never_was_gives_its_block_back),
		TEST(write__that_never_was_leaves_zeros),
		TEST(write__beside_one_that_never_was),
		TEST(write__to_a_file_that_goes_meanwhile),
		TEST(write__that_never_was_changes_the_times),
		TEST(write__that_never_was_changes_the_times_of_a_copy),
		TEST(write__that_never_was_behind_the_end_changes_nothing),
		TEST(write__that_was_carried_out_is_no_further_change),
		TEST(place__is_not_named_to_who_may_not_write),
		TEST(place__is_not_named_in_a_set_user_id_file),
		TEST(place__is_lost_by_a_file_that_becomes_set_user_id),
		TEST(set_user_id__waits_when_there_is_no_memory_to_divert_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
