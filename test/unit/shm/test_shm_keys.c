/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the key table: which memory a key exposes, to which connection, and until when. Also
 * tests of reading an entry while it is being written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fabric.h"
#include "keys.h"

#define CONN	 77u
#define REGION	 5u
#define RADDR	 0x100000000000u
#define LEN	 65536u
#define REWRITES 200000u

static struct key_table table;
static struct key_table_view view;
static const struct key_range range = {.access = FABRIC_REMOTE_READ,
				       .conn_id = CONN,
				       .region = REGION,
				       .raddr = RADDR,
				       .len = LEN,
				       .offset = 4096};

static int setup(void **state)
{
	(void)state;
	if (key_table_create(&table) != 0)
		return -1;
	view.entries =
		mmap(NULL, sizeof(struct key_table_memory), PROT_READ, MAP_SHARED, table.fd, 0);
	return view.entries == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap((void *)(uintptr_t)view.entries, sizeof(struct key_table_memory));
	key_table_destroy(&table);
	table = (struct key_table){.fd = -1};
	return 0;
}

static uint32_t set(struct key_ref ref)
{
	uint32_t key = key_new(&table, ref);

	key_set(&table, ref, key, &range);
	return key;
}

static void table__peers_cannot_write_it(void **state)
{
	(void)state;
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, table.fd, 0),
			 MAP_FAILED);
	assert_int_equal(fcntl(table.fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
			 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

/*
 * Checks that all pages of the table are allocated, so that a later store cannot fail for lack of
 * memory.
 */
static void table__has_all_its_pages(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(fstat(table.fd, &st), 0);
	assert_int_equal(st.st_size, sizeof(struct key_table_memory));
	assert_true(st.st_blocks * 512 >= st.st_size);
}

static void take__each_entry_once(void **state)
{
	struct key_ref refs[KEY_ENTRIES], more;

	(void)state;
	for (uint32_t i = 0; i < KEY_ENTRIES; i++) {
		assert_int_equal(key_take(&table, &refs[i]), 0);
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(refs[j].index, refs[i].index);
	}
	assert_int_equal(key_take(&table, &more), -ENOSPC);
	key_put(&table, &refs[500]);
	assert_int_equal(key_take(&table, &more), 0);
	assert_int_equal(more.index, refs[500].index);
}

static void find__what_was_set(void **state)
{
	struct key_range found;
	struct key_ref ref;
	uint32_t key;

	(void)state;
	assert_int_equal(key_take(&table, &ref), 0);
	key = set(ref);
	assert_true(key_find(&view, key, &found));
	assert_int_equal(found.access, range.access);
	assert_int_equal(found.conn_id, range.conn_id);
	assert_int_equal(found.region, range.region);
	assert_int_equal(found.raddr, range.raddr);
	assert_int_equal(found.len, range.len);
	assert_int_equal(found.offset, range.offset);
}

static void find__nothing_else(void **state)
{
	struct key_range found;
	struct key_ref ref;
	uint32_t key;

	(void)state;
	assert_false(key_find(&view, 0, &found));
	assert_int_equal(key_take(&table, &ref), 0);
	assert_false(key_find(&view, ref.index, &found)); /* no key yet */
	key = set(ref);
	assert_false(key_find(&view, key ^ 1, &found));
	for (uint32_t bit = KEY_INDEX_BITS; bit < 32; bit++)
		assert_false(key_find(&view, key ^ 1u << bit, &found));
	key_put(&table, &ref);
	assert_false(key_find(&view, key, &found));
}

static void set__ends_the_key_before(void **state)
{
	struct key_range found;
	struct key_ref ref;
	uint32_t key, last = 0;

	(void)state;
	assert_int_equal(key_take(&table, &ref), 0);
	for (int i = 0; i < 1000; i++) {
		key = set(ref);
		assert_int_not_equal(key >> KEY_INDEX_BITS, 0);
		assert_int_not_equal(key, last);
		assert_false(key_find(&view, last, &found));
		assert_true(key_find(&view, key, &found));
		last = key;
	}
}

/* Checks that the random part of a key differs between tables, and from key to key. */
static void new__cannot_be_foreseen(void **state)
{
	struct key_table other;
	struct key_ref ref, other_ref;
	uint32_t same = 0;

	(void)state;
	assert_int_equal(key_table_create(&other), 0);
	assert_int_equal(key_take(&table, &ref), 0);
	assert_int_equal(key_take(&other, &other_ref), 0);
	for (int i = 0; i < 100; i++)
		same += key_new(&table, ref) == key_new(&other, other_ref);
	assert_in_range(same, 0, 3);
	key_table_destroy(&other);
}

/*
 * Checks a key of a registration in a connection's own domain. It belongs to the connection and not
 * to a window, so that a peer cannot invalidate it.
 */
static void invalidate__not_what_lasts(void **state)
{
	struct key_range found, lasting = range;
	struct key_ref ref;
	uint32_t key;

	(void)state;
	lasting.is_lasting = true;
	assert_int_equal(key_take(&table, &ref), 0);
	key = key_new(&table, ref);
	key_set(&table, ref, key, &lasting);
	assert_false(key_invalidate(&table, key, CONN));
	key_invalidate_all(&table, CONN);
	assert_true(key_find(&view, key, &found));
	/* Later the entry is used for a window. */
	key_put(&table, &ref);
	assert_false(key_find(&view, key, &found));
	assert_int_equal(key_take(&table, &ref), 0);
	key = set(ref);
	assert_true(key_invalidate(&table, key, CONN));
	key_put(&table, &ref);
}

static void invalidate__only_on_its_connection(void **state)
{
	struct key_range found, of_all = range;
	struct key_ref ref, region_ref;
	uint32_t key, region_key;

	(void)state;
	assert_int_equal(key_take(&table, &ref), 0);
	assert_int_equal(key_take(&table, &region_ref), 0);
	key = set(ref);
	of_all.conn_id = KEY_ANY_CONN;
	region_key = key_new(&table, region_ref);
	key_set(&table, region_ref, region_key, &of_all);
	assert_false(key_invalidate(&table, key, CONN + 1));
	assert_false(key_invalidate(&table, region_key, CONN));
	assert_false(key_invalidate(&table, 0, CONN));
	assert_false(key_invalidate(&table, key ^ 1u << 31, CONN));
	assert_true(key_find(&view, key, &found));
	assert_true(key_find(&view, region_key, &found));
	assert_true(key_invalidate(&table, key, CONN));
	assert_false(key_find(&view, key, &found));
	assert_false(key_invalidate(&table, key, CONN));
}

static void permits__within_the_bounds(void **state)
{
	uint64_t offset;

	(void)state;
	assert_true(key_permits(&range, RADDR, LEN, FABRIC_REMOTE_READ, CONN, &offset));
	assert_int_equal(offset, 4096);
	assert_true(key_permits(&range, RADDR + LEN - 1, 1, FABRIC_REMOTE_READ, CONN, &offset));
	assert_int_equal(offset, 4096 + LEN - 1);
	assert_true(key_permits(&range, RADDR + LEN, 0, FABRIC_REMOTE_READ, CONN, &offset));
	assert_false(key_permits(&range, RADDR - 1, 1, FABRIC_REMOTE_READ, CONN, &offset));
	assert_false(key_permits(&range, RADDR, LEN + 1, FABRIC_REMOTE_READ, CONN, &offset));
	assert_false(key_permits(&range, RADDR + LEN, 1, FABRIC_REMOTE_READ, CONN, &offset));
	assert_false(key_permits(&range, RADDR + 1, UINT64_MAX, FABRIC_REMOTE_READ, CONN, &offset));
	assert_false(key_permits(&range, UINT64_MAX, 1, FABRIC_REMOTE_READ, CONN, &offset));
	assert_false(key_permits(&range, 0, RADDR + 1, FABRIC_REMOTE_READ, CONN, &offset));
}

static void permits__its_rights_and_connection(void **state)
{
	struct key_range of_all = range;
	uint64_t offset;

	(void)state;
	of_all.conn_id = KEY_ANY_CONN;
	assert_false(key_permits(&range, RADDR, 1, FABRIC_REMOTE_WRITE, CONN, &offset));
	assert_false(key_permits(&range, RADDR, 1, FABRIC_REMOTE_READ, CONN + 1, &offset));
	assert_true(key_permits(&of_all, RADDR, 1, FABRIC_REMOTE_READ, CONN + 1, &offset));
}

/* Checks an entry whose offset wraps. The table of a peer can contain any values. */
static void permits__no_offset_that_wraps(void **state)
{
	struct key_range lie = range;
	uint64_t offset;

	(void)state;
	lie.raddr = 0;
	lie.len = UINT64_MAX;
	lie.offset = UINT64_MAX;
	assert_false(key_permits(&lie, 1, 1, FABRIC_REMOTE_READ, CONN, &offset));
}

/*
 * Changes an entry as its owner does, while a peer reads it. The values that the peer finds must
 * belong together.
 */
static void *rewrite(void *arg)
{
	struct key_ref ref = *(struct key_ref *)arg;

	for (uint64_t i = 1; i <= REWRITES; i++) {
		struct key_range next = {FABRIC_REMOTE_READ, false, CONN, (uint32_t)i, i, i, i};

		/* The key is the same each time, so that it is always found. */
		key_set(&table, ref, 1u << KEY_INDEX_BITS | ref.index, &next);
	}
	return NULL;
}

static void find__while_it_is_written(void **state)
{
	struct key_range found = {0};
	struct key_ref ref;
	pthread_t thread;
	uint32_t torn = 0;

	(void)state;
	assert_int_equal(key_take(&table, &ref), 0);
	assert_int_equal(pthread_create(&thread, NULL, rewrite, &ref), 0);
	while (found.raddr != REWRITES)
		if (key_find(&view, 1u << KEY_INDEX_BITS | ref.index, &found))
			torn += found.region != found.raddr || found.len != found.raddr ||
				found.offset != found.raddr;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(torn, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(table__peers_cannot_write_it),
		TEST(table__has_all_its_pages),
		TEST(take__each_entry_once),
		TEST(find__what_was_set),
		TEST(find__nothing_else),
		TEST(find__while_it_is_written),
		TEST(set__ends_the_key_before),
		TEST(new__cannot_be_foreseen),
		TEST(invalidate__not_what_lasts),
		TEST(invalidate__only_on_its_connection),
		TEST(permits__within_the_bounds),
		TEST(permits__its_rights_and_connection),
		TEST(permits__no_offset_that_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
