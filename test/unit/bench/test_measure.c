/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the calculations of weir-bench: ranges, times, thresholds, steady rates, and throughput
 * over time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu.h"
#include "metric.h"
#include "number.h"
#include "poll_timer.h"
#include "range.h"
#include "series.h"
#include "steady.h"

static void expect_range(const char *text, uint64_t kilo, uint32_t n, const uint64_t *values)
{
	struct bench_range range;

	assert_int_equal(option_range("size", text, 0, 1u << 20, kilo, &range), 0);
	assert_int_equal(range.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(range.values[i], values[i]);
}

static void range__values_lists_and_steps(void **state)
{
	(void)state;
	expect_range("7", 1024, 1, (const uint64_t[]){7});
	expect_range("0", 1024, 1, (const uint64_t[]){0});
	expect_range("4k,1,2K", 1024, 3, (const uint64_t[]){4096, 1, 2048});
	expect_range("512:4k:x2", 1024, 4, (const uint64_t[]){512, 1024, 2048, 4096});
	expect_range("1:10:x3", 1024, 3, (const uint64_t[]){1, 3, 9});
	expect_range("1k:4k:+1500", 1000, 3, (const uint64_t[]){1000, 2500, 4000});
	expect_range("0:10:+5", 1000, 3, (const uint64_t[]){0, 5, 10});
	expect_range("5:5:x2", 1024, 1, (const uint64_t[]){5});
}

static void range__mistakes_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",	    "x",
		"-1",	    "1,",
		",1",	    "1:2",
		"1:2:",	    "1:2:3",
		"1:2:x1",   "1:2:x0",
		"1:2:+0",   "2:1:x2",
		"0:8:x2",   "1:2:x2z",
		"1:2m:x2",  "2m",
		"1:100:+1", "1;2",
		"1q",	    " 1",
		"1:9:x-2",  "99999999999999999999",
		"1:2:x2,3", "20000000000g",
	};
	struct bench_range range;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(option_range("size", wrong[i], 0, 1u << 20, 1024, &range), -1);
}

static void range__the_last_step_does_not_wrap(void **state)
{
	struct bench_range range;

	(void)state;
	assert_int_equal(option_range("n", "1:18446744073709551615:x4294967296", 0, UINT64_MAX,
				      1024, &range),
			 0);
	assert_int_equal(range.n, 2);
	assert_int_equal(option_range("n", "1:18446744073709551615:+18446744073709551614", 0,
				      UINT64_MAX, 1024, &range),
			 0);
	assert_int_equal(range.n, 2);
}

static void time__needs_a_unit(void **state)
{
	uint64_t ns = 0;

	(void)state;
	assert_int_equal(option_time("think", "2.5us", &ns), 0);
	assert_int_equal(ns, 2500);
	assert_int_equal(option_time("think", "1s", &ns), 0);
	assert_int_equal(ns, 1000000000);
	assert_int_equal(option_time("think", "5", &ns), -1);
	assert_int_equal(option_time("think", "us", &ns), -1);
	assert_int_equal(option_time("think", "-1us", &ns), -1);
	assert_int_equal(option_time("think", "0ns", &ns), -1);
	assert_int_equal(option_time("think", "nanns", &ns), -1);
	assert_int_equal(option_time("think", "1e9s", &ns), -1);
}

static void threshold__limits_and_units(void **state)
{
	struct bench_threshold t;

	(void)state;
	assert_int_equal(option_threshold("threshold", "p99<5us", &t), 0);
	assert_int_equal(t.metric, METRIC_P99);
	assert_true(bench_threshold_holds(&t, 4999));
	assert_false(bench_threshold_holds(&t, 5000));
	assert_int_equal(option_threshold("threshold", "p9999<=1.5ms", &t), 0);
	assert_int_equal(t.metric, METRIC_P9999);
	assert_true(bench_threshold_holds(&t, 1500000));
	assert_false(bench_threshold_holds(&t, 1500001));
	assert_int_equal(option_threshold("threshold", "rate>500k", &t), 0);
	assert_int_equal(t.metric, METRIC_RATE);
	assert_false(bench_threshold_holds(&t, 500000));
	assert_true(bench_threshold_holds(&t, 500001));
	assert_int_equal(option_threshold("threshold", "bandwidth>=10GB/s", &t), 0);
	assert_true(bench_threshold_holds(&t, 1e10));
	assert_int_equal(option_threshold("threshold", "rate>=0.5MRPC/s", &t), 0);
	assert_true(bench_threshold_holds(&t, 500000));
}

