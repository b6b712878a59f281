/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the start of EAL in a program that has many open files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "eal.h"

#define FILES 1100 /* a number of files that exceeds FD_SETSIZE */

/*
 * Checks that EAL's descriptors are closed on exec, and that a pipe of the program is unchanged,
 * although EAL opens pipes as well.
 */
static void start__closes_its_descriptors_on_exec_beside_many_files(void **state)
{
	struct rlimit limit;
	uint32_t neals = 0;
	int own[2], last = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < 2 * FILES)
		skip();
	limit.rlim_cur = 2 * FILES;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(pipe(own), 0);
	for (int i = 0; i < FILES; i++)
		assert_true((last = fcntl(STDIN_FILENO, F_DUPFD, 0)) >= 0);
	assert_int_equal(mem_eal_start(NULL), 0);
	assert_int_equal(fcntl(own[0], F_GETFD), 0);
	for (int fd = last + 1; fd < 2 * FILES; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags < 0)
			continue;
		neals++;
		assert_int_equal(flags & FD_CLOEXEC, FD_CLOEXEC);
	}
	assert_true(neals >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start__closes_its_descriptors_on_exec_beside_many_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
