/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the server except for operations on files: handles, rights of callers, rules of exports,
 * the duplicate request cache, MOUNT, and restarts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "mount3_text.h"
#include "mount_client.h"

/* ---- handles ---- */

static void handle__each_byte_is_checked(void **state)
{
	struct nfs3_fh file, forged;
	enum nfs3_status status;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	for (uint32_t i = 0; i < file.len_bytes; i++) {
		for (uint32_t bit = 0; bit < 8; bit++) {
			forged = file;
			forged.data[i] ^= (uint8_t)(1u << bit);
			status = client_getattr(c, &forged, NULL);
			/*
			 * The server cannot distinguish another epoch from an earlier one of its
			 * own, which is stale. Byte 2 says if bytes 8 to 15 are an epoch.
			 */
			assert_true(status == NFS3ERR_BADHANDLE ||
				    (status == NFS3ERR_STALE && (i == 2 || (i >= 8 && i < 16))));
		}
	}
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
}

static void handle__of_any_length(void **state)
{
	struct nfs3_fh fh = {0};

	(void)state;
	for (uint32_t len = 0; len <= NFS3_FH_MAX; len++) {
		fh = root;
		if (len == root.len_bytes)
			continue;
		fh.len_bytes = len;
		assert_int_equal(client_getattr(c, &fh, NULL), NFS3ERR_BADHANDLE);
		memset(fh.data, (int)len, sizeof(fh.data));
		assert_int_equal(client_getattr(c, &fh, NULL), NFS3ERR_BADHANDLE);
	}
}

static void handle__each_procedure_refuses_a_forged_one(void **state)
{
	(void)state;
	for (uint32_t proc = NFS3_GETATTR; proc < NFS3_NPROCS; proc++) {
		memset(&c->args, 0, sizeof(c->args));
		c->args.fh = root;
		c->args.fh.data[root.len_bytes - 1] ^= 1;
		c->data_bytes = 1;
		if (proc == NFS3_LINK)
			c->args.link.link.dir = root;
		else if (proc == NFS3_RENAME)
			c->args.rename.to.dir = root;
		else if (proc == NFS3_MKNOD)
			c->args.mknod.type = NFS3_FIFO;
		assert_int_equal(client_call(c, proc), NFS3ERR_BADHANDLE);
	}
}

static void args__garbage_is_said_to_be(void **state)
{
	uint8_t raw[96];

	(void)state;
	for (uint32_t proc = NFS3_GETATTR; proc < NFS3_NPROCS; proc++) {
		client_call_raw(c, proc, raw, 0);
		assert_int_equal(c->status, 0);
		assert_int_equal(c->accept_stat, WEIR_RPC_GARBAGE_ARGS);
		memset(raw, 0xff, sizeof(raw));
		client_call_raw(c, proc, raw, sizeof(raw));
		assert_int_equal(c->accept_stat, WEIR_RPC_GARBAGE_ARGS);
	}
	client_call_raw(c, NFS3_NULL, raw, 0);
	assert_int_equal(c->accept_stat, WEIR_RPC_SUCCESS);
	assert_int_equal(c->closed, 0);
}

/* ---- rights ---- */

static enum nfs3_status chmod_to(const struct nfs3_fh *fh, uint32_t mode)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr.set_mode = true;
	c->args.setattr.attr.mode = mode;
	return client_call(c, NFS3_SETATTR);
}

static void rights__mode_bits_hold(void **state)
{
	struct nfs3_fh file, dir;

	(void)state;
	assert_int_equal(client_mkdir(c, &root, "d", &dir), NFS3_OK);
	assert_int_equal(client_create(c, &dir, "f", &file), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, 1000);
	assert_int_equal(c->res.create.attr.attr.gid, 1000);
	assert_int_equal(chmod_to(&file, 0600), NFS3_OK);
	assert_int_equal(client_write(c, &file, 0, 10, NFS3_UNSTABLE), NFS3_OK);
	c->uid = c->gid = 2000;
	assert_int_equal(client_read(c, &file, 0, 10), NFS3ERR_ACCES);
	assert_int_equal(client_write(c, &file, 0, 10, NFS3_UNSTABLE), NFS3ERR_ACCES);
	assert_int_equal(client_truncate(c, &file, 0), NFS3ERR_ACCES);
	assert_int_equal(chmod_to(&file, 0666), NFS3ERR_PERM);
	assert_int_equal(client_create(c, &dir, "g", NULL), NFS3ERR_ACCES);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &dir, "f"), NFS3ERR_ACCES);
	c->args.access = (struct nfs3_access_args){file, 0x3f};
	assert_int_equal(client_call(c, NFS3_ACCESS), NFS3_OK);
	assert_int_equal(c->res.access.access, 0);
	/* The root directory is sticky, so that a user cannot remove files of another user. */
	assert_int_not_equal(client_remove(c, NFS3_RMDIR, &root, "d"), NFS3_OK);
	c->is_anonymous = true;
	assert_int_equal(client_read(c, &file, 0, 10), NFS3ERR_ACCES);
	c->is_anonymous = false;
	c->uid = c->gid = 1000;
	/* The owner can continue to use a file, whatever its mode is. */
	assert_int_equal(chmod_to(&file, 0), NFS3_OK);
	assert_int_equal(client_read(c, &file, 0, 10), NFS3_OK);
	assert_int_equal(client_write(c, &file, 0, 10, NFS3_UNSTABLE), NFS3_OK);
}

