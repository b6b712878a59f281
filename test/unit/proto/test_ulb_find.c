/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests of finding a procedure in an upper-layer binding. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <weir/binding.h>

static const struct weir_ulb_proc procs[] = {
	{.proc = 6, .arg_items_max = 0, .result_items_max = 1},
	{.proc = 7, .arg_items_max = 1, .result_items_max = 0},
};

static const struct weir_ulb ulb = {.struct_bytes = sizeof(ulb),
				    .name = "test",
				    .prog = 100003,
				    .vers_low = 3,
				    .vers_high = 3,
				    .procs = procs,
				    .nprocs = 2};

static void ulb_find__listed_procedure(void **state)
{
	(void)state;
	assert_ptr_equal(weir_ulb_find(&ulb, 6), &procs[0]);
	assert_ptr_equal(weir_ulb_find(&ulb, 7), &procs[1]);
}

/*
 * Checks that items which the binding does not name are not DDP-eligible (RFC 8166 section 3.4.2).
 */
static void ulb_find__3_4_2_unlisted_procedure_has_no_eligible_items(void **state)
{
	static const struct weir_ulb empty = {
		.struct_bytes = sizeof(empty), .name = "empty", .prog = 1};

	(void)state;
	assert_int_equal(weir_ulb_find(&ulb, 0)->arg_items_max, 0);
	assert_int_equal(weir_ulb_find(&ulb, 8)->arg_items_max, 0);
	assert_int_equal(weir_ulb_find(&ulb, 8)->result_items_max, 0);
	assert_int_equal(weir_ulb_find(&empty, 6)->result_items_max, 0);
	assert_int_equal(weir_ulb_find(NULL, 6)->arg_items_max, 0);
	assert_int_equal(weir_ulb_find(NULL, 6)->result_items_max, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ulb_find__listed_procedure),
		cmocka_unit_test(ulb_find__3_4_2_unlisted_procedure_has_no_eligible_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
