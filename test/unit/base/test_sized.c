/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of structures that can get more members: the library fills them in for applications that
 * were built with older or newer headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sized.h"

#define GUARD 0x5a

struct own {
	size_t struct_bytes;
	uint64_t first, second;
};

static const struct own own = {.first = 1, .second = 2};

static void fill__older_application_keeps_what_lies_behind(void **state)
{
	struct {
		size_t struct_bytes;
		uint64_t first;
		uint8_t behind[sizeof(uint64_t)];
	} theirs = {.struct_bytes = offsetof(struct own, second), .first = 7};

	(void)state;
	memset(theirs.behind, GUARD, sizeof(theirs.behind));
	sized_fill(&theirs, &own, sizeof(own));
	assert_int_equal(theirs.struct_bytes, offsetof(struct own, second));
	assert_int_equal(theirs.first, own.first);
	for (size_t i = 0; i < sizeof(theirs.behind); i++)
		assert_int_equal(theirs.behind[i], GUARD);
}

static void fill__same_size_gets_all(void **state)
{
	struct own theirs = {.struct_bytes = sizeof(theirs)};

	(void)state;
	sized_fill(&theirs, &own, sizeof(own));
	assert_int_equal(theirs.struct_bytes, sizeof(theirs));
	assert_int_equal(theirs.first, own.first);
	assert_int_equal(theirs.second, own.second);
}

static void fill__newer_application_gets_zeros_for_what_is_not_known(void **state)
{
	struct {
		struct own own;
		uint64_t third;
	} theirs = {.own.struct_bytes = sizeof(theirs), .third = 7};

	(void)state;
	sized_fill(&theirs, &own, sizeof(own));
	assert_int_equal(theirs.own.struct_bytes, sizeof(theirs));
	assert_int_equal(theirs.own.second, own.second);
	assert_int_equal(theirs.third, 0);
}

static void fill__writes_nothing_without_a_size(void **state)
{
	struct own theirs = {.struct_bytes = 0, .first = 7, .second = 8};

	(void)state;
	sized_fill(&theirs, &own, sizeof(own));
	assert_int_equal(theirs.struct_bytes, 0);
	assert_int_equal(theirs.first, 7);
	assert_int_equal(theirs.second, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill__older_application_keeps_what_lies_behind),
		cmocka_unit_test(fill__same_size_gets_all),
		cmocka_unit_test(fill__newer_application_gets_zeros_for_what_is_not_known),
		cmocka_unit_test(fill__writes_nothing_without_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
