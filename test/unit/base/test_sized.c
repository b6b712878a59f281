/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of structures that can get more members: the library fills them in, or reads them, for
 * applications that were built with older or newer headers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sized_why.h"

#define GUARD 0x5a

struct own {
	size_t struct_bytes;
	uint64_t first, second;
};

/* The structure of an application that was built with newer headers. */
struct newer {
	struct own own;
	uint64_t third;
};

/* In the first version, the structure ended with 'first'. */
static const struct sized_type type = SIZED_TYPE(own, first);
static char why[SIZED_WHY_BYTES];

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
	struct newer theirs = {.own.struct_bytes = sizeof(theirs), .third = 7};

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

static void read__same_size_gets_all(void **state)
{
	const struct own theirs = {.struct_bytes = sizeof(theirs), .first = 7, .second = 8};
	struct own copy;

	(void)state;
	memset(&copy, GUARD, sizeof(copy));
	assert_int_equal(sized_read_why(&type, &copy, &theirs, why), 0);
	assert_memory_equal(&copy, &theirs, sizeof(copy));
}

static void read__older_application_gives_zeros_for_what_it_lacks(void **state)
{
	struct own theirs = {.struct_bytes = offsetof(struct own, second), .first = 7};
	struct own copy;

	(void)state;
	theirs.second = GUARD; /* this is not part of the application's structure */
	memset(&copy, GUARD, sizeof(copy));
	assert_int_equal(sized_read_why(&type, &copy, &theirs, why), 0);
	assert_int_equal(copy.struct_bytes, sizeof(copy));
	assert_int_equal(copy.first, 7);
	assert_int_equal(copy.second, 0);
}

static void read__newer_application_with_zeros(void **state)
{
	const struct newer theirs = {.own = {.struct_bytes = sizeof(theirs), .second = 8}};
	struct own copy;

	(void)state;
	assert_int_equal(sized_read_why(&type, &copy, &theirs, why), 0);
	assert_int_equal(copy.struct_bytes, sizeof(copy));
	assert_int_equal(copy.second, 8);
}

static void read__newer_application_sets_what_is_not_known(void **state)
{
	struct newer theirs = {.own = {.struct_bytes = sizeof(theirs)}};
	struct own copy;

	(void)state;
	for (size_t i = 0; i < sizeof(theirs.third); i++) {
		theirs.third = UINT64_C(1) << (8 * i);
		assert_int_equal(sized_read_why(&type, &copy, &theirs, why), -E2BIG);
		assert_non_null(strstr(why, "own.struct_bytes is 32"));
		assert_non_null(strstr(why, "knows the first 24 bytes"));
		assert_non_null(strstr(why, "set them to 0, or install the version of libweir"));
	}
}

static void read__a_size_of_no_version(void **state)
{
	const size_t sizes[] = {0,	 1, sizeof(size_t), sizeof(size_t) + 7, SIZED_BYTES_MAX + 1,
				SIZE_MAX};
	struct own copy;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct own theirs = {.struct_bytes = sizes[i]};

		memset(&copy, GUARD, sizeof(copy));
		assert_int_equal(sized_read_why(&type, &copy, &theirs, why), -EINVAL);
		assert_non_null(strstr(why, "own.struct_bytes is "));
		assert_non_null(strstr(why, "set struct_bytes to sizeof(struct own)"));
		assert_int_equal(*(uint8_t *)&copy, GUARD); /* nothing was copied */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill__older_application_keeps_what_lies_behind),
		cmocka_unit_test(fill__same_size_gets_all),
		cmocka_unit_test(fill__newer_application_gets_zeros_for_what_is_not_known),
		cmocka_unit_test(fill__writes_nothing_without_a_size),
		cmocka_unit_test(read__same_size_gets_all),
		cmocka_unit_test(read__older_application_gives_zeros_for_what_it_lacks),
		cmocka_unit_test(read__newer_application_with_zeros),
		cmocka_unit_test(read__newer_application_sets_what_is_not_known),
		cmocka_unit_test(read__a_size_of_no_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
