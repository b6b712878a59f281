/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of directories in the back end 'ram'. Removed entries use no memory, and cost a listing no
 * steps. The tests count cookies and steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ram/ram.h"
#include "ram_fs.h"

#define NINODES	     8192u
#define NFILES	     4000u
#define CAPACITY_MIN 8u

static struct export export;
static struct ram_fs fs;
static struct ram_inode *root;

static int set_up(void **state)
{
	(void)state;
	return ram_fs_make(&fs, &export, NINODES, &root);
}

static int tear_down(void **state)
{
	(void)state;
	ram_fs_free(&fs);
	return 0;
}

static void name_of(uint32_t n, struct nfs3_name *name)
{
	name->len_bytes = (uint32_t)snprintf(name->data, sizeof(name->data), "%u", n);
}

/* Adds a name with number n for 'file' to 'dir'. */
static void add(struct ram_inode *dir, const struct ram_inode *file, uint32_t n)
{
	struct nfs3_name name;

	name_of(n, &name);
	assert_int_equal(ram_entry_add(&fs, ram_slot(&fs, dir), name.data, name.len_bytes,
				       ram_slot(&fs, file)),
			 NFS3_OK);
}

static void take(struct ram_inode *dir, uint32_t n)
{
	struct ram_dirent *entry;
	struct nfs3_name name;

	name_of(n, &name);
	entry = ram_entry_find(&fs, ram_slot(&fs, dir), name.data, name.len_bytes);
	assert_non_null(entry);
	ram_entry_remove(&fs, entry);
}

static void expect_bounds(const struct ram_dir *dir)
{
	assert_true(dir->ncookies <= 2 * dir->nlive);
	assert_true(dir->ncookies <= dir->capacity);
	if (dir->nlive == 0) {
		assert_int_equal(dir->capacity, 0);
		assert_null(dir->cookies);
	} else {
		assert_true(dir->capacity <= CAPACITY_MIN || dir->capacity <= 8 * dir->nlive);
	}
}

/* Returns the number of steps that a listing now needs from 'cookie' to the next entry. */
static uint32_t steps_from(const struct ram_dir *dir, uint64_t cookie)
{
	uint32_t n = 0;

	for (uint32_t i = ram_dir_seek(dir, cookie); i < dir->ncookies && dir->cookies[i].is_gap;
	     n++)
		i += dir->cookies[i].nskip;
	return n;
}

static void ram_entry_remove__gives_places_back(void **state)
{
	const struct ram_inode *file = ram_inode_make(&fs, NFS3_REG, 0600, 0, 0);

	(void)state;
	/*
	 * The entries are removed from the start, from the end, or with those in the middle last.
	 */
	for (uint32_t order = 0; order < 3; order++) {
		for (uint32_t i = 0; i < NFILES; i++) {
			add(root, file, i);
			expect_bounds(&root->dir);
		}
		for (uint32_t i = 0; i < NFILES; i++) {
			uint32_t from_end = NFILES - 1 - i;
			uint32_t from_both = i % 2 ? NFILES - 1 - i / 2 : i / 2;

			take(root, order == 0 ? i : order == 1 ? from_end : from_both);
			expect_bounds(&root->dir);
		}
	}
	/*
	 * A directory that was emptied and filled again continues with cookies that were not used
	 * before.
	 */
	assert_int_equal(root->dir.next_cookie, 3 + 3 * NFILES);
}

/*
 * Checks the cost of compactions. Each costs one step for each cookie. On average that is at most
 * two steps for each removal.
 */
static void ram_entry_remove__is_constant_on_average(void **state)
{
	const struct ram_inode *file = ram_inode_make(&fs, NFS3_REG, 0600, 0, 0);
	uint32_t nremoved = 0, nsteps = 0, first = 0, end = 0;

	(void)state;
	for (uint32_t round = 0; round < 10 * NFILES; round++) {
		/* The directory grows to NFILES entries, changes at that size, and shrinks. */
		if (round < NFILES || round % 2) {
			add(root, file, end++);
		} else {
			uint32_t before = root->dir.ncookies;

			take(root, first++);
			nremoved++;
			if (root->dir.ncookies < before)
				nsteps += before;
		}
	}
	while (first < end) {
		uint32_t before = root->dir.ncookies;

		take(root, first++);
		nremoved++;
		if (root->dir.ncookies < before)
			nsteps += before;
	}
	assert_in_range(nsteps, 1, 2 * nremoved);
}

