/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STEADY_H
#define STEADY_H

/*
 * Detects that a rate is steady. A rate is steady if its values in the latest STEADY_RATES
 * intervals, which have equal lengths, are close together.
 */

#include <stdbool.h>
#include <stdint.h>

#define STEADY_RATES 5u

struct steady {
	double within; /* a rate is steady if (largest - smallest) / mean is at most this value */
	uint32_t n;    /* number of rates added */
	double rates[STEADY_RATES];
};

void steady_init(struct steady *steady, double within);

/* Adds the rate of the next interval. Returns true if the rate is steady. */
bool steady_add(struct steady *steady, double rate);

/*
 * Returns (largest - smallest) / mean of the latest rates, or 1 if there are too few rates or all
 * are 0.
 */
double steady_spread(const struct steady *steady);

#endif
