/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the effects of the back end 'dir' on its host: files that are open, programs that run,
 * and files that are removed. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#define WAIT_MS 60000

static char exported[96];

static void make_directory(void)
{
	static int serial;

	snprintf(exported, sizeof(exported), "%s/dir-%d", client_dir, serial++);
	assert_int_equal(mkdir(exported, 0777), 0);
}

static void start_exported(void)
{
	char exports[96];
	const char *args[] = {"--exports", exports, "--state", client_dir, NULL};
	FILE *file;

	assert_int_equal(chmod(exported, 01777), 0);
	snprintf(exports, sizeof(exports), "%s/exports", client_dir);
	file = fopen(exports, "w");
	assert_non_null(file);
	fprintf(file, "[/vol]\nbackend = dir:%s\nroot_squash = no\n", exported);
	fclose(file);
	start(args);
}

static int setup_exported(void **state)
{
	(void)state;
	make_directory();
	start_exported();
	return 0;
}

/* Sets the limit of descriptors for servers that are started later: its present value, and its
 * maximum. */
static void limit_files(rlim_t soft, rlim_t hard)
{
	struct rlimit limit = {soft, hard};

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct rlimit usual_limit;

static int setup_soft(void **state)
{
	getrlimit(RLIMIT_NOFILE, &usual_limit);
	limit_files(100, usual_limit.rlim_max);
	return setup_exported(state);
}

static int setup_hard(void **state)
{
	getrlimit(RLIMIT_NOFILE, &usual_limit);
	limit_files(100, 100);
	return setup_exported(state);
}

static int teardown_limit(void **state)
{
	setrlimit(RLIMIT_NOFILE, &usual_limit);
	return teardown(state);
}

static char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", exported, name);
	return path;
}

/* Returns the number of the server's descriptors for files of the export. Devices are compared,
 * because the server has its own mount and therefore other paths. */
static int files_open(void)
{
	char path[300];
	struct stat root_st, st;
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	assert_int_equal(stat(exported, &root_st), 0);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)c->server);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)c->server, entry->d_name);
		n += atoi(entry->d_name) > STDERR_FILENO && stat(path, &st) == 0 &&
		     S_ISREG(st.st_mode) && st.st_dev == root_st.st_dev;
	}
	closedir(dir);
	return n;
}

/* Prints to standard error why a file can be open: descriptors, the ring, and the state of each
 * thread. */
static void tell_what_is_open(void)
{
	char command[600];

	snprintf(command, sizeof(command),
		 "cd /proc/%d; ls -l fd; grep -H . fdinfo/* | grep -v -e mnt_id -e Personalities | "
		 "tail -80; for t in task/*; do grep -H . $t/comm $t/wchan $t/stack; grep State "
		 "$t/status; done; uptime; dmesg | tail -20",
		 (int)c->server);
	if (system(command) != 0)
		print_message("nothing more is known of it\n");
}

/* Returns the time in ms of a clock that does not change when the time of day is set. */
static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

static void wait_until_closed(void)
{
	uint64_t end = now_ms() + WAIT_MS, ncalls = 0;

	for (; files_open() > 0 && now_ms() < end; ncalls++)
		assert_int_equal(client_getattr(c, &root, NULL), NFS3_OK);
	if (files_open() == 0)
		return;
	print_message("open still after %d s and %lu calls\n", WAIT_MS / 1000,
		      (unsigned long)ncalls);
	tell_what_is_open();
	/* Checks if the files are closed later. This is only for the log, because the test has
	 * failed. */
	for (end = now_ms() + WAIT_MS; files_open() > 0 && now_ms() < end;)
		usleep(100000);
	print_message("another %lu ms later %d are open\n",
		      (unsigned long)(now_ms() + WAIT_MS - end), files_open());
	fail();
}

static void copy_program(const char *from, const char *to)
{
	char command[600];

	snprintf(command, sizeof(command), "cp %s %s && chmod 777 %s && chown 1000:1000 %s", from,
		 to, to, to);
	assert_int_equal(system(command), 0);
}

