/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a limit on file sizes, which also applies to the library's memfds. The library must
 * return an error, and no signal may reach the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include <weir/memory.h>

#include "resize.h"

#define LIMIT (1u << 20)

/*
 * Sets a limit on file sizes. The signal for it has its default disposition, so that it would end
 * this program.
 */
static int limit_files(void **state)
{
	struct rlimit limit;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = LIMIT;
	return setrlimit(RLIMIT_FSIZE, &limit);
}

static int lift_limit(void **state)
{
	struct rlimit limit;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &limit);
}

static int create(size_t len)
{
	struct weir_region_options options = {.struct_bytes = sizeof(options),
					      .len_bytes = len,
					      .numa_node = -1,
					      .flags = WEIR_REGION_NO_HUGE};
	struct weir_region *region = NULL;
	int rc = weir_region_create(&options, &region);

	weir_region_destroy(region);
	return rc;
}

static void region_create__beyond_the_limit(void **state)
{
	struct sigaction action;

	(void)state;
	assert_int_equal(create(2 * LIMIT), -EFBIG);
	assert_int_equal(create(LIMIT / 2), 0);
	assert_int_equal(sigaction(SIGXFSZ, NULL, &action), 0);
	assert_true(action.sa_handler == SIG_DFL);
}

static void region_create__leaves_a_signal_that_was_pending(void **state)
{
	sigset_t xfsz, before, pending;
	int signo;

	(void)state;
	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &xfsz, &before);
	raise(SIGXFSZ);
	assert_int_equal(create(2 * LIMIT), -EFBIG);
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGXFSZ), 1);
	assert_int_equal(sigwait(&xfsz, &signo), 0);
	assert_int_equal(create(2 * LIMIT), -EFBIG);
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGXFSZ), 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(region_create__beyond_the_limit, limit_files,
						lift_limit),
		cmocka_unit_test_setup_teardown(region_create__leaves_a_signal_that_was_pending,
						limit_files, lift_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
