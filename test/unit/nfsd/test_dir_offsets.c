/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the decision, by the name of a kernel's release, whether its tmpfs has stable offsets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dir/dir.h"

static void tmpfs__is_steady_from_6_6(void **state)
{
	static const char *const steady[] = {"6.6",	"6.6.0",     "6.10.3-1-default",
					     "6.18.44", "7.0.0-rc1", "10.1"};

	(void)state;
	for (size_t i = 0; i < sizeof(steady) / sizeof(steady[0]); i++)
		assert_true(dir_tmpfs_is_steady(steady[i]));
}

static void tmpfs__is_not_steady_before(void **state)
{
	static const char *const unsteady[] = {
		"6.5.13", "6.5", "6.1.0-18-amd64", "5.14.0-427.el9.x86_64", "5.6", "4.18.0",
		"6",	  "",	 "linux"};

	(void)state;
	for (size_t i = 0; i < sizeof(unsteady) / sizeof(unsteady[0]); i++)
		assert_false(dir_tmpfs_is_steady(unsteady[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tmpfs__is_steady_from_6_6),
		cmocka_unit_test(tmpfs__is_not_steady_before),
	};

	return cmocka_run_group_tests_name("dir_offsets", tests, NULL, NULL);
}
