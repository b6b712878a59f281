/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that clients cannot access file systems that are mounted below the directory of a 'dir'
 * export, and files that are moved out of that directory. They need root.
 */
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "mount_client.h"

static char base[96];
static bool is_private;	    /* the server can create a mount of its own */
static uint16_t mount_port; /* the port of MOUNT */

static const char *in_base(const char *name)
{
	static char paths[8][160];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static const char *in_vol(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "vol/%s", name);
	return in_base(path);
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

/* Finds a port on which nobody listens. */
static uint16_t free_port(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	close(fd);
	return ntohs(addr.sin_port);
}

static void start_server(void)
{
	char exports[200], port[16];
	const char *args[] = {"--exports",    exports, "--state",      client_dir,
			      "--mount-port", port,    "--no-rpcbind", NULL};
	FILE *file;

	mount_port = free_port();
	snprintf(port, sizeof(port), "%u", mount_port);
	snprintf(exports, sizeof(exports), "%s", in_base("exports"));
	file = fopen(exports, "w");
	assert_non_null(file);
	fprintf(file, "[/vol]\nbackend = dir:%s\nroot_squash = no\n", in_base("vol"));
	fclose(file);
	start(args);
}

static void bind_mount(const char *from, const char *to)
{
	assert_int_equal(mount(in_base(from), in_base(to), NULL, MS_BIND, NULL), 0);
}

/*
 * Creates base/outside/secret. Creates in base/vol 'dir' and 'file', over which files from outside
 * are mounted, 'tmp', over which a tmpfs is mounted, and 'later', without a mount at first. All of
 * them have content below the mount. The mounts are shared, as under systemd, in a namespace of
 * this process.
 */
static int setup_mounts(void **state)
{
	static int serial;

	(void)state;
	snprintf(base, sizeof(base), "%s/mount-%d", client_dir, serial++);
	assert_int_equal(mkdir(base, 0755), 0);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	bind_mount("", "");
	assert_int_equal(mount("none", base, NULL, MS_SHARED, NULL), 0);
	make_dir("outside");
	make_file("outside/secret", "secret");
	make_dir("vol");
	make_dir("vol/dir");
	make_dir("vol/tmp");
	make_dir("vol/later");
	make_file("vol/file", "beneath");
	make_file("vol/dir/beneath", "beneath");
	make_file("vol/tmp/beneath", "beneath");
	make_file("vol/later/beneath", "beneath");
	bind_mount("outside", "vol/dir");
	bind_mount("outside/secret", "vol/file");
	assert_int_equal(mount("none", in_base("vol/tmp"), "tmpfs", 0, "size=1m"), 0);
	make_file("vol/tmp/secret", "secret");
	start_server();
	/* A mount that is created while the server runs has the same effect. */
	bind_mount("outside", "vol/later");
	return 0;
}

static int setup_private(void **state)
{
	is_private = true;
	return setup_mounts(state);
}

/* Starts the server without CAP_SYS_ADMIN, so that it cannot mount anything. */
static int setup_plain(void **state)
{
	static char script[160];
	const char *program = client_program;
	FILE *file;
	int rc;

	is_private = false;
	snprintf(script, sizeof(script), "%s/without-sys-admin", client_dir);
	file = fopen(script, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\nexec setpriv --bounding-set -sys_admin %s \"$@\"\n", program);
	fclose(file);
	assert_int_equal(chmod(script, 0755), 0);
	client_program = script;
	rc = setup_mounts(state);
	client_program = program;
	return rc;
}

static int teardown_mounts(void **state)
{
	teardown(state);
	umount2(base, MNT_DETACH);
	return 0;
}

/* ---- ways to get a handle ---- */

static const char *const mounted[] = {"dir", "tmp", "later", "file"};

static const struct nfs3_entryplus *entry_of(const char *name)
{
	for (uint32_t i = 0; i < c->nentries; i++)
		if (c->entries[i].name.len_bytes == strlen(name) &&
		    memcmp(c->entries[i].name.data, name, strlen(name)) == 0)
			return &c->entries[i];
	fail_msg("%s is not listed", name);
	return NULL;
}

/* Checks that a handle refers to the content below the mount. */
static void expect_beneath(const struct nfs3_fh *fh, const char *name)
{
	if (strcmp(name, "file") == 0) {
		assert_int_equal(client_read(c, fh, 0, 100), NFS3_OK);
		assert_int_equal(c->data_bytes, 7);
		assert_memory_equal(c->data, "beneath", 7);
		return;
	}
	assert_int_equal(client_lookup(c, fh, "beneath", NULL), NFS3_OK);
	assert_int_equal(client_lookup(c, fh, "secret", NULL), NFS3ERR_NOENT);
}

static void lookup__finds_what_is_beneath_a_mount(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		enum nfs3_status status = client_lookup(c, &root, mounted[i], &fh);

		assert_int_equal(status, is_private ? NFS3_OK : NFS3ERR_ACCES);
		if (status == NFS3_OK)
			expect_beneath(&fh, mounted[i]);
	}
}

