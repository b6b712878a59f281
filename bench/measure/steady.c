/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects that a rate is steady. */
#include "steady.h"

#include <string.h>

void steady_init(struct steady *steady, double within)
{
	memset(steady, 0, sizeof(*steady));
	steady->within = within;
}

double steady_spread(const struct steady *steady)
{
	double least = steady->rates[0], largest = least, sum = 0;

	if (steady->n < STEADY_RATES)
		return 1;
	for (uint32_t i = 0; i < STEADY_RATES; i++) {
		least = steady->rates[i] < least ? steady->rates[i] : least;
		largest = steady->rates[i] > largest ? steady->rates[i] : largest;
		sum += steady->rates[i];
	}
	return sum > 0 ? (largest - least) * STEADY_RATES / sum : 1;
}

bool steady_add(struct steady *steady, double rate)
{
	steady->rates[steady->n++ % STEADY_RATES] = rate;
	return steady->n >= STEADY_RATES && steady_spread(steady) <= steady->within;
}
