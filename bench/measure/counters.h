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

#include <weir/engine.h>

#include "hist.h"
#include "metric.h"

/* Computes a += b - c for each counter of an engine. */
void bench_counters_add_difference(struct weir_engine_stats *a, const struct weir_engine_stats *b,
				   const struct weir_engine_stats *c);

/*
 * Returns an object with the sums of the counters of both sides. Each pointer is allowed to be
 * NULL.
 */
json_t *bench_counters_json(const struct weir_engine_stats *requester,
			    const struct weir_engine_stats *responder);

/* Returns the part of the polls that found no work, from 0 to 1. */
double bench_idle_ratio(const struct weir_engine_stats *stats);

/*
 * Prints the line "round trip   min .. p50 .. max ns" on standard output. bench_rtt_json() returns
 * an object with the figures of this line.
 */
void bench_rtt_print(const struct hist *rtt);
json_t *bench_rtt_json(const struct hist *rtt);

/* These functions do the same for figures, which can be medians of several runs. */
void bench_figures_print(const struct bench_figures *figures);
json_t *bench_figures_rtt_json(const struct bench_figures *figures);

#endif