static pid_t run(const char *path, const char *arg)
{
	pid_t child = fork();

	if (child == 0) {
		execl(path, path, arg, (char *)NULL);
		_exit(errno);
	}
	assert_true(child > 0);
	return child;
}

static int end_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits until the child executes the file 'path'. */
static void wait_until_it_runs(pid_t child, const char *path)
{
	uint64_t end = now_ms() + WAIT_MS;
	char exe[64], to[200];
	ssize_t len = 0;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)child);
	while (now_ms() < end) {
		len = readlink(exe, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = '\0';
		if (strcmp(to, path) == 0)
			return;
	}
	fail();
}

static void open__for_reading_leaves_a_program_runnable(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	copy_program("/bin/true", path_of("true"));
	assert_int_equal(client_lookup(c, &root, "true", &fh), NFS3_OK);
	assert_int_equal(client_read(c, &fh, 0, 100), NFS3_OK);
	assert_int_equal(files_open(), 1);
	assert_int_equal(end_of(run(path_of("true"), NULL)), 0);
	/* The server has the file open for writing, which prevents its execution as a writer on
	 * this host would, but only for a short time. */
	assert_int_equal(client_read(c, &fh, 0, 64), NFS3_OK);
	memcpy(c->mem, c->data, 64);
	assert_int_equal(client_write(c, &fh, 0, 64, NFS3_FILE_SYNC), NFS3_OK);
	wait_until_closed();
	assert_int_equal(end_of(run(path_of("true"), NULL)), 0);
}

static void open__of_a_program_that_runs(void **state)
{
	struct nfs3_fh fh;
	pid_t child;

	(void)state;
	copy_program("/bin/sleep", path_of("sleep"));
	assert_int_equal(client_lookup(c, &root, "sleep", &fh), NFS3_OK);
	child = run(path_of("sleep"), "1000");
	wait_until_it_runs(child, path_of("sleep"));
	assert_int_equal(client_read(c, &fh, 0, 100), NFS3_OK);
	assert_int_equal(client_write(c, &fh, 0, 100, NFS3_UNSTABLE), NFS3ERR_ACCES);
	assert_int_equal(client_truncate(c, &fh, 0), NFS3ERR_ACCES);
	kill(child, SIGKILL);
	end_of(child);
	/* The server's open for reading does not prevent the WRITE. */
	assert_int_equal(client_read(c, &fh, 0, 100), NFS3_OK);
	assert_int_equal(client_write(c, &fh, 0, 100, NFS3_UNSTABLE), NFS3_OK);
}

static void open__of_an_immutable_file(void **state)
{
	int flags = FS_IMMUTABLE_FL, none = 0, fd;
	struct nfs3_fh fh;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
	assert_int_equal(client_write(c, &fh, 0, 100, NFS3_FILE_SYNC), NFS3_OK);
	wait_until_closed();
	fd = open(path_of("f"), O_RDONLY);
	assert_true(fd >= 0);
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0) {
		close(fd);
		print_message("no immutable files on this file system: not tested\n");
		skip();
	}
	assert_int_equal(client_read(c, &fh, 0, 100), NFS3_OK);
	assert_int_equal(c->data_bytes, 100);
	assert_int_equal(client_write(c, &fh, 0, 100, NFS3_FILE_SYNC), NFS3ERR_PERM);
	assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &none), 0);
	close(fd);
	assert_int_equal(client_write(c, &fh, 0, 100, NFS3_FILE_SYNC), NFS3_OK);
}

static void remove__closes_the_file(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	/* The file is removed by a client, and by a process of the host. */
	for (int by_client = 0; by_client < 2; by_client++) {
		assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
		assert_int_equal(client_write(c, &fh, 0, 1u << 20, NFS3_UNSTABLE), NFS3_OK);
		assert_int_equal(client_read(c, &fh, 0, 100), NFS3_OK);
		assert_int_equal(files_open(), 2);
		if (by_client)
			assert_int_equal(client_remove(c, NFS3_REMOVE, &root, "f"), NFS3_OK);
		else
			assert_int_equal(unlink(path_of("f")), 0);
		assert_int_equal(client_getattr(c, &fh, NULL), NFS3ERR_STALE);
		assert_int_equal(client_read(c, &fh, 0, 100), NFS3ERR_STALE);
		assert_int_equal(client_write(c, &fh, 0, 100, NFS3_UNSTABLE), NFS3ERR_STALE);
		wait_until_closed();
	}
}

