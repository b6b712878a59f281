/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HIST_H
#define HIST_H

/*
 * A log-linear histogram of times in ns. Each power of two has 64 steps, so a time is stored with
 * an error of at most 1.6 %.
 */

#include <stdint.h>

#define HIST_SUB_BITS 6u
/* The buckets are for times up to 2^40 ns, which is 18 minutes. */
#define HIST_BUCKETS ((40u - HIST_SUB_BITS + 1u) << HIST_SUB_BITS)

struct hist {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t sum;
	uint64_t buckets[HIST_BUCKETS];
};

static inline uint32_t hist_index(uint64_t ns)
{
	uint32_t shift;

	if (ns < 1u << HIST_SUB_BITS)
		return (uint32_t)ns;
	shift = 63u - (uint32_t)__builtin_clzll(ns) - HIST_SUB_BITS;
	return ((shift + 1) << HIST_SUB_BITS) + (uint32_t)(ns >> shift) - (1u << HIST_SUB_BITS);
}

/* Adds 'n' samples of the same time 'ns'. */
static inline void hist_add_n(struct hist *hist, uint64_t ns, uint64_t n)
{
	uint32_t i = hist_index(ns);

	hist->buckets[i < HIST_BUCKETS ? i : HIST_BUCKETS - 1] += n;
	hist->count += n;
	hist->sum += ns * n;
	if (ns < hist->min)
		hist->min = ns;
	if (ns > hist->max)
		hist->max = ns;
}

static inline void hist_add(struct hist *hist, uint64_t ns)
{
	hist_add_n(hist, ns, 1);
}

void hist_init(struct hist *hist);
void hist_merge(struct hist *into, const struct hist *from);

/*
 * Returns the value that 'fraction' (0 to 1) of the samples do not exceed. The value is the middle
 * of its bucket, limited to min and max. Returns 0 if there are no samples.
 */
uint64_t hist_quantile(const struct hist *hist, double fraction);

double hist_mean(const struct hist *hist);

/*
 * Returns the smallest time, in ns, that is in bucket 'i'. The bucket ends where the next one
 * begins.
 */
uint64_t hist_bucket_low(uint32_t i);

#endif
