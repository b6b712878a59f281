/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COUNTERS_H
#define COUNTERS_H

/*
 * Sums and reports the counters and the round trip times of engines. The files of this folder:
 *
 *   counters.[ch]  sums and reports the counters and the round trip times of engines
 *   cpu.[ch]       the CPU cost of polling threads: busy time, and instructions
 *   hist.[ch]      a histogram of times
 *   metric.[ch]    the figures of a run, and thresholds for them
 *   range.[ch]     the values that an option takes one after the other
 *   series.[ch]    the number of calls in each interval of a run
 *   steady.[ch]    detects that a rate is steady
 *   poll_timer.h   measures the rounds of a poll loop
 *   clock.h        time from the CPU's time stamp counter
 *   pattern.[ch]   the bytes that data consist of, so that each byte can be checked
 *   output.[ch]    writes reports to files
 */

#include <jansson.h>

#include <weir/metrics.h>

#include "histogram.h"
#include "metric.h"

#define BENCH_COUNTS_MAX 256u /* more than the library has counters */

/* The values of an engine's counters, or sums of such values, in the order of weir/metrics.h. */
struct bench_counts {
	uint64_t values[BENCH_COUNTS_MAX];
};

void bench_counts_read(const struct weir_engine *engine, struct bench_counts *counts);

/* Returns the value of the counter with this name, which must exist. */
uint64_t bench_count(const struct bench_counts *counts, const char *name);

/* Computes a += b - c for each counter of an engine. */
void bench_counts_add_difference(struct bench_counts *a, const struct bench_counts *b,
				 const struct bench_counts *c);

/*
 * Returns an object with the sums of the counters of both sides. Each pointer is allowed to be
 * NULL.
 */
json_t *bench_counts_json(const struct bench_counts *requester,
			  const struct bench_counts *responder);

/* Returns the part of the polls that found no work, from 0 to 1. */
double bench_idle_ratio(const struct bench_counts *counts);

/*
 * Prints the line "round trip   min .. p50 .. max ns" on standard output. bench_rtt_json() returns
 * an object with the figures of this line.
 */
void bench_rtt_print(const struct weir_histogram *rtt);
json_t *bench_rtt_json(const struct weir_histogram *rtt);

/* These functions do the same for figures, which can be medians of several runs. */
void bench_figures_print(const struct bench_figures *figures);
json_t *bench_figures_rtt_json(const struct bench_figures *figures);

#endif
