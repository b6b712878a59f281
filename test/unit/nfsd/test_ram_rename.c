/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of RENAME of directories in the back end 'ram'. To prevent a directory from being moved
 * into itself, the server walks up from the target directory. This walk has a limit. Errors that
 * need no walk are found before it. The tests count the levels of the walk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ram/ram.h"
#include "ram_fs.h"

#define LEVELS_MAX 1024u /* the limit of the walk (doc/weir-nfsd.rst) */
#define NDEEP	   5000u
#define NINODES	   (NDEEP + 100)

static struct export export;
static struct ram_fs fs;
/* Directories named "d", each in the previous one. The index is the level, and [0] is the root. */
static struct ram_inode *deep[NDEEP + 1];
static struct op op;

static struct ram_inode *make(struct ram_inode *dir, enum nfs3_ftype type, const char *name)
{
	struct ram_inode *inode = ram_inode_make(&fs, type, 0777, 0, 0);

	assert_non_null(inode);
	assert_int_equal(ram_entry_add(&fs, ram_slot(&fs, dir), name, (uint32_t)strlen(name),
				       ram_slot(&fs, inode)),
			 NFS3_OK);
	return inode;
}

static int set_up(void **state)
{
	(void)state;
	if (ram_fs_make(&fs, &export, NINODES, &deep[0]) != 0)
		return -1;
	for (uint32_t i = 1; i <= NDEEP; i++)
		deep[i] = make(deep[i - 1], NFS3_DIR, "d");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ram_fs_free(&fs);
	return 0;
}

static void set_name(struct nfs3_name *to, const char *name)
{
	to->len_bytes = (uint32_t)strlen(name);
	memcpy(to->data, name, to->len_bytes);
}

static enum nfs3_status do_rename(struct ram_inode *from_dir, const char *from,
				  struct ram_inode *to_dir, const char *to)
{
	memset(&op, 0, sizeof(op));
	op.proc = NFS3_RENAME;
	ram_id_of(&fs, from_dir, &op.id);
	ram_id_of(&fs, to_dir, &op.id2);
	set_name(&op.args.rename.from.name, from);
	set_name(&op.args.rename.to.name, to);
	return ram_rename(&fs, &op);
}

static void rename__of_a_directory_to_the_limit(void **state)
{
	const struct ram_inode *dir = make(deep[0], NFS3_DIR, "x");

	(void)state;
	assert_int_equal(do_rename(deep[0], "x", deep[LEVELS_MAX], "x"), NFS3ERR_NAMETOOLONG);
	assert_int_equal(do_rename(deep[0], "x", deep[NDEEP], "x"), NFS3ERR_NAMETOOLONG);
	assert_int_equal(dir->dir.parent, ram_slot(&fs, deep[0]));
	assert_int_equal(do_rename(deep[0], "x", deep[LEVELS_MAX - 1], "x"), NFS3_OK);
	assert_int_equal(dir->dir.parent, ram_slot(&fs, deep[LEVELS_MAX - 1]));
	assert_int_equal(do_rename(deep[LEVELS_MAX - 1], "x", deep[1], "x"), NFS3_OK);
}

/*
 * Checks a directory that is moved into itself. The walk can end at its limit before it finds that.
 */
static void rename__of_a_directory_into_itself(void **state)
{
	(void)state;
	assert_int_equal(do_rename(deep[0], "d", deep[1], "x"), NFS3ERR_INVAL);
	assert_int_equal(do_rename(deep[0], "d", deep[LEVELS_MAX], "x"), NFS3ERR_INVAL);
	assert_int_equal(do_rename(deep[0], "d", deep[LEVELS_MAX + 1], "x"), NFS3ERR_NAMETOOLONG);
	assert_int_equal(do_rename(deep[0], "d", deep[NDEEP], "x"), NFS3ERR_NAMETOOLONG);
	assert_int_equal(do_rename(deep[NDEEP - 3], "d", deep[NDEEP], "x"), NFS3ERR_INVAL);
}

