/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COUNTERS_H
#define COUNTERS_H

/* Engines' counters and round trips, added up and written down. */

#include <jansson.h>

#include <weir/engine.h>

#include "hist.h"
#include "metric.h"

/* a += b - c, counter by counter. */
void bench_counters_add_difference(struct weir_engine_stats *a, const struct weir_engine_stats *b,
				   const struct weir_engine_stats *c);

/* An object with the sum of both, each of which may be NULL. */
json_t *bench_counters_json(const struct weir_engine_stats *requester,
			    const struct weir_engine_stats *responder);

double bench_idle_ratio(const struct weir_engine_stats *stats);

/* "round trip   min .. p50 .. max ns", a line on standard output. */
void bench_rtt_print(const struct hist *rtt);
json_t *bench_rtt_json(const struct hist *rtt);

/* The same, of figures that may be medians of several runs. */
void bench_figures_print(const struct bench_figures *figures);
json_t *bench_figures_rtt_json(const struct bench_figures *figures);

/* Write 'root' to the file at 'path', "-" being standard output, and free it. 0, or -EIO that was
 * said on standard error. */
int bench_json_write(json_t *root, const char *path);

#endif