/* Checks more files than can be open. A file must be closed before another can be opened. If that
 * takes long, the client must try again. */
static void limit__many_files(void **state)
{
	static struct nfs3_fh fh[300];
	uint32_t status;
	char name[16];

	(void)state;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(client_create(c, &root, name, &fh[i]), NFS3_OK);
	}
	for (int i = 0; i < 300; i++) {
		memset(c->mem, i, 10);
		while ((status = client_write(c, &fh[i], 0, 10, NFS3_UNSTABLE)) == NFS3ERR_JUKEBOX)
			;
		assert_int_equal(status, NFS3_OK);
	}
	for (int i = 0; i < 300; i++) {
		while ((status = client_read(c, &fh[i], 0, 10)) == NFS3ERR_JUKEBOX)
			;
		assert_int_equal(status, NFS3_OK);
		assert_int_equal(c->data[9], (uint8_t)i);
	}
}

/* ---- a disk that promises more space than it has, so that cached data cannot be written to it
 * ---- */

#define TRIES	10
#define SLOW_MS 1000 /* if a call takes longer, a file can become idle between two calls */
static bool has_disk;
static char memory[96];

static int setup_disk(void **state)
{
	char command[800];

	(void)state;
	snprintf(memory, sizeof(memory), "%s/memory", client_dir);
	make_directory();
	snprintf(command, sizeof(command),
		 "PATH=$PATH:/sbin:/usr/sbin; truncate -s 200M %s/disk && mkfs.ext4 -q -O "
		 "^has_journal -E lazy_itable_init=1 %s/disk && mount -o loop,errors=continue "
		 "%s/disk %s",
		 memory, memory, memory, exported);
	has_disk = mkdir(memory, 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
		   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		   mount("none", memory, "tmpfs", 0, "size=24m") == 0 && system(command) == 0;
	start_exported();
	return 0;
}

static int teardown_disk(void **state)
{
	teardown(state);
	umount2(exported, MNT_DETACH);
	umount2(memory, MNT_DETACH);
	return 0;
}

/* Writes data that will be lost, and stores the verifier of the first WRITE in 'verf'. Returns the
 * time of the slowest call in ms. */
static uint64_t lose_data(const struct nfs3_fh *fh, uint8_t verf[NFS3_VERF_BYTES])
{
	uint64_t slowest = 0;

	memset(c->mem, 'x', 1u << 20);
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t began = now_ms();

		assert_int_equal(client_write(c, fh, i << 20, 1u << 20, NFS3_UNSTABLE), NFS3_OK);
		if (i == 0)
			memcpy(verf, c->res.write.verf, NFS3_VERF_BYTES);
		if (now_ms() - began > slowest)
			slowest = now_ms() - began;
	}
	return slowest;
}

static enum nfs3_status commit(const struct nfs3_fh *fh)
{
	c->args.commit = (struct nfs3_commit_args){*fh, 0, 0};
	return client_call(c, NFS3_COMMIT);
}

static enum nfs3_status write_for_good(const struct nfs3_fh *fh)
{
	return client_write(c, fh, 0, 100, NFS3_FILE_SYNC);
}

static enum nfs3_status set_mode(const struct nfs3_fh *fh)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = *fh;
	c->args.setattr.attr.set_mode = true;
	c->args.setattr.attr.mode = 0600;
	return client_call(c, NFS3_SETATTR);
}

