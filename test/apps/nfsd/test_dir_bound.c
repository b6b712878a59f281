/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a handle of a 'dir' export is valid only for the directory that was exported when the
 * server issued the handle.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define REUSE_TRIES 1000

static char base[96];

/* Returns the path of 'name' in 'base'. The string stays valid for seven more calls. */
static const char *in_base(const char *name)
{
	static char paths[8][160];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static void make_dir(const char *name)
{
	assert_int_equal(mkdir(in_base(name), 0777), 0);
	assert_int_equal(chmod(in_base(name), 0777), 0);
}

static void make_file(const char *name, const char *text)
{
	FILE *file = fopen(in_base(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(in_base(name), 0666), 0);
}

/* Creates the files base/tree/{top,sub/in} and base/other/{top,sub/in}. */
static int setup_trees(void **state)
{
	static int serial;

	(void)state;
	snprintf(base, sizeof(base), "%s/bound-%d", client_dir, serial++);
	assert_int_equal(mkdir(base, 0755), 0);
	make_dir("tree");
	make_dir("tree/sub");
	make_file("tree/top", "tree's");
	make_file("tree/sub/in", "tree's");
	make_dir("other");
	make_dir("other/sub");
	make_file("other/top", "other's");
	make_file("other/sub/in", "other's");
	return 0;
}

static void stop_server(void)
{
	if (!c || !c->server)
		return;
	client_disconnect(c);
	client_kill_server(c, SIGTERM);
}

/*
 * Starts the server, or restarts it, with the sections 'exports' in its file of exports. If
 * 'exports' is NULL, the file is unchanged.
 */
static void serve(const char *exports)
{
	const char *path = in_base("exports");
	const char *args[] = {"--exports", path, "--state", client_dir, NULL};

	if (exports) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(exports, file);
		fclose(file);
	}
	if (!c) {
		start(args);
		return;
	}
	stop_server();
	client_start_server(c, args);
	client_connect(c);
	root = c->roots[0];
}

static void serve_dir(const char *name)
{
	char exports[300];

	snprintf(exports, sizeof(exports), "[/vol]\nbackend = dir:%s\nroot_squash = no\n",
		 in_base(name));
	serve(exports);
}

struct handles {
	struct nfs3_fh root, top, sub, in;
};

static void take_handles(struct handles *h)
{
	h->root = root;
	assert_int_equal(client_lookup(c, &root, "top", &h->top), NFS3_OK);
	assert_int_equal(client_lookup(c, &root, "sub", &h->sub), NFS3_OK);
	assert_int_equal(client_lookup(c, &h->sub, "in", &h->in), NFS3_OK);
}

static void expect_good(const struct handles *h)
{
	assert_int_equal(client_getattr(c, &h->root, NULL), NFS3_OK);
	assert_int_equal(client_getattr(c, &h->sub, NULL), NFS3_OK);
	assert_int_equal(client_read(c, &h->top, 0, 100), NFS3_OK);
	assert_int_equal(client_read(c, &h->in, 0, 100), NFS3_OK);
	assert_int_equal(client_lookup(c, &h->sub, "in", NULL), NFS3_OK);
}

static void expect_stale(const struct handles *h)
{
	const struct nfs3_fh *dirs[] = {&h->root, &h->sub}, *files[] = {&h->top, &h->in};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(client_getattr(c, dirs[i], NULL), NFS3ERR_STALE);
		assert_int_equal(client_lookup(c, dirs[i], ".", NULL), NFS3ERR_STALE);
		assert_int_equal(client_lookup(c, dirs[i], "in", NULL), NFS3ERR_STALE);
		assert_int_equal(client_readdir(c, dirs[i], true, 0, 4096), NFS3ERR_STALE);
		assert_int_equal(client_create(c, dirs[i], "new", NULL), NFS3ERR_STALE);
		assert_int_equal(client_getattr(c, files[i], NULL), NFS3ERR_STALE);
		assert_int_equal(client_read(c, files[i], 0, 100), NFS3ERR_STALE);
		assert_int_equal(client_write(c, files[i], 0, 1, NFS3_FILE_SYNC), NFS3ERR_STALE);
		assert_int_equal(client_truncate(c, files[i], 0), NFS3ERR_STALE);
		/* RENAME has two handles. Each of them is checked. */
		assert_int_equal(client_rename(c, dirs[i], "x", &root, "y"), NFS3ERR_STALE);
		assert_int_equal(client_rename(c, &root, "x", dirs[i], "y"), NFS3ERR_STALE);
	}
}

static void handle__of_the_same_directory_stays_good(void **state)
{
	struct handles h;

	(void)state;
	serve_dir("tree");
	take_handles(&h);
	serve_dir("tree");
	expect_good(&h);
	/* The same directory is exported by another path. */
	assert_int_equal(symlink(in_base("tree"), in_base("link")), 0);
	serve_dir("link");
	expect_good(&h);
	/* The directory is moved and exported by its new path. */
	assert_int_equal(rename(in_base("tree"), in_base("moved")), 0);
	serve_dir("moved");
	expect_good(&h);
}

