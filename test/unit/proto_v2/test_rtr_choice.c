/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the cost of each way to send a call by the model, and of the choice between the ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rtr_choice.h"

static const struct rtr_costs costs = {
	.round_trip_ns = 3000, .operation_ns = 600, .message_ns = 250, .copy_ns = 40};
static const struct rtr_load one = {.bytes = 200, .count = 1};

static struct rtr_load of(uint64_t bytes, uint32_t count)
{
	return (struct rtr_load){bytes, count, 1};
}

static void explicit__a_read_costs_a_round_trip_more_than_a_write(void **state)
{
	struct rtr_load load = of(16384, 5);

	(void)state;
	assert_int_equal(rtr_cost_explicit(&costs, &one, &one), 0);
	assert_int_equal(rtr_cost_explicit(&costs, &load, &one), 3 * 600 + 3000);
	assert_int_equal(rtr_cost_explicit(&costs, &one, &load), 3 * 600);
	assert_int_equal(rtr_cost_explicit(&costs, &load, &load), 6 * 600 + 3000);
}

/*
 * Checks several chunks. They cost one round trip, because all of them are read at the same time.
 */
static void explicit__of_several_chunks(void **state)
{
	struct rtr_load load = of(16384, 5);

	(void)state;
	load.nchunks = 3;
	assert_int_equal(rtr_cost_explicit(&costs, &load, &one), 9 * 600 + 3000);
	assert_int_equal(rtr_cost_explicit(&costs, &one, &load), 9 * 600);
}

static void continued__further_messages_and_copies(void **state)
{
	struct rtr_load load = of(16384, 5);

	(void)state;
	assert_int_equal(rtr_cost_continued(&costs, &one, &one), 0);
	assert_int_equal(rtr_cost_continued(&costs, &load, &one), 4 * 250 + 16 * 40);
	assert_int_equal(rtr_cost_continued(&costs, &load, &load), 2 * (4 * 250 + 16 * 40));
}

static void choice__where_nothing_costs_it_is_the_extension(void **state)
{
	static const struct rtr_costs none;
	struct rtr_load load = of(65536, 16);

	(void)state;
	assert_true(rtr_choose_continued(&none, &load, &load));
}

/*
 * Checks that each way is chosen for some sizes: long calls save a round trip, and replies save
 * only operations.
 */
static void choice__explicit_rdma_wins_again(void **state)
{
	struct rtr_load load;
	uint32_t call_max = 0, reply_max = 0;

	(void)state;
	for (uint32_t n = 2; n <= 64; n++) {
		load = of(n * 4096, n + 1);
		if (rtr_choose_continued(&costs, &load, &one))
			call_max = n;
		if (rtr_choose_continued(&costs, &one, &load))
			reply_max = n;
	}
	assert_int_equal(call_max, 11);
	assert_int_equal(reply_max, 4);
}

static void placed__results_that_are_cheaper_to_copy_than_to_write(void **state)
{
	static const struct rtr_costs none, copies = {.copy_ns = 1},
					    large = {.operation_ns = UINT32_MAX, .copy_ns = 1};

	(void)state;
	assert_int_equal(rtr_place_max(&costs), 3 * 600 * 1024 / 40);
	assert_int_equal(rtr_place_max(&none), UINT32_MAX);
	assert_int_equal(rtr_place_max(&copies), 0);
	assert_int_equal(rtr_place_max(&large), UINT32_MAX);
}

static void choice__of_large_costs_and_loads(void **state)
{
	const struct rtr_costs large = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct rtr_load load = of(1ull << 30, 16);

	(void)state;
	assert_false(rtr_choose_continued(&large, &load, &load));
	assert_int_equal(rtr_cost_continued(&large, &load, &one), (15 + (1ull << 20)) * UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explicit__a_read_costs_a_round_trip_more_than_a_write),
		cmocka_unit_test(explicit__of_several_chunks),
		cmocka_unit_test(continued__further_messages_and_copies),
		cmocka_unit_test(choice__where_nothing_costs_it_is_the_extension),
		cmocka_unit_test(choice__explicit_rdma_wins_again),
		cmocka_unit_test(placed__results_that_are_cheaper_to_copy_than_to_write),
		cmocka_unit_test(choice__of_large_costs_and_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
