/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of dir_open_id(), which opens files by handles of the kernel. The test replaces the
 * kernel's answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "dir/dir.h"

#define ROOT_FD 1000
#define FD	1001

#define TRIES_MAX 1000u	   /* a bound for tries, far above the number that is expected */
#define PAUSE_MAX 1000000u /* a bound for the microseconds that one call pauses in total */

static const struct dir_fs fs = {.root_fd = ROOT_FD};
static const struct handle_id id = {.len_bytes = 12, .data = {1, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 9}};

static uint32_t nshort; /* number of tries for which the kernel has no memory */
static int answer;	/* the answer after these tries: a descriptor, or -errno */
static uint32_t ntries, paused_us;

int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);
int __wrap_usleep(useconds_t us);

int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	int rc = ntries++ < nshort ? -ENOMEM : answer;

	assert_int_equal(mount_fd, ROOT_FD);
	assert_int_equal(handle->handle_bytes, id.len_bytes - 4);
	assert_memory_equal(handle->f_handle, id.data + 4, handle->handle_bytes);
	assert_int_equal(flags, O_PATH | O_CLOEXEC);
	assert_in_range(ntries, 1, TRIES_MAX);
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

int __wrap_usleep(useconds_t us)
{
	paused_us += us;
	errno = EINTR; /* a value that must not be used */
	return -1;
}

static int open_id(uint32_t nshort_, int answer_)
{
	nshort = nshort_;
	answer = answer_;
	ntries = paused_us = 0;
	return dir_open_id(&fs, &id, O_PATH);
}

/*
 * Checks the answer that Linux gives while the inode number of a removed file is being given to a
 * new file.
 */
static void open__of_a_file_that_is_gone_is_stale(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 5; n++) {
		assert_int_equal(dir_status(open_id(n, -ESTALE)), NFS3ERR_STALE);
		assert_int_equal(ntries, n + 1);
		assert_true((paused_us > 0) == (n > 0));
	}
}

static void open__goes_on_when_there_is_memory(void **state)
{
	(void)state;
	assert_int_equal(open_id(0, FD), FD);
	assert_int_equal(paused_us, 0);
	assert_int_equal(open_id(3, FD), FD);
	assert_int_equal(ntries, 4);
}

static void open__does_not_wait_for_memory_for_ever(void **state)
{
	(void)state;
	assert_int_equal(dir_status(open_id(TRIES_MAX, FD)), NFS3ERR_JUKEBOX);
	assert_in_range(paused_us, 1, PAUSE_MAX);
}

/*
 * Checks errors that a further try would not change, and a lack of descriptors, which a further try
 * could not end.
 */
static void open__has_one_try_otherwise(void **state)
{
	static const int errors[] = {ESTALE, EMFILE, ENFILE, EACCES, ENOTDIR, EIO};

	(void)state;
	for (uint32_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		assert_int_equal(open_id(0, -errors[i]), -errors[i]);
		assert_int_equal(ntries, 1);
		assert_int_equal(paused_us, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__of_a_file_that_is_gone_is_stale),
		cmocka_unit_test(open__goes_on_when_there_is_memory),
		cmocka_unit_test(open__does_not_wait_for_memory_for_ever),
		cmocka_unit_test(open__has_one_try_otherwise),
	};

	return cmocka_run_group_tests_name("nfsd_dir_handle", tests, NULL, NULL);
}
