/* SPDX-License-Identifier: BSD-3-Clause */
/* The histograms of applications: weir/histogram.h. lib/base/histogram.[ch] computes them. */
#include <errno.h>

#include <weir/histogram.h>

#include "alloc.h"
#include "histogram.h"
#include "sized.h"

struct weir_histogram *weir_histogram_create(void)
{
	struct weir_histogram *histogram = mem_zalloc(sizeof(*histogram));

	if (histogram)
		histogram_init(histogram);
	return histogram;
}

void weir_histogram_destroy(struct weir_histogram *histogram)
{
	mem_free(histogram);
}

void weir_histogram_add(struct weir_histogram *histogram, uint64_t value)
{
	histogram_add(histogram, value);
}

void weir_histogram_merge(struct weir_histogram *into, const struct weir_histogram *from)
{
	histogram_merge(into, from);
}

uint64_t weir_histogram_count(const struct weir_histogram *histogram)
{
	return histogram_count(histogram);
}

uint64_t weir_histogram_sum(const struct weir_histogram *histogram)
{
	return histogram->sum;
}

uint64_t weir_histogram_min(const struct weir_histogram *histogram)
{
	return histogram_min(histogram);
}

uint64_t weir_histogram_max(const struct weir_histogram *histogram)
{
	return histogram->max;
}

uint64_t weir_histogram_quantile(const struct weir_histogram *histogram, double fraction)
{
	return histogram_quantile(histogram, fraction);
}

uint32_t weir_histogram_buckets(void)
{
	return HISTOGRAM_BUCKETS;
}

uint32_t weir_histogram_next(const struct weir_histogram *histogram, uint32_t index)
{
	while (index < HISTOGRAM_BUCKETS && histogram->buckets[index] == 0)
		index++;
	return index < HISTOGRAM_BUCKETS ? index : HISTOGRAM_BUCKETS;
}

int weir_histogram_bucket(const struct weir_histogram *histogram, uint32_t index,
			  struct weir_histogram_bucket *bucket)
{
	struct weir_histogram_bucket own;

	if (index >= HISTOGRAM_BUCKETS)
		return -ENOENT;
	own = (struct weir_histogram_bucket){
		.low = histogram_low(index),
		.high = histogram_high(index),
		.count = histogram->buckets[index],
	};
	sized_fill(bucket, &own, sizeof(own));
	return 0;
}
