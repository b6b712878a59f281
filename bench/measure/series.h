/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERIES_H
#define SERIES_H

/*
 * The number of calls that completed in each interval of a run. Intervals are 10 ms long at first.
 * When SERIES_MAX intervals are reached, pairs of intervals are joined and the length is doubled.
 * So the memory is limited, and the length of a run does not have to be known in advance.
 */

#include <stdint.h>

#define SERIES_MAX	   256u
#define SERIES_INTERVAL_NS 10000000u

struct series {
	uint64_t interval_ns;
	uint32_t n; /* number of complete intervals */
	uint64_t counts[SERIES_MAX];
};

void series_init(struct series *series);

/* Adds an interval in which 'count' calls completed. */
void series_add(struct series *series, uint64_t count);

/* Adds the counts of a series to those of another series that ran at the same time. */
void series_merge(struct series *into, const struct series *from);

#endif
