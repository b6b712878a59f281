/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of CREATE, MKDIR, SYMLINK, MKNOD and LINK in a 'dir' export that fail after the object was
 * created. The causes are:
 * - There are no descriptors.
 * - A system call fails.
 * - Another process has replaced the object.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dir/proc.h"

#define CALLER	  1000u /* the user that creates the objects */
#define GROUP	  1001u /* an additional group of the caller */
#define OTHER	  1002u
#define STEPS_MAX 40u /* a bound for the system calls of a procedure */

static struct server server;
static struct export export;
static struct dir_fs fs;
static char dir_path[] = "/tmp/weir-made-XXXXXX";
static int dir_fd;
static struct op op;

/*
 * State of the wrapped system calls. After the object was created, system call number 'fail_at'
 * fails, or with 'fails_on' all from that number on.
 */
static uint32_t nsteps, fail_at;
static bool is_made, fails_on;
static void (*on_made)(void); /* called directly after the object was created */
static void (*on_fail)(void);
static time_t ahead_s; /* seconds by which the server's clock is ahead */

static bool has_failed(void)
{
	bool fails = is_made && (nsteps == fail_at || (fails_on && nsteps > fail_at));

	nsteps += is_made;
	if (fails && on_fail)
		on_fail();
	if (fails)
		errno = EMFILE;
	return fails;
}

/* Defines a wrapper of a system call that can be made to fail. */
#define WRAP(name, params, args)                                                                   \
	int __real_##name params;                                                                  \
	int __wrap_##name params;                                                                  \
	int __wrap_##name params                                                                   \
	{                                                                                          \
		return has_failed() ? -1 : __real_##name args;                                     \
	}

/* Defines a wrapper of a system call that creates the object. */
#define WRAP_MAKER(name, params, args)                                                             \
	int __real_##name params;                                                                  \
	int __wrap_##name params;                                                                  \
	int __wrap_##name params                                                                   \
	{                                                                                          \
		int rc = __real_##name args;                                                       \
                                                                                                   \
		assert_int_equal(rc, 0);                                                           \
		is_made = true;                                                                    \
		if (on_made)                                                                       \
			on_made();                                                                 \
		return rc;                                                                         \
	}

WRAP(fsync, (int fd), (fd))
WRAP(chmod, (const char *path, mode_t mode), (path, mode))
WRAP(ftruncate, (int fd, off_t size), (fd, size))
WRAP(ftruncate64, (int fd, off_t size), (fd, size))
WRAP(fchownat, (int fd, const char *path, uid_t uid, gid_t gid, int flags),
     (fd, path, uid, gid, flags))
WRAP(futimens, (int fd, const struct timespec times[2]), (fd, times))
WRAP(utimensat, (int fd, const char *path, const struct timespec times[2], int flags),
     (fd, path, times, flags))
WRAP(unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(name_to_handle_at,
     (int fd, const char *path, struct file_handle *handle, int *mount, int flags),
     (fd, path, handle, mount, flags))
WRAP(statx, (int fd, const char *path, int flags, unsigned mask, struct statx *x),
     (fd, path, flags, mask, x))
WRAP_MAKER(mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP_MAKER(mknodat, (int fd, const char *path, mode_t mode, dev_t dev), (fd, path, mode, dev))
WRAP_MAKER(symlinkat, (const char *to, int fd, const char *path), (to, fd, path))
WRAP_MAKER(linkat, (int fd, const char *path, int to_fd, const char *to, int flags),
	   (fd, path, to_fd, to, flags))

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);
void __wrap_op_make_fh(const struct op *of, const struct handle_id *id, struct nfs3_fh *fh);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = __real_clock_gettime(clock, ts);

	ts->tv_sec += ahead_s;
	return rc;
}

/* The C library has no function for openat2(), so that syscall() is wrapped. */
long __wrap_syscall(long number, long a, long b, long c, long d)
{
	const struct open_how *how = (const void *)c;
	long rc;

	if (number != SYS_openat2)
		return __real_syscall(number, a, b, c, d);
	if (has_failed())
		return -1;
	rc = __real_syscall(number, a, b, c, d);
	if (rc >= 0 && (how->flags & O_CREAT)) {
		is_made = true;
		if (on_made)
			on_made();
	}
	return rc;
}

void __wrap_op_make_fh(const struct op *of, const struct handle_id *id, struct nfs3_fh *fh)
{
	(void)of;
	(void)id;
	(void)fh;
}

