/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the version: the macros of the headers, and the functions of the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <weir/version.h>

#if !WEIR_VERSION_AT_LEAST(1, 0, 0) || !WEIR_VERSION_AT_LEAST(0, 999, 999) ||                      \
	WEIR_VERSION_AT_LEAST(WEIR_VERSION_MAJOR + 1, 0, 0) ||                                     \
	WEIR_VERSION_AT_LEAST(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR + 1, 0) ||                    \
	WEIR_VERSION_AT_LEAST(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH + 1)
#error WEIR_VERSION_AT_LEAST()
#endif

static void version__library_and_headers(void **state)
{
	char text[32];

	(void)state;
	assert_int_equal(weir_version(), WEIR_VERSION);
	assert_true(weir_version() >= WEIR_VERSION_NUMBER(1, 0, 0));
	assert_string_equal(weir_version_string(), WEIR_VERSION_STRING);
	snprintf(text, sizeof(text), "%d.%d.%d", WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR,
		 WEIR_VERSION_PATCH);
	assert_string_equal(weir_version_string(), text);
}

static void version__order_of_numbers(void **state)
{
	(void)state;
	assert_true(WEIR_VERSION_NUMBER(1, 0, 999) < WEIR_VERSION_NUMBER(1, 1, 0));
	assert_true(WEIR_VERSION_NUMBER(1, 999, 999) < WEIR_VERSION_NUMBER(2, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version__library_and_headers),
		cmocka_unit_test(version__order_of_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