static void readdirplus__tells_what_is_beneath_a_mount(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		const struct nfs3_entryplus *entry;
		struct nfs3_fh fh;

		assert_int_equal(client_readdir(c, &root, true, 0, 65536), NFS3_OK);
		entry = entry_of(mounted[i]);
		assert_int_equal(entry->fh.is_set, is_private);
		assert_int_equal(entry->attr.is_set, is_private);
		if (!is_private)
			continue;
		assert_int_equal(entry->attr.attr.fileid, entry->fileid);
		fh = entry->fh.fh;
		expect_beneath(&fh, mounted[i]);
	}
}

static enum mount3_status mount_of(const char *name, struct nfs3_fh *fh)
{
	int fd = mount_connect(1, mount_port);
	enum mount3_status status;
	char path[128];

	snprintf(path, sizeof(path), "/vol/%s", name);
	status = mount_mnt(fd, path, fh);
	close(fd);
	return status;
}

static void mount__finds_what_is_beneath_a_mount(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		enum mount3_status status = mount_of(mounted[i], &fh);

		assert_int_equal(status, is_private ? MOUNT3_OK : MOUNT3ERR_ACCES);
		if (status == MOUNT3_OK)
			expect_beneath(&fh, mounted[i]);
	}
	assert_int_equal(mount_of("file", &fh), is_private ? MOUNT3ERR_NOTDIR : MOUNT3ERR_ACCES);
}

static void create__does_not_reach_what_is_mounted(void **state)
{
	(void)state;
	/* Checks CREATE of a name on which another file is mounted. */
	memset(&c->args, 0, sizeof(c->args));
	c->args.create.where.dir = root;
	client_name(&c->args.create.where.name, "file");
	c->args.create.mode = NFS3_UNCHECKED;
	c->args.create.attr.set_size = true;
	assert_int_equal(client_call(c, NFS3_CREATE), is_private ? NFS3_OK : NFS3ERR_ACCES);
	assert_int_equal(client_mkdir(c, &root, "dir", NULL), NFS3ERR_EXIST);
}

static void expect_secrets(void)
{
	struct stat st;

	assert_int_equal(stat(in_base("outside/secret"), &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(stat(in_base("vol/tmp/secret"), &st), 0);
}

static enum nfs3_status make_link(const struct nfs3_fh *fh, const struct nfs3_fh *dir,
				  const char *name)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.link.fh = *fh;
	c->args.link.link.dir = *dir;
	client_name(&c->args.link.link.name, name);
	return client_call(c, NFS3_LINK);
}

/*
 * Checks that clients cannot remove or rename names on which something is mounted, and that the
 * mounts of the host stay.
 */
static void names__that_are_mounted_on_stay(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bool is_file = strcmp(mounted[i], "file") == 0;
		uint32_t proc = is_file ? NFS3_REMOVE : NFS3_RMDIR;

		assert_int_not_equal(client_remove(c, proc, &root, mounted[i]), NFS3_OK);
		assert_int_not_equal(client_rename(c, &root, mounted[i], &root, "x"), NFS3_OK);
		assert_int_equal(client_create(c, &root, "new", &fh), NFS3_OK);
		assert_int_not_equal(client_rename(c, &root, "new", &root, mounted[i]), NFS3_OK);
		assert_int_equal(make_link(&fh, &root, mounted[i]), NFS3ERR_EXIST);
		assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "new"), NFS3_OK);
	}
	expect_secrets();
}

/* ---- the parent directory ---- */

