/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STEADY_H
#define STEADY_H

/* Whether a rate has settled: the latest few, of intervals of the same length, lie close together.
 */

#include <stdbool.h>
#include <stdint.h>

#define STEADY_RATES 5u

struct steady {
	double within; /* (largest - least) / mean that counts as settled */
	uint32_t n;    /* rates seen */
	double rates[STEADY_RATES];
};

void steady_init(struct steady *steady, double within);

/* The next interval's rate. True: settled now. */
bool steady_add(struct steady *steady, double rate);

/* (Largest - least) / mean of the latest; 1 before there are enough, or when nothing moves. */
double steady_spread(const struct steady *steady);

#endif