static void setattr__guard_and_times(void **state)
{
	struct nfs3_fattr attr;
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = file;
	c->args.setattr.is_guarded = true;
	c->args.setattr.guard = (struct nfs3_time){attr.ctime.seconds - 1, attr.ctime.nseconds};
	c->args.setattr.attr.mtime_how = NFS3_SET_TO_CLIENT_TIME;
	c->args.setattr.attr.mtime = (struct nfs3_time){12345, 678};
	assert_int_equal(client_call(c, NFS3_SETATTR), NFS3ERR_NOT_SYNC);
	c->args.setattr.guard = attr.ctime;
	assert_int_equal(client_call(c, NFS3_SETATTR), NFS3_OK);
	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	assert_int_equal(attr.mtime.seconds, 12345);
	assert_int_equal(attr.mtime.nseconds, 678);
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = file;
	c->args.setattr.attr.mtime_how = NFS3_SET_TO_CLIENT_TIME;
	c->args.setattr.attr.mtime = (struct nfs3_time){1, 1000000000};
	assert_int_equal(client_call(c, NFS3_SETATTR), NFS3ERR_INVAL);
}

static void filesystem__says_what_it_can(void **state)
{
	(void)state;
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSSTAT), NFS3_OK);
	assert_true(c->res.fsstat.tbytes > 0 && c->res.fsstat.fbytes <= c->res.fsstat.tbytes);
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSINFO), NFS3_OK);
	assert_true(c->res.fsinfo.rtmax > 0 && c->res.fsinfo.dtpref > 0 &&
		    c->res.fsinfo.maxfilesize > 0);
	assert_true(c->res.fsinfo.attr.is_set);
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_PATHCONF), NFS3_OK);
	assert_int_equal(c->res.pathconf.name_max, 255);
	assert_true(c->res.pathconf.no_trunc && c->res.pathconf.case_preserving);
}

/* ---- exports ---- */

static void exports__rules_from_a_file(void **state)
{
	char path[96];
	const char *args[] = {"--exports", path, "--export", "last=ram:8m", NULL};
	struct nfs3_fh squashed, trusted;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/exports", client_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("# two\n[/squashed]\nbackend = ram:8m\nanonuid = 77\nanongid = 78\n\n"
	      "[/trusted]\nbackend = ram\nsize = 8m\nroot_squash = no\n",
	      file);
	fclose(file);
	start(args);
	squashed = c->roots[0];
	c->uid = c->gid = 0;
	assert_int_equal(client_create(c, &squashed, "f", NULL), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, 77);
	assert_int_equal(c->res.create.attr.attr.gid, 78);
	trusted = c->roots[1];
	assert_int_equal(client_create(c, &trusted, "f", NULL), NFS3_OK);
	assert_int_equal(c->res.create.attr.attr.uid, 0);
	/* RENAME from one export to another is refused. */
	assert_int_equal(client_rename(c, &trusted, "f", &squashed, "g"), NFS3ERR_XDEV);
}

