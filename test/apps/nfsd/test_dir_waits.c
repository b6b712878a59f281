/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of files whose open waits because of a user of the host: leases, FIFOs, devices, and a file
 * system that never answers.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define NFILES 6 /* more files than the server has threads for an export */

static char exported[96];
static pid_t holder;
static struct nfs3_fh files[NFILES];

static char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", exported, name);
	return path;
}

static int setup_exported(void **state)
{
	static int serial;
	char exports[96];
	const char *args[] = {"--exports", exports, "--state", client_dir, NULL};
	FILE *file;

	(void)state;
	snprintf(exported, sizeof(exported), "%s/waits-%d", client_dir, serial++);
	assert_int_equal(mkdir(exported, 0777), 0);
	snprintf(exports, sizeof(exports), "%s/exports", client_dir);
	file = fopen(exports, "w");
	assert_non_null(file);
	fprintf(file, "[/vol]\nbackend = dir:%s\nroot_squash = no\n", exported);
	fclose(file);
	start(args);
	c->uid = c->gid = 0;
	return 0;
}

static char *name_of(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "f%d", i);
	return name;
}

/* Creates files outside of the server, because the server would keep files open that it created. */
static void make_files(void)
{
	for (int i = 0; i < NFILES; i++) {
		int fd = open(path_of(name_of(i)), O_WRONLY | O_CREAT | O_EXCL, 0644);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, "data", 4), 4);
		close(fd);
		assert_int_equal(client_lookup(c, &root, name_of(i), &files[i]), NFS3_OK);
	}
}

/*
 * Starts a process that holds a lease of 'type' on each of the files. The process does not give up
 * a lease when the kernel breaks it.
 */
static void hold_leases(int type)
{
	int ready[2];
	char ok;

	make_files();
	assert_int_equal(pipe(ready), 0);
	holder = fork();
	if (holder == 0) {
		int fd = -1;

		signal(SIGIO, SIG_IGN);
		for (int i = 0; i < NFILES; i++) {
			fd = open(path_of(name_of(i)), type == F_RDLCK ? O_RDONLY : O_RDWR);
			if (fd < 0 || fcntl(fd, F_SETLEASE, type) != 0)
				_exit(1);
		}
		if (write(ready[1], "k", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(holder > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &ok, 1), 1);
	close(ready[0]);
}

/* Ends the process that holds the leases. */
static void end_holder(void)
{
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	holder = 0;
}

static int teardown_holder(void **state)
{
	if (holder > 0)
		end_holder();
	return teardown(state);
}

static enum nfs3_status set(const struct nfs3_fh *fh, const struct nfs3_sattr *attr)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr = *attr;
	return client_call(c, NFS3_SETATTR);
}

static enum nfs3_status create_empty(const char *name)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.create.where.dir = root;
	client_name(&c->args.create.where.name, name);
	c->args.create.mode = NFS3_UNCHECKED;
	c->args.create.attr.set_size = true;
	return client_call(c, NFS3_CREATE);
}

static void lease__of_a_reader_is_broken_by_writes(void **state)
{
	(void)state;
	hold_leases(F_RDLCK);
	for (int i = 0; i < NFILES; i++) {
		assert_int_equal(client_write(c, &files[i], 0, 4, NFS3_FILE_SYNC), NFS3ERR_JUKEBOX);
		assert_int_equal(client_truncate(c, &files[i], 0), NFS3ERR_JUKEBOX);
		assert_int_equal(create_empty(name_of(i)), NFS3ERR_JUKEBOX);
		assert_int_equal(client_read(c, &files[i], 0, 4), NFS3_OK);
	}
	end_holder();
	for (int i = 0; i < NFILES; i++)
		assert_int_equal(client_write(c, &files[i], 0, 4, NFS3_FILE_SYNC), NFS3_OK);
}

static void lease__of_a_writer_is_broken_by_all(void **state)
{
	struct nfs3_fattr attr;

	(void)state;
	hold_leases(F_WRLCK);
	for (int i = 0; i < NFILES; i++) {
		assert_int_equal(client_read(c, &files[i], 0, 4), NFS3ERR_JUKEBOX);
		assert_int_equal(client_write(c, &files[i], 0, 4, NFS3_FILE_SYNC), NFS3ERR_JUKEBOX);
		/* A call that is answered with JUKEBOX had no effect. */
		assert_int_equal(
			set(&files[i], &(struct nfs3_sattr){.set_mode = true, .mode = 0600}),
			NFS3ERR_JUKEBOX);
		assert_int_equal(client_getattr(c, &files[i], &attr), NFS3_OK);
		assert_int_equal(attr.mode, 0644);
	}
	/* These calls open no file. */
	assert_int_equal(client_rename(c, &root, "f0", &root, "f0-moved"), NFS3_OK);
	assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "f1"), NFS3_OK);
	end_holder();
	assert_int_equal(client_read(c, &files[0], 0, 4), NFS3_OK);
	assert_memory_equal(c->data, "data", 4);
	assert_int_equal(set(&files[0], &(struct nfs3_sattr){.set_mode = true, .mode = 0600}),
			 NFS3_OK);
}