static void threshold__mistakes_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",	    "p99",	 "p99<",     "p99<5",	"p98<5us",	    "p9<5us",
		"<5us",	    "p99=5us",	 "rate<5us", "rate>5x", "bandwidth>1RPC/s", "p99<nanus",
		"p99<-1us", "rate>1e30", "p99<<5us"};
	struct bench_threshold t;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(option_threshold("threshold", wrong[i], &t), -1);
}

static void figures__median_and_spread(void **state)
{
	static const double rates[] = {30, 10, 20, 60};
	struct bench_figures runs[4] = {0};
	struct bench_spread spread;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		runs[i].values[METRIC_RATE] = rates[i];
	spread = bench_figures_spread(runs, 4, METRIC_RATE);
	assert_true(spread.median == 25 && spread.min == 10 && spread.max == 60);
	spread = bench_figures_spread(runs, 3, METRIC_RATE);
	assert_true(spread.median == 20 && spread.min == 10 && spread.max == 30);
}

static void steady__is_reached_when_the_latest_lie_together(void **state)
{
	static const double rates[] = {10, 50, 90, 100, 101, 99, 100};
	struct steady steady;

	(void)state;
	steady_init(&steady, 0.05);
	assert_true(steady_spread(&steady) == 1);
	for (uint32_t i = 0; i < 7; i++)
		assert_false(steady_add(&steady, rates[i]));
	assert_true(steady_add(&steady, 100)); /* the window contains 100 101 99 100 100 */
	assert_true(steady_spread(&steady) <= 0.021);
	assert_false(steady_add(&steady, 120));
}

static void steady__nothing_at_all_is_not_steady(void **state)
{
	struct steady steady;

	(void)state;
	steady_init(&steady, 0.5);
	for (uint32_t i = 0; i < 3 * STEADY_RATES; i++)
		assert_false(steady_add(&steady, 0));
}

static void series__intervals_double_when_there_are_many(void **state)
{
	struct series series;
	uint64_t sum = 0;

	(void)state;
	series_init(&series);
	for (uint32_t i = 0; i < SERIES_MAX; i++)
		series_add(&series, 3);
	assert_int_equal(series.n, SERIES_MAX / 2);
	assert_int_equal(series.interval_ns, 2 * SERIES_INTERVAL_NS);
	for (uint32_t i = 0; i < series.n; i++)
		sum += series.counts[i];
	assert_int_equal(sum, 3 * SERIES_MAX);
}

static void series__of_several_threads_add_up(void **state)
{
	struct series all, a, b;

	(void)state;
	series_init(&all);
	series_init(&a);
	series_init(&b);
	for (uint32_t i = 0; i < SERIES_MAX; i++)
		series_add(&a, 1); /* doubles the interval when the series is full */
	for (uint32_t i = 0; i < 5; i++)
		series_add(&b, 10);
	series_merge(&all, &a);
	assert_int_equal(all.interval_ns, 2 * SERIES_INTERVAL_NS);
	assert_int_equal(all.n, SERIES_MAX / 2);
	series_merge(&all, &b);
	assert_int_equal(all.n, 2);
	assert_int_equal(all.counts[0], 22);
	series_init(&all);
	series_merge(&all, &b);
	series_merge(&all, &a);
	assert_int_equal(all.interval_ns, 2 * SERIES_INTERVAL_NS);
	assert_int_equal(all.counts[1], 22);
}

static void cpu__instructions_are_known_only_of_all(void **state)
{
	const struct bench_cpu counted = {
		.busy_ticks = 1, .total_ticks = 4, .instructions = 9, .threads = 1, .counted = 1};
	const struct bench_cpu blind = {.busy_ticks = 3, .total_ticks = 4, .threads = 1};
	struct bench_cpu sum = {0};

	(void)state;
	assert_false(bench_cpu_has_instructions(&sum));
	assert_true(bench_cpu_busy_ratio(&sum) == 0);
	bench_cpu_add(&sum, &counted);
	assert_true(bench_cpu_has_instructions(&sum));
	bench_cpu_add(&sum, &blind);
	assert_false(bench_cpu_has_instructions(&sum));
	assert_true(bench_cpu_busy_ratio(&sum) == 0.5);
}