static void exports__read_only(void **state)
{
	static const uint32_t changes[] = {NFS3_SETATTR, NFS3_WRITE, NFS3_CREATE, NFS3_MKDIR,
					   NFS3_SYMLINK, NFS3_MKNOD, NFS3_REMOVE, NFS3_RMDIR,
					   NFS3_RENAME,	 NFS3_LINK};
	char path[96];
	const char *args[] = {"--exports", path, "--export", "last=ram:8m", NULL};
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/exports-ro", client_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("[/ro]\nbackend = ram:8m\naccess = ro\nroot_squash = no\n", file);
	fclose(file);
	start(args);
	c->uid = 0;
	for (uint32_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		memset(&c->args, 0, sizeof(c->args));
		c->args.fh = root;
		c->data_bytes = 1;
		if (changes[i] == NFS3_LINK)
			c->args.link.link.dir = root;
		else if (changes[i] == NFS3_RENAME)
			c->args.rename.to.dir = root;
		else if (changes[i] == NFS3_MKNOD)
			c->args.mknod.type = NFS3_FIFO;
		assert_int_equal(client_call(c, changes[i]), NFS3ERR_ROFS);
	}
	assert_int_equal(client_readdir(c, &root, false, 0, 4096), NFS3_OK);
}

/* ---- MOUNT ---- */

/* Expects DUMP to list the one path, or none if 'path' is NULL. */
static void expect_dump(int fd, const char *path)
{
	uint64_t memory[MOUNT3_MOUNTS_ARENA_BYTES / sizeof(uint64_t)];
	char text[MOUNT3_PATH_MAX + 1];
	struct mount_reply reply;
	struct weir_xdr_arena arena;
	struct weir_xdr_in in;
	mount3_mounts mounts;

	mount_begin(fd, MOUNT3_DUMP, NULL);
	mount_end(fd, &reply);
	mount_decode(&reply, &in);
	weir_xdr_arena_init(&arena, memory, sizeof(memory));
	assert_int_equal(mount3_mounts_get(&in, &arena, &mounts), 0);
	assert_int_equal(mounts != NULL, path != NULL);
	if (!mounts)
		return;
	assert_true(mount3_text(&mounts->path, text, sizeof(text)));
	assert_string_equal(text, path);
	assert_true(mount3_text(&mounts->host, text, sizeof(text)));
	assert_string_equal(text, "127.0.0.1");
	assert_null(mounts->next);
}

/* Expects EXPORT to list the one path, without groups. */
static void expect_export(int fd, const char *path)
{
	static uint64_t memory[MOUNT3_EXPORTS_ARENA_BYTES / sizeof(uint64_t)];
	char text[MOUNT3_PATH_MAX + 1];
	struct mount_reply reply;
	struct weir_xdr_arena arena;
	struct weir_xdr_in in;
	mount3_exports exports;

	mount_begin(fd, MOUNT3_EXPORT, NULL);
	mount_end(fd, &reply);
	mount_decode(&reply, &in);
	weir_xdr_arena_init(&arena, memory, sizeof(memory));
	assert_int_equal(mount3_exports_get(&in, &arena, &exports), 0);
	assert_non_null(exports);
	assert_true(mount3_text(&exports->path, text, sizeof(text)));
	assert_string_equal(text, path);
	assert_null(exports->groups);
	assert_null(exports->next);
}

static uint32_t refusal_of(int fd, uint32_t proc, const char *path)
{
	struct mount_reply reply;

	mount_begin(fd, proc, path);
	mount_end(fd, &reply);
	return reply.accept_stat;
}