static void expect_other_verf(const struct nfs3_fh *fh, const uint8_t verf[NFS3_VERF_BYTES])
{
	if (commit(fh) == NFS3_OK)
		assert_memory_not_equal(c->res.commit.verf, verf, NFS3_VERF_BYTES);
	/* Each client that wrote gets the new verifier, for whatever file, and however often it
	 * asks. */
	assert_int_equal(client_write(c, fh, 0, 0, NFS3_UNSTABLE), NFS3_OK);
	assert_memory_not_equal(c->res.write.verf, verf, NFS3_VERF_BYTES);
}

/* Loses data, and then makes a call that must report the loss. The call does not report it if the
 * server synced the file before the call, which happens after three seconds without a call. In that
 * case the verifier has reported the loss, and the function tries again. */
static void expect_loss_reported(const struct nfs3_fh *fh,
				 enum nfs3_status (*call)(const struct nfs3_fh *fh),
				 const struct nfs3_fh *other)
{
	uint8_t verf[NFS3_VERF_BYTES];

	for (int i = 0; i < TRIES; i++) {
		uint64_t slowest = lose_data(fh, verf), began = now_ms();
		enum nfs3_status status = call(fh);

		if (now_ms() - began > slowest)
			slowest = now_ms() - began;
		expect_other_verf(other, verf);
		if (status != NFS3_OK)
			return;
		assert_true(slowest > SLOW_MS);
	}
	fail();
}

static void verifier__changes_when_data_were_lost(void **state)
{
	uint8_t verf[NFS3_VERF_BYTES];
	struct nfs3_fh fh, other;

	(void)state;
	if (!has_disk) {
		print_message("no disk can be made here (mount, mkfs.ext4): not tested\n");
		skip();
	}
	assert_int_equal(client_create(c, &root, "other", &other), NFS3_OK);
	assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
	expect_loss_reported(&fh, commit, &other);
	/* The call is a WRITE with FILE_SYNC. */
	expect_loss_reported(&fh, write_for_good, &other);
	expect_loss_reported(&fh, set_mode, &other);
	/* The loss is reported although the server has closed the idle file. */
	lose_data(&fh, verf);
	wait_until_closed();
	expect_other_verf(&other, verf);
}

/* ---- a disk of its own, and who can fill it ---- */

static int setup_small_disk(const char *features, const char *options)
{
	char command[700];

	make_directory();
	snprintf(command, sizeof(command),
		 "PATH=$PATH:/sbin:/usr/sbin; truncate -s 64M %s.disk && mkfs.ext4 -q -m 25 -O %s "
		 "%s.disk && mount -o loop%s %s.disk %s",
		 exported, features, exported, options, exported, exported);
	has_disk = unshare(CLONE_NEWNS) == 0 &&
		   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && system(command) == 0;
	start_exported();
	return 0;
}

static int setup_reserved(void **state)
{
	(void)state;
	return setup_small_disk("extents", "");
}

static int setup_quota(void **state)
{
	(void)state;
	return setup_small_disk("quota", ",usrquota");
}

static int teardown_small_disk(void **state)
{
	teardown(state);
	umount2(exported, MNT_DETACH);
	return 0;
}

/* Writes until an error occurs, and returns the error. The WRITE itself reports it, even an
 * UNSTABLE one. */
static enum nfs3_status fill(const struct nfs3_fh *fh, enum nfs3_stable stable, uint64_t *offset)
{
	while (client_write(c, fh, *offset, 256u << 10, stable) == NFS3_OK)
		*offset += c->res.write.count;
	return c->res.status;
}

static uint64_t free_bytes(void)
{
	struct statvfs v;

	assert_int_equal(statvfs(exported, &v), 0);
	return (uint64_t)v.f_bfree * v.f_frsize;
}

