/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges histograms, and computes their quantiles and means. */
#include "histogram.h"

#include <string.h>

void histogram_init(struct weir_histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min = UINT64_MAX;
}

void histogram_merge(struct weir_histogram *into, const struct weir_histogram *from)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
}

uint64_t histogram_count(const struct weir_histogram *histogram)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		count += histogram->buckets[i];
	return count;
}

uint64_t histogram_min(const struct weir_histogram *histogram)
{
	return histogram->min == UINT64_MAX && histogram->max == 0 ? 0 : histogram->min;
}

uint64_t histogram_low(uint32_t i)
{
	const uint32_t sub = 1u << HISTOGRAM_SUB_BITS;

	if (i < sub)
		return i;
	return (uint64_t)((i & (sub - 1)) + sub) << ((i >> HISTOGRAM_SUB_BITS) - 1);
}

uint64_t histogram_high(uint32_t i)
{
	return i + 1 < HISTOGRAM_BUCKETS ? histogram_low(i + 1) - 1 : UINT64_MAX;
}

static uint64_t bucket_middle(uint32_t i)
{
	return histogram_low(i) + (histogram_high(i) - histogram_low(i)) / 2;
}

double histogram_mean(const struct weir_histogram *histogram)
{
	uint64_t count = histogram_count(histogram);

	return count ? (double)histogram->sum / (double)count : 0;
}

/* Returns how many of 'count' values, from the smallest on, are 'fraction' of them. It is 1 to
 * 'count', whatever 'fraction' is. */
static uint64_t rank_of(double fraction, uint64_t count)
{
	double part = fraction * (double)count;
	uint64_t rank;

	if (!(part > 1))
		return 1;
	if (part >= (double)count)
		return count;
	rank = (uint64_t)part;
	return (double)rank < part ? rank + 1 : rank;
}

uint64_t histogram_quantile(const struct weir_histogram *histogram, double fraction)
{
	uint64_t count = histogram_count(histogram), seen = 0, rank, value;
	uint32_t i;

	if (count == 0)
		return 0;
	rank = rank_of(fraction, count);
	for (i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank)
			break;
	}
	value = bucket_middle(i);
	value = value < histogram->min ? histogram->min : value;
	return value > histogram->max ? histogram->max : value;
}