static bool exists(const char *name, struct stat *st)
{
	return fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void clear(void)
{
	static const char *const names[] = {"new", "away", "other", "target"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", dir_path, names[i]);
		remove(path);
	}
}

static void reset(void)
{
	fail_at = UINT32_MAX;
	fails_on = false;
	on_made = on_fail = NULL;
	ahead_s = 0;
	is_made = false;
}

static int setup(void **state)
{
	int mount;
	union {
		struct file_handle handle;
		uint8_t bytes[sizeof(struct file_handle) + HANDLE_ID_MAX];
	} h = {.handle = {.handle_bytes = HANDLE_ID_MAX}};

	(void)state;
	reset();
	assert_non_null(mkdtemp(dir_path));
	assert_int_equal(chmod(dir_path, 0777), 0);
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(__real_name_to_handle_at(dir_fd, "", &h.handle, &mount, AT_EMPTY_PATH), 0);
	fs = (struct dir_fs){
		.server = &server, .export = &export, .root_fd = dir_fd, .mount_id = mount};
	fs.file_max = 1u << 20;
	export.fs = (struct fs *)&fs;
	umask(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	clear();
	close(dir_fd);
	rmdir(dir_path);
	memcpy(dir_path + strlen(dir_path) - 6, "XXXXXX", 6);
	return 0;
}

static void set_name(struct nfs3_name *name)
{
	*name = (struct nfs3_name){.len_bytes = 3};
	memcpy(name->data, "new", 3);
}

static void set_id(const char *name, struct handle_id *id)
{
	assert_int_equal(dir_id_of(&fs, dir_fd, name, id), 0);
}

/* Returns all attributes that a client can give to a new object. */
static struct nfs3_sattr all_attrs(void)
{
	return (struct nfs3_sattr){
		.set_mode = true,
		.mode = 06755,
		.set_gid = true,
		.gid = GROUP,
		.set_size = true,
		.size = 5,
		.mtime_how = NFS3_SET_TO_CLIENT_TIME,
		.mtime = {.seconds = 1},
	};
}

static void new_op(uint32_t proc)
{
	clear();
	is_made = false;
	nsteps = 0;
	op = (struct op){.proc = proc, .server = &server, .export = &export};
	op.cred = (struct cred){.uid = CALLER, .gid = CALLER, .ngids = 1, .gids = {GROUP}};
	set_id("", &op.id);
	set_name(&op.args.dirop.name);
}

static enum nfs3_status create(enum nfs3_createmode how)
{
	new_op(NFS3_CREATE);
	op.args.create.mode = how;
	op.args.create.attr = all_attrs();
	return dir_create(&fs, &op);
}

static enum nfs3_status create_guarded(void)
{
	return create(NFS3_GUARDED);
}

static enum nfs3_status create_unchecked(void)
{
	return create(NFS3_UNCHECKED);
}

static enum nfs3_status create_exclusive(void)
{
	return create(NFS3_EXCLUSIVE);
}

static enum nfs3_status make_dir(void)
{
	new_op(NFS3_MKDIR);
	op.args.mkdir.attr = all_attrs();
	return dir_make_node(&fs, &op);
}

static enum nfs3_status make_symlink(void)
{
	new_op(NFS3_SYMLINK);
	op.args.mkdir.attr = all_attrs();
	op.data = (const uint8_t *)"path";
	op.data_bytes = 4;
	return dir_make_node(&fs, &op);
}

static enum nfs3_status make_fifo(void)
{
	new_op(NFS3_MKNOD);
	op.args.mknod.type = NFS3_FIFO;
	op.args.mknod.attr = all_attrs();
	return dir_make_node(&fs, &op);
}

static enum nfs3_status make_link(void)
{
	int fd;

	new_op(NFS3_LINK);
	fd = openat(dir_fd, "target", O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fchownat(dir_fd, "target", CALLER, CALLER, 0), 0);
	op.id2 = op.id;
	set_id("target", &op.id);
	set_name(&op.args.link.link.name);
	return dir_link(&fs, &op);
}

static enum nfs3_status (*const makers[])(void) = {
	create_guarded, create_unchecked, create_exclusive, make_dir,
	make_symlink,	make_fifo,	  make_link,
};

#define NMAKERS (sizeof(makers) / sizeof(makers[0]))

/*
 * Checks that a call that fails in any one step leaves no object. In the last try no step fails,
 * and the call succeeds.
 */
static void make__that_fails_leaves_nothing(void **state)
{
	struct stat st;

	(void)state;
	for (uint32_t i = 0; i < NMAKERS; i++) {
		enum nfs3_status status;
		uint32_t nfailed = 0;

		reset();
		for (fail_at = 0;; fail_at++) {
			status = makers[i]();
			assert_true(is_made);
			if (nsteps <= fail_at)
				break;
			assert_true(exists("new", &st) == (status == NFS3_OK));
			nfailed += status != NFS3_OK;
			assert_in_range(fail_at, 0, STEPS_MAX);
		}
		assert_int_equal(status, NFS3_OK);
		assert_true(exists("new", &st));
		assert_in_range(nfailed, 1, STEPS_MAX);
	}
}

/* Checks that the client is not asked to try again if the object could not be removed. */
static void make__that_fails_and_stays_is_no_jukebox(void **state)
{
	struct stat st;

	(void)state;
	for (uint32_t i = 0; i < NMAKERS; i++) {
		uint32_t nstay = 0;

		reset();
		fails_on = true;
		for (fail_at = 0; fail_at < STEPS_MAX; fail_at++) {
			enum nfs3_status status = makers[i]();

			if (exists("new", &st))
				assert_int_not_equal(status, NFS3ERR_JUKEBOX);
			nstay += status != NFS3_OK && exists("new", &st);
		}
		assert_in_range(nstay, 1, STEPS_MAX);
	}
}

/* Sets the limit of descriptors so that 'nfree' are free. Returns the previous limit. */
static struct rlimit leave_free(rlim_t nfree)
{
	struct rlimit before, limit;
	int lowest = dup(STDIN_FILENO);

	assert_true(lowest >= 0);
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = (struct rlimit){(rlim_t)lowest + nfree, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

static void make__without_descriptors_leaves_nothing(void **state)
{
	struct stat st;

	(void)state;
	/*
	 * The last procedure, LINK, is left out, because its target would need descriptors of this
	 * process.
	 */
	for (uint32_t i = 0; i < NMAKERS - 1; i++) {
		enum nfs3_status status = NFS3ERR_JUKEBOX;

		for (rlim_t nfree = 0; status != NFS3_OK; nfree++) {
			struct rlimit before = leave_free(nfree);

			status = makers[i]();
			setrlimit(RLIMIT_NOFILE, &before);
			assert_true(status == NFS3_OK || status == NFS3ERR_JUKEBOX);
			assert_true(exists("new", &st) == (status == NFS3_OK));
			/*
			 * Two descriptors are sufficient: one for the directory and one for the
			 * object.
			 */
			assert_true(nfree < 2 || status == NFS3_OK);
		}
	}
}

static void attributes__are_those_that_were_given(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(create_guarded(), NFS3_OK);
	assert_true(exists("new", &st));
	assert_int_equal(st.st_mode, S_IFREG | 06755);
	assert_int_equal(st.st_uid, CALLER);
	assert_int_equal(st.st_gid, GROUP);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(st.st_mtim.tv_sec, 1);
	assert_int_equal(make_dir(), NFS3_OK);
	assert_true(exists("new", &st));
	assert_int_equal(st.st_mode, S_IFDIR | 06755);
	assert_int_equal(st.st_gid, GROUP);
	assert_int_equal(st.st_mtim.tv_sec, 1);
}

/* ---- another object in place of the new one ---- */

static mode_t other_type;
static uint32_t other_uid;
static struct stat other_st;

static void replace(void)
{
	dir_reset_creds(); /* the call can have the identity of its caller at this time */
	assert_int_equal(renameat(dir_fd, "new", dir_fd, "away"), 0);
	if (other_type == S_IFDIR)
		assert_int_equal(__real_mkdirat(dir_fd, "new", 0700), 0);
	else
		assert_int_equal(__real_mknodat(dir_fd, "new", other_type | 0600, 0), 0);
	assert_int_equal(__real_fchownat(dir_fd, "new", other_uid, other_uid, 0), 0);
	assert_true(exists("new", &other_st));
}

static void expect_other(enum nfs3_status status)
{
	struct stat st;

	assert_int_equal(status, NFS3ERR_IO);
	assert_true(exists("new", &st));
	assert_int_equal(st.st_ino, other_st.st_ino);
	assert_int_equal(st.st_mode, other_st.st_mode);
	assert_int_equal(st.st_gid, other_st.st_gid);
	assert_int_equal(st.st_mtim.tv_sec, other_st.st_mtim.tv_sec);
	assert_false(op.res.create.fh.is_set);
}

static void other__of_another_type_is_left_alone(void **state)
{
	(void)state;
	on_made = replace;
	other_uid = CALLER;
	other_type = S_IFIFO;
	expect_other(make_dir());
	expect_other(make_symlink());
	other_type = S_IFDIR;
	expect_other(make_fifo());
}

static void other__of_another_owner_is_left_alone(void **state)
{
	(void)state;
	on_made = replace;
	other_uid = OTHER;
	other_type = S_IFDIR;
	expect_other(make_dir());
	other_type = S_IFIFO;
	expect_other(make_fifo());
}

static void other__that_is_older_is_left_alone(void **state)
{
	(void)state;
	on_made = replace;
	ahead_s = 60;
	other_uid = CALLER;
	other_type = S_IFDIR;
	expect_other(make_dir());
	other_type = S_IFIFO;
	expect_other(make_fifo());
}

/*
 * Checks that the other object is not removed. It appears after the new object was opened, and then
 * a later step fails.
 */
static void other__is_not_removed(void **state)
{
	(void)state;
	on_fail = replace;
	other_uid = CALLER;
	other_type = S_IFREG;
	for (fail_at = 0; fail_at < 3; fail_at++) {
		expect_other(create_guarded());
		expect_other(create_exclusive());
	}
	other_type = S_IFDIR;
	/* The first steps of this call open the object, so that the later ones fail. */
	for (fail_at = 2; fail_at < 4; fail_at++)
		expect_other(make_dir());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(make__that_fails_leaves_nothing),
		TEST(make__that_fails_and_stays_is_no_jukebox),
		TEST(make__without_descriptors_leaves_nothing),
		TEST(attributes__are_those_that_were_given),
		TEST(other__of_another_type_is_left_alone),
		TEST(other__of_another_owner_is_left_alone),
		TEST(other__that_is_older_is_left_alone),
		TEST(other__is_not_removed),
	};

	return cmocka_run_group_tests_name("nfsd_dir_made", tests, NULL, NULL);
}