/* Checks that files which are moved from directory to directory leave no memory behind. */
static void rename__through_many_directories_leaves_nothing(void **state)
{
	const struct ram_inode *file = ram_inode_make(&fs, NFS3_REG, 0600, 0, 0);
	uint32_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 500; i++)
		add(root, file, i);
	for (uint32_t n = 0; n < 100; n++) {
		struct ram_inode *from = n == 0 ? root : &fs.inodes[fs.nslots - 1];
		struct ram_inode *to = ram_inode_make(&fs, NFS3_DIR, 0777, 0, 0);

		for (uint32_t i = 0; i < 500; i++) {
			add(to, file, i);
			take(from, i);
		}
	}
	for (uint32_t i = 0; i < fs.nslots; i++)
		capacity += fs.inodes[i].dir.capacity;
	assert_in_range(capacity, 500, 1000);
}

/* Checks READDIRs from cookies before many gaps. Together they step over the gaps once. */
static void listing__over_gaps_takes_few_steps(void **state)
{
	const struct ram_inode *file = ram_inode_make(&fs, NFS3_REG, 0600, 0, 0);
	struct ram_dir *dir = &root->dir;
	uint32_t ngaps = NFILES / 2 - 1, nsteps = 0, ncalls = 0;

	(void)state;
	for (uint32_t i = 0; i < NFILES; i++)
		add(root, file, i);
	for (uint32_t i = 0; i < ngaps; i++)
		take(root, i);
	assert_int_equal(dir->ncookies - dir->nlive, ngaps);
	/*
	 * The listings begin at the start, and at the cookie of each removed entry, the last one
	 * first.
	 */
	for (uint64_t cookie = 2 + ngaps; cookie >= 2; cookie--, ncalls++) {
		nsteps += steps_from(dir, cookie);
		assert_int_equal(ram_dir_live(dir, ram_dir_seek(dir, cookie)), ngaps);
		assert_in_range(steps_from(dir, cookie), 0, 1);
	}
	for (uint32_t i = 0; i < NFILES; i++, ncalls++) {
		nsteps += steps_from(dir, 0);
		assert_int_equal(ram_dir_live(dir, 0), ngaps);
	}
	assert_in_range(nsteps, 1, ngaps + 2 * ncalls);
}

/*
 * Returns true if name n of a directory with NFILES entries is never removed. These are one in ten.
 */
static bool stays(uint32_t n)
{
	return n % 10 == 9;
}

static uint32_t number_of(const struct ram_dirent *entry)
{
	char text[16];

	snprintf(text, sizeof(text), "%.*s", (int)entry->len_bytes, entry->name);
	return (uint32_t)strtoul(text, NULL, 10);
}

/*
 * Continues a listing at 'cookie', and counts the names that it returns, at most seven. Returns the
 * next cookie, or 0 at the end.
 */
static uint64_t list_some(struct ram_dir *dir, uint64_t cookie, uint32_t *ntold)
{
	for (uint32_t n = 0; n < 7; n++) {
		uint32_t i = ram_dir_live(dir, ram_dir_seek(dir, cookie));

		if (i == dir->ncookies)
			return 0;
		assert_true(dir->cookies[i].cookie > cookie);
		cookie = dir->cookies[i].cookie;
		ntold[number_of(dir->cookies[i].entry)]++;
	}
	return cookie;
}

/*
 * Checks that a listing returns each name that stays exactly once, whatever is added and removed
 * meanwhile before and after its cookie.
 */
static void listing__goes_on_while_the_directory_is_compacted(void **state)
{
	const struct ram_inode *file = ram_inode_make(&fs, NFS3_REG, 0600, 0, 0);
	uint32_t ntold[2 * NFILES] = {0}, ncompacted = 0, nadded = 0;
	uint64_t cookie = 2;

	(void)state;
	for (uint32_t i = 0; i < NFILES; i++)
		add(root, file, i);
	for (uint32_t i = 0; cookie != 0; cookie = list_some(&root->dir, cookie, ntold)) {
		for (uint32_t n = 0; n < 14 && i < NFILES; n++, i++) {
			/*
			 * NFILES is not a multiple of 7, so that each name is reached, in an order
			 * that is spread over the directory.
			 */
			uint32_t before = root->dir.ncookies, name = i * 7 % NFILES;

			if (!stays(name))
				take(root, name);
			ncompacted += root->dir.ncookies < before;
		}
		if (nadded < NFILES / 10)
			add(root, file, NFILES + nadded++);
	}
	assert_true(ncompacted > 0);
	for (uint32_t i = 0; i < 2 * NFILES; i++)
		assert_in_range(ntold[i], i < NFILES && stays(i) ? 1 : 0, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(ram_entry_remove__gives_places_back),
		TEST(ram_entry_remove__is_constant_on_average),
		TEST(rename__through_many_directories_leaves_nothing),
		TEST(listing__over_gaps_takes_few_steps),
		TEST(listing__goes_on_while_the_directory_is_compacted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
