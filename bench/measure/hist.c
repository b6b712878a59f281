/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges histograms of times, and computes their quantiles and means. */
#include "hist.h"

#include <math.h>
#include <string.h>

void hist_init(struct hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	hist->min = UINT64_MAX;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->count += from->count;
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
}

uint64_t hist_bucket_low(uint32_t i)
{
	if (i < 1u << HIST_SUB_BITS)
		return i;
	return (uint64_t)((i & ((1u << HIST_SUB_BITS) - 1)) + (1u << HIST_SUB_BITS))
	       << ((i >> HIST_SUB_BITS) - 1);
}

static uint64_t bucket_middle(uint32_t i)
{
	return hist_bucket_low(i) + (hist_bucket_low(i + 1) - hist_bucket_low(i) - 1) / 2;
}

double hist_mean(const struct hist *hist)
{
	return hist->count ? (double)hist->sum / (double)hist->count : 0;
}

uint64_t hist_quantile(const struct hist *hist, double fraction)
{
	uint64_t rank = (uint64_t)ceil(fraction * (double)hist->count), seen = 0;

	if (hist->count == 0)
		return 0;
	if (rank == 0)
		rank = 1;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if (seen >= rank) {
			uint64_t value = bucket_middle(i);

			value = value < hist->min ? hist->min : value;
			return value > hist->max ? hist->max : value;
		}
	}
	return hist->max;
}