/*
 * Checks that a caller without any right to file i gets an error at once, although an open of the
 * file would wait.
 */
static void expect_nothing(int i)
{
	const struct nfs3_fh *fh = &files[i];

	assert_int_equal(client_read(c, fh, 0, 4), NFS3ERR_ACCES);
	assert_int_equal(client_write(c, fh, 0, 4, NFS3_FILE_SYNC), NFS3ERR_ACCES);
	c->args.commit = (struct nfs3_commit_args){*fh, 0, 0};
	assert_int_equal(client_call(c, NFS3_COMMIT), NFS3ERR_ACCES);
	assert_int_equal(client_truncate(c, fh, 0), NFS3ERR_ACCES);
	assert_int_equal(client_truncate(c, fh, 100), NFS3ERR_ACCES);
	assert_int_equal(create_empty(name_of(i)), NFS3ERR_ACCES);
	assert_int_equal(set(fh, &(struct nfs3_sattr){.set_mode = true, .mode = 0666}),
			 NFS3ERR_PERM);
	assert_int_equal(set(fh, &(struct nfs3_sattr){.set_uid = true, .uid = 2000}), NFS3ERR_PERM);
	assert_int_equal(set(fh, &(struct nfs3_sattr){.set_gid = true, .gid = 2000}), NFS3ERR_PERM);
	assert_int_equal(set(fh, &(struct nfs3_sattr){.mtime_how = NFS3_SET_TO_CLIENT_TIME}),
			 NFS3ERR_PERM);
	assert_int_equal(set(fh, &(struct nfs3_sattr){.mtime_how = NFS3_SET_TO_SERVER_TIME}),
			 NFS3ERR_ACCES);
	assert_int_equal(set(fh, &(struct nfs3_sattr){.set_size = true, .set_mode = true}),
			 NFS3ERR_PERM);
	/* A SETATTR that changes nothing needs no right. */
	assert_int_equal(set(fh, &(struct nfs3_sattr){.set_mode = false}), NFS3_OK);
}

static void lease__is_not_broken_by_a_caller_without_rights(void **state)
{
	static const int types[] = {F_RDLCK, F_WRLCK};

	(void)state;
	make_files();
	signal(SIGIO, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		int fd = open(path_of(name_of(i)), types[i] == F_RDLCK ? O_RDONLY : O_RDWR);

		assert_true(fd >= 0);
		assert_int_equal(fchmod(fd, 0600), 0);
		assert_int_equal(fcntl(fd, F_SETLEASE, types[i]), 0);
		c->uid = c->gid = 2000;
		expect_nothing(i);
		assert_int_equal(fcntl(fd, F_GETLEASE), types[i]);
		/* A caller with the right to change the file breaks the lease. */
		c->uid = c->gid = 0;
		assert_int_equal(client_truncate(c, &files[i], 0), NFS3ERR_JUKEBOX);
		assert_int_not_equal(fcntl(fd, F_GETLEASE), types[i]);
		close(fd);
		assert_int_equal(client_truncate(c, &files[i], 0), NFS3_OK);
	}
}

static void open__of_what_is_no_file(void **state)
{
	static const char *const names[] = {"fifo", "device", "socket"};
	struct nfs3_fh fh;

	(void)state;
	assert_int_equal(mkfifo(path_of("fifo"), 0666), 0);
	assert_int_equal(mknod(path_of("socket"), S_IFSOCK | 0666, 0), 0);
	/* The device is a serial port, whose open waits for a carrier. */
	assert_int_equal(mknod(path_of("device"), S_IFCHR | 0666, makedev(4, 64)), 0);
	for (uint32_t i = 0; i < NFILES; i++) {
		const char *name = names[i % 3];

		assert_int_equal(client_lookup(c, &root, name, &fh), NFS3_OK);
		assert_int_equal(client_read(c, &fh, 0, 4), NFS3ERR_INVAL);
		assert_int_equal(client_write(c, &fh, 0, 4, NFS3_UNSTABLE), NFS3ERR_INVAL);
		assert_int_equal(client_truncate(c, &fh, 0), NFS3ERR_INVAL);
		assert_int_equal(create_empty(name), NFS3ERR_EXIST);
		assert_int_equal(set(&fh, &(struct nfs3_sattr){.set_mode = true, .mode = 0600}),
				 NFS3_OK);
		c->args.commit = (struct nfs3_commit_args){fh, 0, 0};
		assert_int_equal(client_call(c, NFS3_COMMIT), NFS3ERR_INVAL);
	}
}

static enum nfs3_status write_at(const struct nfs3_fh *fh, uint64_t offset)
{
	return client_write(c, fh, offset, 1, NFS3_UNSTABLE);
}

/*
 * Checks the largest file size of the file system: FSINFO returns it, and a WRITE beyond it fails
 * at once.
 */
