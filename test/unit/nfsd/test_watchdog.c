/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the decision to tell the service manager that the server works. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watchdog.h"

#define SECOND	1000000000ull
#define TIMEOUT (4 * SECOND) /* a look each second */

static void look__at_a_quarter_of_the_time(void **state)
{
	struct watchdog watchdog;
	const uint64_t polls[] = {1}, later[] = {2};

	(void)state;
	watchdog_init(&watchdog, TIMEOUT, 10 * SECOND);
	assert_int_equal(watchdog_wait_ms(&watchdog, 10 * SECOND), 1000);
	assert_int_equal(watchdog_wait_ms(&watchdog, 11 * SECOND - 1), 1);
	assert_int_equal(watchdog_wait_ms(&watchdog, 11 * SECOND), 0);
	assert_int_equal(watchdog_wait_ms(&watchdog, 12 * SECOND), 0);
	assert_false(watchdog_look(&watchdog, polls, 1, 11 * SECOND - 1));
	assert_true(watchdog_look(&watchdog, polls, 1, 11 * SECOND));
	assert_false(watchdog_look(&watchdog, later, 1, 11 * SECOND + 1));
	assert_int_equal(watchdog_wait_ms(&watchdog, 11 * SECOND), 1000);
	assert_true(watchdog_look(&watchdog, later, 1, 12 * SECOND));
}

static void look__finds_a_thread_that_hangs(void **state)
{
	uint64_t polls[] = {5, 6, 7};
	struct watchdog watchdog;

	(void)state;
	watchdog_init(&watchdog, TIMEOUT, 0);
	assert_true(watchdog_look(&watchdog, polls, 3, SECOND));
	for (uint64_t i = 2; i < 20; i++) {
		polls[0]++;
		polls[2]++;
		assert_false(watchdog_look(&watchdog, polls, 3, i * SECOND));
	}
	/* The thread polls again. */
	polls[1]++;
	assert_true(watchdog_look(&watchdog, polls, 3, 20 * SECOND));
	assert_false(watchdog_look(&watchdog, polls, 3, 21 * SECOND));
}

static void look__finds_a_thread_that_never_polled(void **state)
{
	const uint64_t polls[] = {1, 0};
	struct watchdog watchdog;

	(void)state;
	watchdog_init(&watchdog, TIMEOUT, 0);
	assert_false(watchdog_look(&watchdog, polls, 2, SECOND));
}

/* Threads may poll at different times, as long as each has polled since the last message. */
static void look__counts_from_the_last_message(void **state)
{
	uint64_t polls[] = {1, 1};
	struct watchdog watchdog;

	(void)state;
	watchdog_init(&watchdog, TIMEOUT, 0);
	assert_true(watchdog_look(&watchdog, polls, 2, SECOND));
	polls[0]++;
	assert_false(watchdog_look(&watchdog, polls, 2, 2 * SECOND));
	polls[1]++;
	assert_true(watchdog_look(&watchdog, polls, 2, 3 * SECOND));
}

static void look__never_without_a_watchdog(void **state)
{
	const uint64_t polls[] = {1};
	struct watchdog watchdog;

	(void)state;
	watchdog_init(&watchdog, 0, 0);
	assert_int_equal(watchdog_wait_ms(&watchdog, 0), -1);
	assert_false(watchdog_look(&watchdog, polls, 1, UINT64_MAX));
}

static void wait_ms__has_a_limit(void **state)
{
	struct watchdog watchdog;

	(void)state;
	watchdog_init(&watchdog, UINT64_MAX, 0);
	assert_int_equal(watchdog_wait_ms(&watchdog, 0), INT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(look__at_a_quarter_of_the_time),
		cmocka_unit_test(look__finds_a_thread_that_hangs),
		cmocka_unit_test(look__finds_a_thread_that_never_polled),
		cmocka_unit_test(look__counts_from_the_last_message),
		cmocka_unit_test(look__never_without_a_watchdog),
		cmocka_unit_test(wait_ms__has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
