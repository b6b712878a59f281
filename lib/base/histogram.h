/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

/*
 * A log-linear histogram of 64-bit values, such as times in ns. Values below 64 have a bucket each.
 * Each power of two above them is divided into 64 buckets of the same size, up to the largest
 * 64-bit value. Therefore a bucket is at most 1/64 (1.6 %) as wide as the smallest value in it, and
 * no value is too large.
 *
 * The number of values is not stored. It is the sum of the buckets, so that a value costs a few
 * instructions less.
 */

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 6u
#define HISTOGRAM_BUCKETS  ((64u - HISTOGRAM_SUB_BITS + 1u) << HISTOGRAM_SUB_BITS)

struct weir_histogram {
	uint64_t min; /* UINT64_MAX: there are no values */
	uint64_t max;
	uint64_t sum; /* wraps */
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Returns the bucket of a value. The code has no branch: values below 64 are treated like those of
 * the first power of two that is divided, because both have buckets of the size 1. */
static inline uint32_t histogram_index(uint64_t value)
{
	uint32_t log2 = 63u - (uint32_t)__builtin_clzll(value | 1u << HISTOGRAM_SUB_BITS);
	uint32_t shift = log2 - HISTOGRAM_SUB_BITS;

	return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(value >> shift);
}

/* Adds 'n' values that are all 'value'. 'n' must not be 0. */
static inline void histogram_add_n(struct weir_histogram *histogram, uint64_t value, uint64_t n)
{
	histogram->buckets[histogram_index(value)] += n;
	histogram->sum += value * n;
	if (value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
}

static inline void histogram_add(struct weir_histogram *histogram, uint64_t value)
{
	histogram_add_n(histogram, value, 1);
}

/* Removes all values. */
void histogram_init(struct weir_histogram *histogram);
/* Adds all values of 'from' to 'into'. The result is that of adding each of the values. */
void histogram_merge(struct weir_histogram *into, const struct weir_histogram *from);
/* Returns the number of values. */
uint64_t histogram_count(const struct weir_histogram *histogram);
/* Returns the smallest value, or 0 if there are no values. */
uint64_t histogram_min(const struct weir_histogram *histogram);

/* Returns the value that 'fraction' (0 to 1) of the values do not exceed. It is the middle of its
 * bucket, limited to min and max. Returns 0 if there are no values. */
uint64_t histogram_quantile(const struct weir_histogram *histogram, double fraction);

/* Returns the mean of the values, or 0 if there are no values. */
double histogram_mean(const struct weir_histogram *histogram);

/* Returns the smallest and the largest value that belong to bucket 'i'. */
uint64_t histogram_low(uint32_t i);
uint64_t histogram_high(uint32_t i);

#endif
