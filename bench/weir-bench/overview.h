/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_OVERVIEW_H
#define BENCH_OVERVIEW_H

/* The loads of --overview, which together give a first impression of a machine. */

#include "options.h"

#define OVERVIEW_SECONDS	1.5 /* measured time of each load */
#define OVERVIEW_WARMUP_SECONDS 0.3
#define OVERVIEW_READ_PERCENT	70
/* the largest size and depth, which a separate responder must allow for */
#define OVERVIEW_SIZE_MAX  (1u << 20)
#define OVERVIEW_DEPTH_MAX 32u

/* Returns the number of loads. */
uint32_t bench_overview_points(void);

/* Sets the workload, size and depth of load number 'number'. */
void bench_overview_point(uint32_t number, struct bench_options *point);

#endif
