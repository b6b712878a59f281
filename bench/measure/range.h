/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANGE_H
#define RANGE_H

/* The values that an option is to take in turn: "A", "A,B,C", "A:B:xF" (each F times the one
 * before) or "A:B:+N". */

#include <stdint.h>

#define BENCH_RANGE_MAX 64u

struct bench_range {
	uint32_t n; /* 0: the option was not given */
	uint64_t values[BENCH_RANGE_MAX];
};

/* Each value between 'low' and 'high'; suffixes k, m and g are powers of 'kilo'. 0, or -1 with the
 * mistake said. */
int option_range(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t kilo,
		 struct bench_range *range);

#endif