static void space__that_is_reserved_is_roots(void **state)
{
	uint64_t offset = 0, left;
	struct nfs3_fh fh, roots;
	int ndirs = 0;
	char name[16];

	(void)state;
	if (!has_disk) {
		print_message("no disk can be made here (mount, mkfs.ext4): not tested\n");
		skip();
	}
	assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
	c->uid = c->gid = 0;
	assert_int_equal(client_create(c, &root, "roots", &roots), NFS3_OK);
	c->uid = c->gid = 1000;
	for (enum nfs3_stable stable = NFS3_UNSTABLE; stable <= NFS3_FILE_SYNC; stable++)
		assert_int_equal(fill(&fh, stable, &offset), NFS3ERR_NOSPC);
	/* Some blocks that were reserved for WRITEs have become free. Directories use them. */
	for (snprintf(name, sizeof(name), "d"); client_mkdir(c, &root, name, NULL) == NFS3_OK;)
		snprintf(name, sizeof(name), "d%d", ndirs++);
	assert_int_equal(c->res.status, NFS3ERR_NOSPC);
	left = free_bytes();
	assert_true(left > 10u << 20 && left < 20u << 20);
	/* The reserve of root depends on the writer, not on the owner of the file. */
	c->uid = c->gid = 0;
	assert_int_equal(client_write(c, &roots, 0, 1u << 20, NFS3_FILE_SYNC), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "roots dir", NULL), NFS3_OK);
	assert_true(free_bytes() < left);
}

/* Sets a quota by the system call, because the function of libc needs the path of a device. */
static int limit_user(uint32_t uid, uint64_t bytes, uint64_t files)
{
	struct if_dqblk limits = {.dqb_bhardlimit = bytes / QIF_DQBLKSIZE,
				  .dqb_ihardlimit = files,
				  .dqb_valid = QIF_LIMITS};
	int fd = open(exported, O_RDONLY | O_DIRECTORY);
	long rc = syscall(SYS_quotactl_fd, fd, QCMD(Q_SETQUOTA, USRQUOTA), uid, &limits);

	close(fd);
	return (int)rc;
}

static void quota__binds_users(void **state)
{
	uint64_t offset = 0;
	struct nfs3_fh fh;

	(void)state;
	if (!has_disk || limit_user(1000, 2u << 20, 3) != 0) {
		print_message("no disk with quotas can be made here (mount, mkfs.ext4, quota_v2): "
			      "not tested\n");
		skip();
	}
	assert_int_equal(client_create(c, &root, "f", &fh), NFS3_OK);
	for (enum nfs3_stable stable = NFS3_UNSTABLE; stable <= NFS3_FILE_SYNC; stable++)
		assert_int_equal(fill(&fh, stable, &offset), NFS3ERR_DQUOT);
	assert_true(offset <= 2u << 20);
	assert_int_equal(client_symlink(c, &root, "l", "x", 1), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "d", NULL), NFS3ERR_DQUOT);
	assert_int_equal(client_truncate(c, &fh, 0), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "d", NULL), NFS3_OK);
	assert_int_equal(client_create(c, &root, "g", NULL), NFS3ERR_DQUOT);
	/* Files of other users do not count towards the quota of this user. */
	c->uid = c->gid = 2000;
	assert_int_equal(client_create(c, &root, "g", &fh), NFS3_OK);
	for (offset = 0; offset < 3u << 20; offset += c->res.write.count)
		assert_int_equal(client_write(c, &fh, offset, 256u << 10, NFS3_UNSTABLE), NFS3_OK);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(open__for_reading_leaves_a_program_runnable,
						setup_exported, teardown),
		cmocka_unit_test_setup_teardown(open__of_a_program_that_runs, setup_exported,
						teardown),
		cmocka_unit_test_setup_teardown(open__of_an_immutable_file, setup_exported,
						teardown),
		cmocka_unit_test_setup_teardown(remove__closes_the_file, setup_exported, teardown),
		cmocka_unit_test_setup_teardown(limit__many_files, setup_soft, teardown_limit),
		cmocka_unit_test_setup_teardown(limit__many_files, setup_hard, teardown_limit),
		cmocka_unit_test_setup_teardown(verifier__changes_when_data_were_lost, setup_disk,
						teardown_disk),
		cmocka_unit_test_setup_teardown(space__that_is_reserved_is_roots, setup_reserved,
						teardown_small_disk),
		cmocka_unit_test_setup_teardown(quota__binds_users, setup_quota,
						teardown_small_disk),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