static void file_max__of_the_file_system(void **state)
{
	struct nfs3_fh fh;
	uint64_t max;
	int fd;

	(void)state;
	fd = open(exported, O_TMPFILE | O_RDWR, 0600);
	if (fd < 0) {
		print_message("no unnamed files on this file system: not tested\n");
		skip();
	}
	c->args.fh = root;
	assert_int_equal(client_call(c, NFS3_FSINFO), NFS3_OK);
	max = c->res.fsinfo.maxfilesize;
	assert_true(lseek(fd, (off_t)max, SEEK_SET) == (off_t)max);
	assert_true(max == INT64_MAX || lseek(fd, (off_t)(max + 1), SEEK_SET) < 0);
	close(fd);
	assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
	assert_int_equal(write_at(&fh, max), NFS3ERR_FBIG);
	assert_int_equal(client_truncate(c, &fh, max + 1), NFS3ERR_FBIG);
	assert_int_equal(write_at(&fh, UINT64_MAX), NFS3ERR_FBIG);
	assert_int_equal(write_at(&fh, 0), NFS3_OK);
}

static int setup_limited(void **state)
{
	struct rlimit before, limit;
	int rc;

	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 64u << 20;
	setrlimit(RLIMIT_FSIZE, &limit);
	rc = setup_exported(state); /* the server inherits the limit */
	setrlimit(RLIMIT_FSIZE, &before);
	return rc;
}

/* Checks the limit of the process for file sizes. The signal for it must not end the server. */
static void file_max__of_the_process(void **state)
{
	struct nfs3_fattr attr;
	struct nfs3_fh fh;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
	assert_int_equal(client_truncate(c, &fh, 524288000), NFS3ERR_FBIG);
	assert_int_equal(write_at(&fh, 64u << 20), NFS3ERR_FBIG);
	assert_int_equal(write_at(&fh, (64u << 20) - 1), NFS3_OK);
	assert_int_equal(client_getattr(c, &fh, &attr), NFS3_OK);
	assert_int_equal(attr.size, 64u << 20);
}

/*
 * Mounts a FUSE file system whose process never answers. It is below the export, so that the server
 * has the mount as well. Returns false if this process cannot mount it.
 */
static bool mount_silent_fuse(int *fd)
{
	char options[64];

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	*fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 *fd);
	return *fd >= 0 && mount("silent", path_of("silent"), "fuse", 0, options) == 0;
}

static int setup_fuse(void **state)
{
	static int fd;

	/* The file system is mounted before the server starts, so that the server has the mount. */
	snprintf(exported, sizeof(exported), "%s/fuse", client_dir);
	assert_int_equal(mkdir(exported, 0777), 0);
	assert_int_equal(mkdir(path_of("silent"), 0777), 0);
	*state = mount_silent_fuse(&fd) ? &fd : NULL;
	return 0;
}

static void start_with_fuse(void)
{
	char export[160];
	const char *args[] = {"--export", export, "--state", client_dir, NULL};

	snprintf(export, sizeof(export), "vol=dir:%s", exported);
	start(args);
}

static int teardown_fuse(void **state)
{
	umount2(path_of("silent"), MNT_DETACH);
	if (*state)
		close(*(int *)*state);
	return c ? teardown(state) : 0;
}

/*
 * Checks that each call is answered in some way. The server must never use the file system that is
 * mounted there.
 */
static void mount__below_that_never_answers(void **state)
{
	struct nfs3_fh fh;

	if (!*state) {
		print_message("no FUSE mount here (/dev/fuse, CAP_SYS_ADMIN): not tested\n");
		c = NULL;
		skip();
	}
	start_with_fuse();
	for (int i = 0; i < NFILES; i++) {
		client_lookup(c, &root, "silent", &fh);
		assert_int_equal(client_readdir(c, &root, true, 0, 8192), NFS3_OK);
		assert_int_not_equal(client_remove(c, NFS3_RMDIR, &root, "silent"), NFS3_OK);
		assert_int_not_equal(client_remove(c, NFS3_REMOVE, &root, "silent"), NFS3_OK);
		assert_int_not_equal(client_rename(c, &root, "silent", &root, "moved"), NFS3_OK);
		assert_int_not_equal(create_empty("silent"), NFS3_OK);
		client_mkdir(c, &root, "other", &fh);
		assert_int_not_equal(client_rename(c, &root, "other", &root, "silent"), NFS3_OK);
		assert_int_not_equal(client_mkdir(c, &root, "silent", &fh), NFS3_OK);
	}
	assert_int_equal(client_getattr(c, &root, NULL), NFS3_OK);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lease__of_a_reader_is_broken_by_writes,
						setup_exported, teardown_holder),
		cmocka_unit_test_setup_teardown(lease__of_a_writer_is_broken_by_all, setup_exported,
						teardown_holder),
		cmocka_unit_test_setup_teardown(lease__is_not_broken_by_a_caller_without_rights,
						setup_exported, teardown),
		cmocka_unit_test_setup_teardown(open__of_what_is_no_file, setup_exported, teardown),
		cmocka_unit_test_setup_teardown(file_max__of_the_file_system, setup_exported,
						teardown),
		cmocka_unit_test_setup_teardown(file_max__of_the_process, setup_limited, teardown),
		/*
		 * This test must be the last one, because it changes the mount namespace of the
		 * process.
		 */
		cmocka_unit_test_setup_teardown(mount__below_that_never_answers, setup_fuse,
						teardown_fuse),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
