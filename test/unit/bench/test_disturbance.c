/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the measurement of disturbances: what is summed, and which figures are not trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "disturbance.h"
#include "poll_timer.h"

static const char stat_text[] = "cpu  10 20 30 40 50 60 70 800 90 0\n"
				"cpu0 1 2 3 4 5 6 7 300 9 0\n"
				"cpu1 1 2 3 4 5 6 7 500 9 0\n"
				"cpu10 1 2 3 4 5 6 7 1 9 0\n"
				"intr 12345\n";

static void steal__of_one_cpu_and_of_all(void **state)
{
	(void)state;
	assert_float_equal(disturbance_steal(stat_text, -1, 100), 8, 1e-9);
	assert_float_equal(disturbance_steal(stat_text, 0, 100), 3, 1e-9);
	assert_float_equal(disturbance_steal(stat_text, 1, 1000), 0.5, 1e-9);
	assert_float_equal(disturbance_steal(stat_text, 10, 100), 0.01, 1e-9);
}

static void steal__a_text_without_it_is_none(void **state)
{
	(void)state;
	assert_float_equal(disturbance_steal(stat_text, 2, 100), 0, 1e-9);
	assert_float_equal(disturbance_steal("", -1, 100), 0, 1e-9);
	assert_float_equal(disturbance_steal("cpu  1 2 3 4 5 6 7\n", -1, 100), 0, 1e-9);
	assert_float_equal(disturbance_steal("cpu  1 2 3", -1, 100), 0, 1e-9);
}

static void judgement__each_limit(void **state)
{
	const struct {
		struct disturbance disturbance;
		const char *why; /* NULL: the figures can be trusted */
	} cases[] = {
		{{0}, NULL},
		{{.steal_ratio = 0.01, .switches_per_s = 100, .gap_ns = 10000000}, NULL},
		{{.steal_ratio = 0.025}, "the hypervisor took 2.5 %"},
		{{.switches_per_s = 101}, "101 times a second"},
		{{.gap_ns = 10100000}, "could not poll for 10.1 ms"},
	};
	char why[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_low = disturbance_is_low(&cases[i].disturbance, why, sizeof(why));

		assert_int_equal(is_low, !cases[i].why);
		if (cases[i].why)
			assert_non_null(strstr(why, cases[i].why));
	}
}

static void sum__keeps_the_worst_thread(void **state)
{
	struct disturbance sum = {0};
	const struct disturbance quiet = {.switches = 2, .has_pollers = true};
	const struct disturbance disturbed = {.steal_ratio = 0.5,
					      .switches = 40,
					      .switches_per_s = 20,
					      .gap_ns = 7,
					      .has_pollers = true};

	(void)state;
	disturbance_add(&sum, &disturbed);
	disturbance_add(&sum, &quiet);
	assert_float_equal(sum.steal_ratio, 0.5, 1e-9);
	assert_int_equal(sum.switches, 42);
	assert_float_equal(sum.switches_per_s, 20, 1e-9);
	assert_int_equal(sum.gap_ns, 7);
	assert_true(sum.has_pollers);
}

/* sched_yield(2) counts as an involuntary switch. Only a thread that polls is judged by them. */
static void thread__switches_count_unless_it_pauses(void **state)
{
	struct disturbance_begin begin;
	struct disturbance polls, pauses;
	cpu_set_t before, one;
	pid_t child;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	disturbance_begin(&begin);
	assert_true(begin.cpu >= 0);
	assert_int_equal(begin.ncpus, 1);
	child = fork(); /* another task of the same CPU, to which sched_yield() switches */
	assert_true(child >= 0);
	for (int i = 0; i < 1000; i++)
		sched_yield();
	if (child == 0)
		_exit(0);
	polls = disturbance_end(&begin, 2, 55, false);
	pauses = disturbance_end(&begin, 2, 55, true);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_true(polls.has_pollers && polls.switches > 0);
	assert_float_equal(polls.switches_per_s, (double)polls.switches / 2, 1e-9);
	assert_int_equal(polls.gap_ns, 55);
	assert_true(!pauses.has_pollers && pauses.switches == 0 && pauses.gap_ns == 0);
}

/* The gap is the longest time between two readings, whether the rounds found work or not. */
static void poll_timer__keeps_the_longest_gap(void **state)
{
	struct bench_poll_timer timer;

	(void)state;
	bench_poll_timer_init(&timer, true);
	bench_poll_timer_resume(&timer, 100);
	bench_poll_timer_at(&timer, 130);
	timer.work = 1;
	bench_poll_timer_at(&timer, 1130);
	bench_poll_timer_at(&timer, 1140);
	assert_int_equal(timer.gap_ticks, 1000);
	bench_poll_timer_resume(&timer, 9000); /* time outside of the loop is no gap */
	bench_poll_timer_at(&timer, 9010);
	assert_int_equal(timer.gap_ticks, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steal__of_one_cpu_and_of_all),
		cmocka_unit_test(steal__a_text_without_it_is_none),
		cmocka_unit_test(judgement__each_limit),
		cmocka_unit_test(sum__keeps_the_worst_thread),
		cmocka_unit_test(thread__switches_count_unless_it_pauses),
		cmocka_unit_test(poll_timer__keeps_the_longest_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