/*
 * Checks that objects below the limit can be created, renamed in their directory, moved up and
 * removed, and that files can be moved there.
 */
static void rename__below_the_limit(void **state)
{
	struct ram_inode *dir = make(deep[NDEEP], NFS3_DIR, "x");

	(void)state;
	make(deep[0], NFS3_REG, "file");
	make(dir, NFS3_DIR, "sub");
	assert_int_equal(do_rename(deep[0], "file", dir, "file"), NFS3_OK);
	assert_int_equal(do_rename(deep[NDEEP], "x", deep[NDEEP], "y"), NFS3_OK);
	assert_int_equal(do_rename(dir, "sub", deep[NDEEP - 1], "sub"), NFS3ERR_NAMETOOLONG);
	assert_int_equal(do_rename(dir, "sub", deep[0], "sub"), NFS3_OK);
	assert_int_equal(do_rename(deep[NDEEP], "y", deep[0], "y"), NFS3_OK);
	/* A directory that is moved can have levels below it that are beyond the limit. */
	assert_int_equal(do_rename(deep[0], "d", dir, "d"), NFS3_OK);
}

/*
 * Checks calls that fail because of their names. A client can repeat them, so that they must not
 * walk.
 */
static void rename__that_fails_for_its_names_takes_no_walk(void **state)
{
	struct ram_inode *full;

	(void)state;
	make(deep[0], NFS3_DIR, "x");
	full = make(deep[NDEEP], NFS3_DIR, "full");
	make(full, NFS3_REG, "file");
	assert_int_equal(do_rename(deep[0], "x", deep[NDEEP], "full"), NFS3ERR_NOTEMPTY);
	assert_int_equal(do_rename(deep[0], "x", full, "file"), NFS3ERR_EXIST);
	assert_int_equal(do_rename(deep[0], "none", full, "x"), NFS3ERR_NOENT);
}

/*
 * Checks RENAME to an existing name. It reuses the entry and needs no new one, so that a lack of
 * memory cannot make the call fail after the old target was removed.
 */
static void rename__over_a_name_takes_no_memory(void **state)
{
	struct ram_inode *dir = make(deep[0], NFS3_DIR, "to");
	struct ram_inode *file = make(deep[0], NFS3_REG, "file"),
			 *empty = make(deep[0], NFS3_DIR, "empty");
	uint32_t ncookies, links, ninodes;

	(void)state;
	make(dir, NFS3_REG, "target");
	make(dir, NFS3_DIR, "sub");
	ncookies = dir->dir.ncookies;
	links = dir->attr.nlink;
	ninodes = fs.ninodes;
	fs.nentries_max = fs.nentries;
	assert_int_equal(do_rename(deep[0], "file", dir, "new"), NFS3ERR_NOSPC);
	assert_int_equal(do_rename(deep[0], "file", dir, "target"), NFS3_OK);
	assert_int_equal(do_rename(deep[0], "empty", dir, "sub"), NFS3_OK);
	assert_int_equal(dir->dir.ncookies, ncookies);
	assert_int_equal(dir->attr.nlink, links);
	assert_int_equal(fs.ninodes, ninodes - 2);
	assert_int_equal(file->attr.nlink, 1);
	assert_int_equal(empty->dir.parent, ram_slot(&fs, dir));
	assert_ptr_equal(&fs.inodes[ram_entry_find(&fs, ram_slot(&fs, dir), "target", 6)->slot],
			 file);
	assert_null(ram_entry_find(&fs, ram_slot(&fs, deep[0]), "file", 4));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(rename__of_a_directory_to_the_limit),
		TEST(rename__of_a_directory_into_itself),
		TEST(rename__below_the_limit),
		TEST(rename__that_fails_for_its_names_takes_no_walk),
		TEST(rename__over_a_name_takes_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