static void mount__gives_the_roots_handle(void **state)
{
	char port[16];
	const char *args[] = {"--export", "vol=ram:8m", "--mount-port", port, "--no-rpcbind", NULL};
	uint16_t number = (uint16_t)(20000 + getpid() % 20000);
	struct nfs3_fh fh;
	int fd;

	(void)state;
	snprintf(port, sizeof(port), "%u", number);
	start(args);
	fd = mount_connect(1, number);
	assert_int_equal(mount_call(fd, MOUNT3_NULL, NULL), 0);
	assert_int_equal(mount_mnt(fd, "/vol/", &fh), MOUNT3_OK);
	assert_memory_equal(&fh, &root, 4 + root.len_bytes);
	expect_dump(fd, "/vol");
	expect_export(fd, "/vol");
	mount_call(fd, MOUNT3_UMNT, "/vol/");
	expect_dump(fd, NULL);
	assert_int_equal(mount_mnt(fd, "/vol", NULL), MOUNT3_OK);
	mount_call(fd, MOUNT3_UMNTALL, NULL);
	expect_dump(fd, NULL);
	assert_int_equal(mount_mnt(fd, "/vol/../etc", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(refusal_of(fd, 9, NULL), WEIR_RPC_PROC_UNAVAIL);
	/* The argument is missing. */
	assert_int_equal(refusal_of(fd, MOUNT3_MNT, NULL), WEIR_RPC_GARBAGE_ARGS);
	close(fd);
}

static void mount__of_directories_below_an_export(void **state)
{
	char vol[128], port[16], name[300];
	const char *args[] = {"--export",     vol,	  "--export",	  "vol/deep/er=ram:8m",
			      "--state",      client_dir, "--mount-port", port,
			      "--no-rpcbind", NULL};
	uint16_t number = (uint16_t)(20000 + getpid() % 20000);
	struct nfs3_fh a, b, fh;
	int fd;

	(void)state;
	client_export(vol, sizeof(vol));
	snprintf(port, sizeof(port), "%u", number);
	start(args);
	assert_int_equal(client_mkdir(c, &root, "a", &a), NFS3_OK);
	assert_int_equal(client_mkdir(c, &a, "b", &b), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "deep", NULL), NFS3_OK);
	assert_int_equal(client_create(c, &a, "file", NULL), NFS3_OK);
	assert_int_equal(client_symlink(c, &root, "link", "a", 1), NFS3_OK);
	fd = mount_connect(1, number);
	assert_int_equal(mount_mnt(fd, "/vol/a", &fh), MOUNT3_OK);
	assert_memory_equal(&fh, &a, 4 + a.len_bytes);
	assert_int_equal(mount_mnt(fd, "/vol//a/b//", &fh), MOUNT3_OK);
	assert_memory_equal(&fh, &b, 4 + b.len_bytes);
	assert_int_equal(client_getattr(c, &fh, NULL), NFS3_OK);
	/* If several exports match a path, the one with the longest name is used. */
	assert_int_equal(mount_mnt(fd, "/vol/deep/er", &fh), MOUNT3_OK);
	assert_memory_equal(&fh, &c->roots[1], 4 + fh.len_bytes);
	assert_int_equal(mount_mnt(fd, "/vol/deep", &fh), MOUNT3_OK);
	/* The path has the form of the command line, without a slash at the start. */
	assert_int_equal(mount_mnt(fd, "vol/deep/er", &fh), MOUNT3_OK);
	assert_memory_equal(&fh, &c->roots[1], 4 + fh.len_bytes);
	assert_int_equal(mount_mnt(fd, "vol/a", &fh), MOUNT3_OK);
	assert_memory_equal(&fh, &a, 4 + a.len_bytes);
	assert_int_equal(mount_mnt(fd, "vola", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "ol", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "/vol/deep/ero", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "/vola", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "/vol/a/no", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "/vol/a/file", NULL), MOUNT3ERR_NOTDIR);
	assert_int_equal(mount_mnt(fd, "/vol/a/file/x", NULL), MOUNT3ERR_NOTDIR);
	assert_int_not_equal(mount_mnt(fd, "/vol/link", NULL), MOUNT3_OK);
	assert_int_equal(mount_mnt(fd, "/vol/a/..", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "/vol/./a", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "/", NULL), MOUNT3ERR_NOENT);
	assert_int_equal(mount_mnt(fd, "", NULL), MOUNT3ERR_NOENT);
	memset(name, 'n', sizeof(name));
	memcpy(name, "/vol/", 5);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(mount_mnt(fd, name, NULL), MOUNT3ERR_NAMETOOLONG);
	close(fd);
}

/* ---- restarts ---- */

static void restart__of_ram_makes_handles_stale(void **state)
{
	const char *args[] = {"--export", "vol=ram:8m", NULL};
	struct nfs3_fh file;

	(void)state;
	start(args);
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	client_disconnect(c);
	client_kill_server(c, SIGKILL);
	client_start_server(c, args);
	client_connect(c);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &root, NULL), NFS3ERR_STALE);
	assert_int_equal(client_getattr(c, &c->roots[0], NULL), NFS3_OK);
}

/*
 * Checks WRITEs that the server acknowledged as stable before it was killed. The client continues
 * to use its handles.
 */
