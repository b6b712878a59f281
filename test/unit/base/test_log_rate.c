/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the limit on log lines that a peer can cause: a number of lines in each second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log_rate.h"

#define BEGIN_NS 5000000000u

/* Writes all lines that are allowed in the window that begins at now_ns. */
static void use_up(struct log_rate *rate, uint64_t now_ns)
{
	uint32_t left_out;

	for (uint32_t i = 0; i < LOG_RATE_LINES; i++) {
		assert_true(log_rate_take(rate, now_ns, &left_out));
		assert_int_equal(left_out, 0);
	}
}

static void log_rate__a_window_has_a_few_lines(void **state)
{
	struct log_rate rate = {0};
	uint32_t left_out = 0;

	(void)state;
	use_up(&rate, BEGIN_NS);
	assert_false(log_rate_take(&rate, BEGIN_NS, &left_out));
	assert_false(log_rate_take(&rate, BEGIN_NS + LOG_RATE_WINDOW_NS - 1, &left_out));
}

static void log_rate__the_next_window_tells_how_many_were_left_out(void **state)
{
	struct log_rate rate = {0};
	uint32_t left_out = 0;

	(void)state;
	use_up(&rate, BEGIN_NS);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(log_rate_take(&rate, BEGIN_NS + i, &left_out));
	assert_true(log_rate_take(&rate, BEGIN_NS + LOG_RATE_WINDOW_NS, &left_out));
	assert_int_equal(left_out, 3);
	assert_true(log_rate_take(&rate, BEGIN_NS + LOG_RATE_WINDOW_NS, &left_out));
	assert_int_equal(left_out, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_rate__a_window_has_a_few_lines),
		cmocka_unit_test(log_rate__the_next_window_tells_how_many_were_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
