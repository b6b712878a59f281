/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERIES_H
#define SERIES_H

/*
 * How many calls completed in each of a run's intervals. Intervals begin at 10 ms and get twice as
 * long whenever there would be too many, so that the memory is bounded and a run's length need not
 * be known.
 */

#include <stdint.h>

#define SERIES_MAX	   256u
#define SERIES_INTERVAL_NS 10000000u

struct series {
	uint64_t interval_ns;
	uint32_t n; /* whole intervals */
	uint64_t counts[SERIES_MAX];
};

void series_init(struct series *series);

/* Another interval has passed, with so many calls in it. */
void series_add(struct series *series, uint64_t count);

/* Add up what ran side by side. */
void series_merge(struct series *into, const struct series *from);

#endif