static void handle__is_stale_when_the_export_was_narrowed(void **state)
{
	struct handles h;

	(void)state;
	serve_dir("tree");
	take_handles(&h);
	serve_dir("tree/sub");
	expect_stale(&h);
	/* A lookup in the new root finds its files. */
	assert_int_equal(client_lookup(c, &root, "in", NULL), NFS3_OK);
	/* The old export is served again, so that its handles are valid again. */
	serve_dir("tree");
	expect_good(&h);
}

static void handle__is_stale_when_the_export_was_widened(void **state)
{
	struct nfs3_fh narrow, in;

	(void)state;
	serve_dir("tree/sub");
	narrow = root;
	assert_int_equal(client_lookup(c, &root, "in", &in), NFS3_OK);
	serve_dir("tree");
	assert_int_equal(client_getattr(c, &narrow, NULL), NFS3ERR_STALE);
	assert_int_equal(client_read(c, &in, 0, 100), NFS3ERR_STALE);
}

static void handle__is_stale_of_another_directory_by_the_same_name(void **state)
{
	struct handles h;

	(void)state;
	serve_dir("tree");
	take_handles(&h);
	serve_dir("other");
	expect_stale(&h);
}

static void handle__is_stale_when_the_root_was_replaced(void **state)
{
	struct handles h;

	(void)state;
	serve_dir("tree");
	take_handles(&h);
	assert_int_equal(rename(in_base("tree"), in_base("old")), 0);
	assert_int_equal(rename(in_base("other"), in_base("tree")), 0);
	serve_dir("tree");
	expect_stale(&h);
}

/* Checks that the inode number of the root is not sufficient to identify a directory. */
static void handle__is_stale_when_the_roots_inode_was_used_again(void **state)
{
	struct nfs3_fh old;
	struct stat before, after = {0};

	(void)state;
	make_dir("empty");
	serve_dir("empty");
	old = root;
	stop_server();
	assert_int_equal(stat(in_base("empty"), &before), 0);
	for (int i = 0; i < REUSE_TRIES && after.st_ino != before.st_ino; i++) {
		assert_int_equal(rmdir(in_base("empty")), 0);
		make_dir("empty");
		assert_int_equal(stat(in_base("empty"), &after), 0);
	}
	if (after.st_ino != before.st_ino)
		print_message("this file system does not use the number again\n");
	serve(NULL);
	assert_int_equal(client_getattr(c, &old, NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &c->roots[0], NULL), NFS3_OK);
}

/*
 * Creates and mounts two file systems. Their roots have the same inode number and the same
 * generation. Their devices can have the same number, which is all that XFS reports by statfs(2).
 */
static void use_two_disks(const char *mkfs, unsigned mib)
{
	char command[900];
	struct handles h;

	snprintf(command, sizeof(command),
		 "PATH=$PATH:/sbin:/usr/sbin; cd %s && mkdir disk disk2 && for i in 1 2; do "
		 "truncate -s %uM $i.img && %s $i.img >mkfs.log 2>&1 && mount -o loop $i.img disk "
		 "&& mkdir -m 777 disk/sub && touch disk/top disk/sub/in && chmod 666 disk/top "
		 "disk/sub/in && umount disk || exit 1; done; mount -o loop 1.img disk",
		 base, mib, mkfs);
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    system(command) != 0) {
		print_message("no disk can be made here (mount, %s): not tested\n", mkfs);
		skip();
	}
	serve_dir("disk");
	take_handles(&h);
	stop_server();
	snprintf(command, sizeof(command), "cd %s && umount disk && mount -o loop 2.img disk",
		 base);
	assert_int_equal(system(command), 0);
	serve(NULL);
	expect_stale(&h);
	stop_server();
	/*
	 * The handles of the first file system are valid again, although its device has another
	 * number.
	 */
	snprintf(command, sizeof(command),
		 "cd %s && umount disk && mount -o loop 2.img disk2 && mount -o loop 1.img disk",
		 base);
	assert_int_equal(system(command), 0);
	serve(NULL);
	expect_good(&h);
	stop_server();
	assert_int_equal(umount2(in_base("disk"), MNT_DETACH), 0);
	assert_int_equal(umount2(in_base("disk2"), MNT_DETACH), 0);
}

static void handle__is_stale_of_another_disk(void **state)
{
	(void)state;
	use_two_disks("mkfs.ext4 -q -O ^has_journal", 16);
}

static void handle__is_stale_of_another_disk_of_xfs(void **state)
{
	(void)state;
	use_two_disks("mkfs.xfs -q", 320);
}

/* ---- several exports ---- */

