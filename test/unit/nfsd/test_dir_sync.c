/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of dir/sync.c: which calls get the error of a sync that failed. There are no files, and the
 * test sets the results of the syncs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "dir/dir.h"

#define NIOS 8u

static struct dir_fd file;
static struct dir_io ios[NIOS];
static struct op ops[NIOS];

static int setup(void **state)
{
	(void)state;
	file = (struct dir_fd){.fd = -1};
	dir_sync_init(&file);
	return 0;
}

/* Begins call number i as begin() of dir/io.c does. */
static struct dir_io *start(uint32_t i, uint32_t proc, enum nfs3_stable stable)
{
	ops[i].proc = proc;
	ops[i].args.write.stable = stable;
	ios[i] = (struct dir_io){.op = &ops[i], .file = &file, .nlost = file.nlost};
	return &ios[i];
}

/*
 * Ends the sync with 'result'. Checks that the calls in 'mask' waited for it, and that each of them
 * gets the last argument as its result.
 */
static void ended(int result, uint32_t mask, int told)
{
	struct dir_io *io;

	dir_sync_end(&file, result);
	while ((io = dir_sync_next(&file))) {
		uint32_t i = (uint32_t)(io - ios);

		assert_true(mask & 1u << i);
		assert_int_equal(io->sync_result, told);
		mask &= ~(1u << i);
	}
	assert_int_equal(mask, 0);
}

static void want__one_at_a_time(void **state)
{
	(void)state;
	assert_true(dir_sync_want(start(0, NFS3_COMMIT, 0)));
	/* another sync is needed, and has not begun */
	assert_false(dir_sync_want(start(1, NFS3_COMMIT, 0)));
	dir_sync_begin(&file);
	for (uint32_t i = 2; i < 5; i++)
		assert_false(dir_sync_want(start(i, NFS3_COMMIT, 0)));
	ended(0, 0x03, 0);
	assert_false(TAILQ_EMPTY(&file.to_sync));
	dir_sync_begin(&file);
	ended(0, 0x1c, 0);
	assert_true(TAILQ_EMPTY(&file.to_sync));
	assert_true(dir_sync_want(start(0, NFS3_COMMIT, 0)));
}

static void begin__leaves_times_out_when_all_let_it(void **state)
{
	(void)state;
	dir_sync_want(start(0, NFS3_WRITE, NFS3_DATA_SYNC));
	dir_sync_want(start(1, NFS3_WRITE, NFS3_DATA_SYNC));
	file.is_dirty = true;
	assert_true(dir_sync_begin(&file));
	assert_false(file.is_dirty);
	dir_sync_want(start(2, NFS3_WRITE, NFS3_DATA_SYNC));
	dir_sync_want(start(3, NFS3_WRITE, NFS3_FILE_SYNC));
	ended(0, 0x03, 0);
	assert_false(dir_sync_begin(&file));
	ended(0, 0x0c, 0);
	/* COMMIT has the same effect, and so has a sync for which no call waits. */
	dir_sync_want(start(4, NFS3_COMMIT, NFS3_DATA_SYNC));
	assert_false(dir_sync_begin(&file));
	ended(0, 0x10, 0);
	start(5, NFS3_WRITE, NFS3_DATA_SYNC)->op = NULL;
	dir_sync_want(&ios[5]);
	assert_false(dir_sync_begin(&file));
	ended(0, 0x20, 0);
}

static void failure__is_of_all_whom_the_sync_was_for(void **state)
{
	(void)state;
	dir_sync_want(start(0, NFS3_WRITE, NFS3_FILE_SYNC));
	dir_sync_want(start(1, NFS3_COMMIT, 0));
	dir_sync_want(start(2, NFS3_WRITE, NFS3_DATA_SYNC));
	dir_sync_begin(&file);
	ended(-ENOSPC, 0x07, -ENOSPC);
}

/*
 * Checks that a failure concerns WRITEs that had begun. The kernel reports the error once, and the
 * next sync succeeds.
 */
static void failure__is_of_writes_that_had_begun(void **state)
{
	struct dir_io *writing;

	(void)state;
	writing = start(0, NFS3_WRITE,
			NFS3_FILE_SYNC); /* the kernel can write its data at any time from now on */
	dir_sync_want(start(1, NFS3_COMMIT, 0));
	dir_sync_begin(&file);
	dir_sync_want(start(2, NFS3_WRITE, NFS3_DATA_SYNC));
	ended(-EIO, 0x02, -EIO);
	dir_sync_begin(&file);
	ended(0, 0x04, -EIO);
	dir_sync_want(writing);
	dir_sync_begin(&file);
	ended(0, 0x01, -EIO);
	/* The failure does not affect a call that begins after the failure is known. */
	dir_sync_want(start(3, NFS3_WRITE, NFS3_FILE_SYNC));
	dir_sync_begin(&file);
	ended(0, 0x08, 0);
}

/*
 * Checks that only WRITEs fail by the failure of another call's sync. COMMIT reports it by the
 * verifier, and SETATTR writes no data of a client.
 */
static void failure__of_another_fails_writes_only(void **state)
{
	(void)state;
	dir_sync_want(start(0, NFS3_COMMIT, 0));
	dir_sync_begin(&file);
	dir_sync_want(start(1, NFS3_COMMIT, 0));
	dir_sync_want(start(2, NFS3_SETATTR, 0));
	/* belongs to no call; the file will be closed */
	start(3, NFS3_WRITE, NFS3_FILE_SYNC)->op = NULL;
	dir_sync_want(&ios[3]);
	ended(-EDQUOT, 0x01, -EDQUOT);
	dir_sync_begin(&file);
	ended(0, 0x0e, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(want__one_at_a_time, setup),
		cmocka_unit_test_setup(begin__leaves_times_out_when_all_let_it, setup),
		cmocka_unit_test_setup(failure__is_of_all_whom_the_sync_was_for, setup),
		cmocka_unit_test_setup(failure__is_of_writes_that_had_begun, setup),
		cmocka_unit_test_setup(failure__of_another_fails_writes_only, setup),
	};

	return cmocka_run_group_tests_name("nfsd_dir_sync", tests, NULL, NULL);
}
