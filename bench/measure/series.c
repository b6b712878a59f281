/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the number of calls in each interval of a run. */
#include "series.h"

#include <string.h>

void series_init(struct series *series)
{
	memset(series, 0, sizeof(*series));
	series->interval_ns = SERIES_INTERVAL_NS;
}

/*
 * Joins each pair of intervals to one. If the number of intervals is odd, the last one is dropped,
 * because it is only half of an interval of the new length.
 */
static void halve(struct series *series)
{
	series->n /= 2;
	series->interval_ns *= 2;
	for (uint32_t i = 0; i < series->n; i++)
		series->counts[i] = series->counts[2 * i] + series->counts[2 * i + 1];
}

void series_add(struct series *series, uint64_t count)
{
	series->counts[series->n++] = count;
	if (series->n == SERIES_MAX)
		halve(series);
}

void series_merge(struct series *into, const struct series *from)
{
	struct series other = *from;

	while (into->interval_ns < other.interval_ns)
		halve(into);
	while (other.interval_ns < into->interval_ns)
		halve(&other);
	/* If one series is longer than the other, the sum ends at the end of the shorter one. */
	if (into->n == 0)
		*into = other;
	else if (other.n > 0) {
		into->n = into->n < other.n ? into->n : other.n;
		for (uint32_t i = 0; i < into->n; i++)
			into->counts[i] += other.counts[i];
	}
}