static void handle__is_of_its_export_alone(void **state)
{
	struct nfs3_fh a, b, mixed;
	char exports[600];

	(void)state;
	snprintf(exports, sizeof(exports),
		 "[/a]\nbackend = dir:%s\naccess = ro\n[/b]\nbackend = dir:%s\n", in_base("tree"),
		 in_base("tree"));
	serve(exports);
	assert_int_equal(client_lookup(c, &c->roots[0], "top", &a), NFS3_OK);
	assert_int_equal(client_lookup(c, &c->roots[1], "top", &b), NFS3_OK);
	/*
	 * The rules of the export to which a handle belongs apply, although both handles are for
	 * the same file.
	 */
	assert_int_equal(client_write(c, &a, 0, 1, NFS3_FILE_SYNC), NFS3ERR_ROFS);
	assert_int_equal(client_write(c, &b, 0, 1, NFS3_FILE_SYNC), NFS3_OK);
	assert_int_equal(client_rename(c, &c->roots[0], "top", &c->roots[1], "x"), NFS3ERR_XDEV);
	/* Each of these handles has a part of the other export's handle: its ID, or its hash. */
	for (int part = 0; part < 3; part++) {
		mixed = a;
		if (part == 0)
			memcpy(mixed.data + 4, b.data + 4, 4);
		else if (part == 1)
			memcpy(mixed.data + mixed.len_bytes - 8, b.data + b.len_bytes - 8, 8);
		else
			memcpy(mixed.data, b.data, mixed.len_bytes - 8);
		assert_int_equal(client_write(c, &mixed, 0, 1, NFS3_FILE_SYNC), NFS3ERR_BADHANDLE);
		assert_int_equal(client_getattr(c, &mixed, NULL), NFS3ERR_BADHANDLE);
	}
}

static void handle__is_stale_when_two_names_were_swapped(void **state)
{
	struct nfs3_fh roots[2];
	char exports[600];

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(exports, sizeof(exports),
			 "[/a]\nbackend = dir:%s\n[/b]\nbackend = dir:%s\n",
			 in_base(i ? "other" : "tree"), in_base(i ? "tree" : "other"));
		serve(exports);
		if (i == 0)
			memcpy(roots, c->roots, sizeof(roots));
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(client_getattr(c, &roots[i], NULL), NFS3ERR_STALE);
}

/*
 * Checks an export within another export. If only the inner export is kept, handles of the outer
 * one are stale.
 */
static void handle__of_the_outer_export_ends_with_it(void **state)
{
	struct nfs3_fh outer, inner, by_outer, by_inner;
	char exports[600];

	(void)state;
	snprintf(exports, sizeof(exports),
		 "[/outer]\nbackend = dir:%s\n[/inner]\nbackend = dir:%s\n", in_base("tree"),
		 in_base("tree/sub"));
	serve(exports);
	outer = c->roots[0];
	inner = c->roots[1];
	assert_int_equal(client_lookup(c, &outer, "sub", &by_outer), NFS3_OK);
	assert_int_equal(client_lookup(c, &by_outer, "in", &by_outer), NFS3_OK);
	assert_int_equal(client_lookup(c, &inner, "in", &by_inner), NFS3_OK);
	snprintf(exports, sizeof(exports), "[/inner]\nbackend = dir:%s\n", in_base("tree/sub"));
	serve(exports);
	assert_int_equal(client_getattr(c, &outer, NULL), NFS3ERR_STALE);
	assert_int_equal(client_read(c, &by_outer, 0, 1), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &inner, NULL), NFS3_OK);
	assert_int_equal(client_read(c, &by_inner, 0, 1), NFS3_OK);
}

/* Checks a name that first belongs to an export in memory and then to a directory. */
static void handle__is_stale_when_the_back_end_is_another(void **state)
{
	struct nfs3_fh ram, dir;
	char exports[300];

	(void)state;
	/* Both starts use the same secret, because both have an export of the back end 'dir'. */
	snprintf(exports, sizeof(exports), "[/vol]\nbackend = ram:4m\n[/x]\nbackend = dir:%s\n",
		 in_base("other"));
	serve(exports);
	ram = root;
	serve_dir("tree");
	dir = root;
	assert_int_equal(client_getattr(c, &ram, NULL), NFS3ERR_STALE);
	serve(exports);
	assert_int_equal(client_getattr(c, &dir, NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &root, NULL), NFS3_OK);
}

static int teardown_trees(void **state)
{
	if (c && c->server)
		teardown(state);
	c = NULL;
	return 0;
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_trees, teardown_trees)
	const struct CMUnitTest tests[] = {
		TEST(handle__of_the_same_directory_stays_good),
		TEST(handle__is_stale_when_the_export_was_narrowed),
		TEST(handle__is_stale_when_the_export_was_widened),
		TEST(handle__is_stale_of_another_directory_by_the_same_name),
		TEST(handle__is_stale_when_the_root_was_replaced),
		TEST(handle__is_stale_when_the_roots_inode_was_used_again),
		TEST(handle__is_stale_of_another_disk),
		TEST(handle__is_stale_of_another_disk_of_xfs),
		TEST(handle__is_of_its_export_alone),
		TEST(handle__is_stale_when_two_names_were_swapped),
		TEST(handle__of_the_outer_export_ends_with_it),
		TEST(handle__is_stale_when_the_back_end_is_another),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests_name("nfsd_dir_bound", tests, NULL, NULL);
}
