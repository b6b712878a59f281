/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of histograms: the bounds of their buckets, the error of quantiles, extremes, and merging.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <weir/histogram.h>

#include "histogram.h"

#define VALUES 20000u

static struct weir_histogram *hist, *other;

static int setup(void **state)
{
	(void)state;
	hist = weir_histogram_create();
	other = weir_histogram_create();
	return hist && other ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	weir_histogram_destroy(hist);
	weir_histogram_destroy(other);
	weir_histogram_destroy(NULL);
	return 0;
}

/* Returns the next of a sequence of numbers of all magnitudes. */
static uint64_t next_value(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 8) >> (*seed % 57);
}

static void hist__buckets_cover_all_times(void **state)
{
	uint64_t expected_low = 0;

	(void)state;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		assert_true(histogram_low(i) == expected_low);
		assert_int_equal(histogram_index(histogram_low(i)), i);
		assert_int_equal(histogram_index(histogram_high(i)), i);
		expected_low = histogram_high(i) + 1;
	}
	assert_true(expected_low == 0); /* the last bucket ends with the largest value */
	histogram_add_n(hist, 100, 3);
	histogram_add(hist, 500);
	assert_int_equal(histogram_count(hist), 4);
	assert_true(histogram_mean(hist) == 200);
	assert_in_range(histogram_quantile(hist, 0.75), 100, 101);
	assert_in_range(histogram_quantile(hist, 0.76), 492, 500);
	histogram_init(hist);
	assert_true(histogram_mean(hist) == 0);
}

static void hist__no_bucket_is_wider_than_its_bound(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_low(i), wider = histogram_high(i) - low;

		assert_true(i < 64 ? wider == 0 : wider < low / 64 || wider == 0);
	}
}

static void hist__the_error_of_a_quantile_is_bounded_in_each_bucket(void **state)
{
	(void)state;
	/* The value in question is between a smaller and a larger one, so that neither limits the
	 * quantile. */
	for (uint32_t i = 1; i + 1 < HISTOGRAM_BUCKETS; i++) {
		const uint64_t ends[] = {histogram_low(i), histogram_high(i)};

		for (uint32_t k = 0; k < 2; k++) {
			uint64_t got, error;

			histogram_init(hist);
			hist->buckets[0] = hist->buckets[HISTOGRAM_BUCKETS - 1] = 1;
			hist->min = 0;
			hist->max = UINT64_MAX;
			histogram_add(hist, ends[k]);
			got = weir_histogram_quantile(hist, 0.5);
			error = got < ends[k] ? ends[k] - got : got - ends[k];
			assert_true(error <= ends[k] / 128);
		}
	}
}

static void hist__extremes(void **state)
{
	(void)state;
	assert_int_equal(weir_histogram_count(hist), 0);
	assert_int_equal(weir_histogram_sum(hist), 0);
	assert_int_equal(weir_histogram_min(hist), 0);
	assert_int_equal(weir_histogram_max(hist), 0);
	assert_int_equal(weir_histogram_quantile(hist, 0.5), 0);
	assert_int_equal(weir_histogram_next(hist, 0), weir_histogram_buckets());
	weir_histogram_add(hist, 0);
	assert_int_equal(weir_histogram_min(hist), 0);
	assert_int_equal(weir_histogram_max(hist), 0);
	assert_int_equal(weir_histogram_quantile(hist, 1), 0);
	weir_histogram_add(hist, UINT64_MAX);
	assert_int_equal(weir_histogram_count(hist), 2);
	assert_int_equal(weir_histogram_min(hist), 0);
	assert_true(weir_histogram_max(hist) == UINT64_MAX);
	assert_true(weir_histogram_sum(hist) == UINT64_MAX);
	weir_histogram_add(hist, 2);
	assert_true(weir_histogram_sum(hist) == 1); /* it wraps */
	assert_int_equal(weir_histogram_next(hist, 3), weir_histogram_buckets() - 1);
}

static void hist__the_largest_value_alone(void **state)
{
	(void)state;
	weir_histogram_add(hist, UINT64_MAX);
	assert_true(weir_histogram_min(hist) == UINT64_MAX);
	assert_true(weir_histogram_max(hist) == UINT64_MAX);
	assert_true(weir_histogram_quantile(hist, 0.5) == UINT64_MAX);
}

static void hist__fractions_outside_the_range_are_limited(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		weir_histogram_add(hist, i);
	assert_int_equal(weir_histogram_quantile(hist, 0), 1);
	assert_int_equal(weir_histogram_quantile(hist, -3), 1);
	assert_int_equal(weir_histogram_quantile(hist, 0.0 / 0.0), 1);
	assert_int_equal(weir_histogram_quantile(hist, 0.1), 1);
	assert_int_equal(weir_histogram_quantile(hist, 0.11), 2);
	assert_int_equal(weir_histogram_quantile(hist, 0.5), 5);
	assert_int_equal(weir_histogram_quantile(hist, 1), 10);
	assert_int_equal(weir_histogram_quantile(hist, 7), 10);
}

static void hist__a_merge_equals_adding_all_values(void **state)
{
	struct weir_histogram *all = weir_histogram_create();
	uint64_t seed = 1;

	(void)state;
	assert_non_null(all);
	for (uint32_t i = 0; i < VALUES; i++) {
		uint64_t value = next_value(&seed);

		weir_histogram_add(i % 3 ? hist : other, value);
		weir_histogram_add(all, value);
	}
	weir_histogram_merge(hist, other);
	assert_memory_equal(hist, all, sizeof(*all));
	assert_int_equal(weir_histogram_count(hist), VALUES);
	histogram_init(other);
	weir_histogram_merge(hist, other); /* one without values changes nothing */
	assert_memory_equal(hist, all, sizeof(*all));
	weir_histogram_merge(other, all);
	assert_memory_equal(other, all, sizeof(*all));
	weir_histogram_destroy(all);
}

static void hist__the_buckets_can_be_walked_through(void **state)
{
	struct weir_histogram_bucket bucket = {.struct_bytes = sizeof(bucket)};
	uint64_t seed = 7, count = 0, after = 0;

	(void)state;
	for (uint32_t i = 0; i < VALUES; i++)
		weir_histogram_add(hist, next_value(&seed));
	for (uint32_t i = weir_histogram_next(hist, 0); i < weir_histogram_buckets();
	     i = weir_histogram_next(hist, i + 1)) {
		assert_int_equal(weir_histogram_bucket(hist, i, &bucket), 0);
		assert_true(bucket.count > 0 && bucket.low >= after && bucket.high >= bucket.low);
		after = bucket.high + 1;
		count += bucket.count;
	}
	assert_int_equal(count, VALUES);
	bucket.count = 77;
	assert_int_equal(weir_histogram_bucket(hist, weir_histogram_buckets(), &bucket), -ENOENT);
	assert_int_equal(weir_histogram_bucket(hist, UINT32_MAX, &bucket), -ENOENT);
	assert_int_equal(bucket.count, 77);
	assert_int_equal(weir_histogram_next(hist, UINT32_MAX), weir_histogram_buckets());
}

#define HIST_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HIST_TEST(hist__buckets_cover_all_times),
		HIST_TEST(hist__no_bucket_is_wider_than_its_bound),
		HIST_TEST(hist__the_error_of_a_quantile_is_bounded_in_each_bucket),
		HIST_TEST(hist__extremes),
		HIST_TEST(hist__the_largest_value_alone),
		HIST_TEST(hist__fractions_outside_the_range_are_limited),
		HIST_TEST(hist__a_merge_equals_adding_all_values),
		HIST_TEST(hist__the_buckets_can_be_walked_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