/*
 * Ends a poll that did 'work' units of work, at the time 'at'. Returns true if the timer read the
 * clock.
 */
static bool poll_ends(struct bench_poll_timer *timer, uint32_t work, uint64_t at)
{
	timer->work = work;
	if (!bench_poll_timer_look(timer))
		return false;
	bench_poll_timer_at(timer, at);
	return true;
}

static void poll_timer__one_idle_in_four_looks_and_each_busy_one(void **state)
{
	struct bench_poll_timer timer;

	(void)state;
	bench_poll_timer_init(&timer, false);
	bench_poll_timer_resume(&timer, 1000);
	for (uint64_t at = 1010; at < 1040; at += 10)
		assert_false(poll_ends(&timer, 0, at));
	assert_int_equal(timer.now_ticks, 1000);
	assert_true(poll_ends(&timer, 0, 1040));
	assert_int_equal(timer.now_ticks, 1040);
	assert_true(poll_ends(&timer, 1, 1140));
	assert_true(poll_ends(&timer, 2, 1200));
	assert_int_equal(timer.busy_ticks, 160);
	assert_false(poll_ends(&timer, 0, 1210));
}

static void poll_timer__idle_ones_before_a_busy_one_are_not_its_time(void **state)
{
	struct bench_poll_timer timer;

	(void)state;
	bench_poll_timer_init(&timer, false);
	bench_poll_timer_resume(&timer, 0);
	/* While no empty poll has been measured, the time of empty polls counts as busy time. */
	assert_false(poll_ends(&timer, 0, 10));
	assert_true(poll_ends(&timer, 1, 110));
	assert_int_equal(timer.busy_ticks, 110);
	for (uint64_t at = 120; at <= 150; at += 10)
		poll_ends(&timer, 0, at);
	/*
	 * A few empty polls that took long, because another process had the CPU, do not change the
	 * estimate.
	 */
	for (uint64_t at = 1000; at <= 4000; at += 1000)
		poll_ends(&timer, 0, at);
	assert_int_equal(timer.now_ticks, 4000);
	poll_ends(&timer, 0, 4010);
	poll_ends(&timer, 0, 4020);
	poll_ends(&timer, 0, 4030);
	assert_true(poll_ends(&timer, 1, 4130));
	assert_int_equal(timer.busy_ticks, 110 + 100);
	/*
	 * A clock with coarse steps can report less time than the empty polls are estimated to have
	 * taken.
	 */
	poll_ends(&timer, 0, 4140);
	assert_true(poll_ends(&timer, 1, 4132));
	assert_int_equal(timer.busy_ticks, 110 + 100);
}

static void poll_timer__each_looks_where_one_may_sleep_and_time_elsewhere_is_no_polls(void **state)
{
	struct bench_poll_timer timer;

	(void)state;
	bench_poll_timer_init(&timer, true);
	bench_poll_timer_resume(&timer, 0);
	assert_true(poll_ends(&timer, 0, 50000));
	assert_true(poll_ends(&timer, 1, 50100));
	assert_int_equal(timer.busy_ticks, 100);
	bench_poll_timer_resume(&timer, 90000);
	assert_true(poll_ends(&timer, 1, 90100));
	assert_int_equal(timer.busy_ticks, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range__values_lists_and_steps),
		cmocka_unit_test(range__mistakes_are_refused),
		cmocka_unit_test(range__the_last_step_does_not_wrap),
		cmocka_unit_test(time__needs_a_unit),
		cmocka_unit_test(threshold__limits_and_units),
		cmocka_unit_test(threshold__mistakes_are_refused),
		cmocka_unit_test(figures__median_and_spread),
		cmocka_unit_test(steady__is_reached_when_the_latest_lie_together),
		cmocka_unit_test(steady__nothing_at_all_is_not_steady),
		cmocka_unit_test(series__intervals_double_when_there_are_many),
		cmocka_unit_test(series__of_several_threads_add_up),
		cmocka_unit_test(cpu__instructions_are_known_only_of_all),
		cmocka_unit_test(poll_timer__one_idle_in_four_looks_and_each_busy_one),
		cmocka_unit_test(poll_timer__idle_ones_before_a_busy_one_are_not_its_time),
		cmocka_unit_test(
			poll_timer__each_looks_where_one_may_sleep_and_time_elsewhere_is_no_polls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