static void lookup__of_dot_dot_ends_at_the_root(void **state)
{
	struct nfs3_fh a, b, up;

	(void)state;
	assert_int_equal(client_lookup(c, &root, "..", &up), NFS3_OK);
	assert_memory_equal(up.data, root.data, root.len_bytes);
	assert_int_equal(client_mkdir(c, &root, "a", &a), NFS3_OK);
	assert_int_equal(client_mkdir(c, &a, "b", &b), NFS3_OK);
	assert_int_equal(client_lookup(c, &b, "..", &up), NFS3_OK);
	assert_memory_equal(up.data, a.data, a.len_bytes);
	assert_int_equal(client_lookup(c, &up, "..", &up), NFS3_OK);
	assert_memory_equal(up.data, root.data, root.len_bytes);
}

/*
 * Checks a directory that a process of the host moves out of the export, with its content, and then
 * puts a secret into.
 */
static void handle__of_a_directory_that_was_moved_out_is_stale(void **state)
{
	struct nfs3_fh dir, sub, file;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
	assert_int_equal(client_mkdir(c, &dir, "sub", &sub), NFS3_OK);
	assert_int_equal(client_create(c, &sub, "f", &file), NFS3_OK);
	/* The directory can be moved within the export. */
	assert_int_equal(rename(in_base("vol/d"), in_base("vol/e")), 0);
	assert_int_equal(client_lookup(c, &sub, "f", NULL), NFS3_OK);
	assert_int_equal(client_lookup(c, &sub, "..", NULL), NFS3_OK);
	assert_int_equal(rename(in_base("vol/e"), in_base("outside/e")), 0);
	make_file("outside/e/sub/secret", "secret");
	for (int i = 0; i < 2; i++) {
		const struct nfs3_fh *fh = i ? &sub : &dir;

		assert_int_equal(client_lookup(c, fh, "secret", NULL), NFS3ERR_STALE);
		assert_int_equal(client_lookup(c, fh, ".", NULL), NFS3ERR_STALE);
		assert_int_equal(client_lookup(c, fh, "..", NULL), NFS3ERR_STALE);
		assert_int_equal(client_readdir(c, fh, true, 0, 4096), NFS3ERR_STALE);
		assert_int_equal(client_getattr(c, fh, NULL), NFS3ERR_STALE);
		assert_int_equal(client_create(c, fh, "new", NULL), NFS3ERR_STALE);
		assert_int_equal(client_remove(c, NFS3_REMOVE, fh, "secret"), NFS3ERR_STALE);
		assert_int_equal(client_rename(c, fh, "secret", &root, "s"), NFS3ERR_STALE);
		assert_int_equal(client_rename(c, &root, "file", fh, "s"), NFS3ERR_STALE);
		assert_int_equal(make_link(&file, fh, "s"), NFS3ERR_STALE);
	}
	/* The directory is moved back, and its handles are valid again. */
	assert_int_equal(rename(in_base("outside/e"), in_base("vol/e")), 0);
	assert_int_equal(client_lookup(c, &sub, "f", NULL), NFS3_OK);
}

/* Checks that the host cannot unmount the exported file system, because the server uses it. */
static void host__may_not_unmount_what_is_exported(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(umount2(in_vol(mounted[i]), 0), 0);
	assert_int_equal(umount2(base, 0), -1);
	assert_int_equal(errno, EBUSY);
}

int main(int argc, char **argv)
{
#define PRIVATE(name) cmocka_unit_test_setup_teardown(name, setup_private, teardown_mounts)
#define PLAIN(name)   cmocka_unit_test_setup_teardown(name, setup_plain, teardown_mounts)
	const struct CMUnitTest tests[] = {
		PRIVATE(lookup__finds_what_is_beneath_a_mount),
		PRIVATE(readdirplus__tells_what_is_beneath_a_mount),
		PRIVATE(mount__finds_what_is_beneath_a_mount),
		PRIVATE(create__does_not_reach_what_is_mounted),
		PRIVATE(names__that_are_mounted_on_stay),
		PRIVATE(lookup__of_dot_dot_ends_at_the_root),
		PRIVATE(handle__of_a_directory_that_was_moved_out_is_stale),
		PRIVATE(host__may_not_unmount_what_is_exported),
		PLAIN(lookup__finds_what_is_beneath_a_mount),
		PLAIN(readdirplus__tells_what_is_beneath_a_mount),
		PLAIN(mount__finds_what_is_beneath_a_mount),
		PLAIN(create__does_not_reach_what_is_mounted),
		PLAIN(names__that_are_mounted_on_stay),
		PLAIN(lookup__of_dot_dot_ends_at_the_root),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests_name("nfsd_dir_mount", tests, NULL, NULL);
}