static void restart__of_dir_loses_no_stable_byte(void **state)
{
	char export[128];
	const char *args[] = {"--export", export, "--state", client_dir, NULL};
	uint8_t verf[NFS3_VERF_BYTES];
	struct nfs3_fh file;

	(void)state;
	snprintf(export, sizeof(export), "vol=dir:%s/restart", client_dir);
	assert_int_equal(mkdir(strchr(export, ':') + 1, 0777), 0);
	assert_int_equal(chmod(strchr(export, ':') + 1, 01777), 0);
	start(args);
	assert_int_equal(client_create(c, &root, "f", &file), NFS3_OK);
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 20; i++) {
			memset(c->mem, (int)(round * 20 + i + 1), 30000);
			assert_int_equal(client_write(c, &file, (round * 20 + i) * 30000ull, 30000,
						      NFS3_FILE_SYNC),
					 NFS3_OK);
			assert_int_equal(c->res.write.count, 30000);
			assert_int_equal(c->res.write.committed, NFS3_FILE_SYNC);
		}
		memcpy(verf, c->res.write.verf, sizeof(verf));
		client_disconnect(c);
		client_kill_server(c, SIGKILL);
		client_start_server(c, args);
		client_connect(c);
		for (uint32_t i = 0; i < (round + 1) * 20; i++) {
			assert_int_equal(client_read(c, &file, i * 30000ull, 30000), NFS3_OK);
			assert_int_equal(c->data_bytes, 30000);
			for (uint32_t j = 0; j < 30000; j++)
				assert_int_equal(c->data[j], i + 1);
		}
		/* Earlier unstable data can be lost. In that case the verifier differs. */
		assert_int_equal(client_write(c, &file, 0, 0, NFS3_UNSTABLE), NFS3_OK);
		assert_memory_not_equal(c->res.write.verf, verf, sizeof(verf));
	}
}

/*
 * Checks symbolic links that lead out of the export. The client follows them, but the server
 * follows none.
 */
static void dir__nothing_outside_is_reached(void **state)
{
	char export[128], path[160];
	const char *args[] = {"--export", export, "--state", client_dir, NULL};
	struct nfs3_fh link, dir, found;

	(void)state;
	snprintf(export, sizeof(export), "vol=dir:%s/inside", client_dir);
	assert_int_equal(mkdir(strchr(export, ':') + 1, 0777), 0);
	snprintf(path, sizeof(path), "%s/out", strchr(export, ':') + 1);
	assert_int_equal(symlink("/etc", path), 0);
	snprintf(path, sizeof(path), "%s/d", strchr(export, ':') + 1);
	assert_int_equal(mkdir(path, 0777), 0);
	start(args);
	assert_int_equal(client_lookup(c, &root, "out", &link), NFS3_OK);
	assert_int_equal(c->res.lookup.attr.attr.type, NFS3_LNK);
	assert_int_equal(client_lookup(c, &link, "passwd", &found), NFS3ERR_NOTDIR);
	assert_int_equal(client_readdir(c, &link, false, 0, 4096), NFS3ERR_NOTDIR);
	assert_int_equal(client_lookup(c, &root, "..", &found), NFS3_OK);
	assert_memory_equal(&found, &root, 4 + root.len_bytes);
	/*
	 * A process of the host moves a directory out of the export. A lookup of its parent must
	 * fail.
	 */
	assert_int_equal(client_lookup(c, &root, "d", &dir), NFS3_OK);
	snprintf(export, sizeof(export), "%s/moved", client_dir);
	assert_int_equal(rename(path, export), 0);
	assert_int_equal(client_lookup(c, &dir, "..", &found), NFS3ERR_STALE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handle__each_byte_is_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(handle__of_any_length, setup, teardown),
		cmocka_unit_test_setup_teardown(handle__each_procedure_refuses_a_forged_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(args__garbage_is_said_to_be, setup, teardown),
		cmocka_unit_test_setup_teardown(rights__mode_bits_hold, setup, teardown),
		cmocka_unit_test_setup_teardown(setattr__guard_and_times, setup, teardown),
		cmocka_unit_test_setup_teardown(filesystem__says_what_it_can, setup, teardown),
		cmocka_unit_test_setup_teardown(exports__rules_from_a_file, setup_none, teardown),
		cmocka_unit_test_setup_teardown(exports__read_only, setup_none, teardown),
		cmocka_unit_test_setup_teardown(mount__gives_the_roots_handle, setup_none,
						teardown),
		cmocka_unit_test_setup_teardown(mount__of_directories_below_an_export, setup_none,
						teardown),
		cmocka_unit_test_setup_teardown(restart__of_ram_makes_handles_stale, setup_none,
						teardown),
		cmocka_unit_test_setup_teardown(restart__of_dir_loses_no_stable_byte, setup_none,
						teardown),
		cmocka_unit_test_setup_teardown(dir__nothing_outside_is_reached, setup_none,
						teardown),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
