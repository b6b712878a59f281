/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANGE_H
#define RANGE_H

/*
 * Parses the values of an option, which are used one after the other. The forms are "A", "A,B,C",
 * "A:B:xF" (each value is F times the previous one) and "A:B:+N" (each value is the previous one
 * plus N).
 */

#include <stdint.h>

#define BENCH_RANGE_MAX 64u

struct bench_range {
	uint32_t n; /* number of values; 0: the option was not given */
	uint64_t values[BENCH_RANGE_MAX];
};

/*
 * Parses a range. Each value is from 'low' to 'high'. The suffixes k, m and g are powers of 'kilo'.
 * Returns 0, or -1 after it has printed the error.
 */
int option_range(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t kilo,
		 struct bench_range *range);

#endif
