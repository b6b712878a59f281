/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METRIC_H
#define METRIC_H

/* The figures of a run that are compared: between repetitions, and with thresholds. */

#include <stdbool.h>
#include <stdint.h>

#include "hist.h"

enum bench_metric {
	METRIC_RATE,	  /* calls a second */
	METRIC_BANDWIDTH, /* bytes of bulk data a second, both ways */
	METRIC_MIN,	  /* from here on: times of round trips in ns */
	METRIC_MEAN,
	METRIC_P50,
	METRIC_P90,
	METRIC_P99,
	METRIC_P999,
	METRIC_P9999,
	METRIC_MAX,
	METRICS,
};

struct bench_figures {
	double values[METRICS];
};

const char *bench_metric_name(enum bench_metric metric);

static inline bool bench_metric_is_time(enum bench_metric metric)
{
	return metric >= METRIC_MIN;
}

void bench_figures_of(double calls, double bytes, double seconds, const struct hist *rtt,
		      struct bench_figures *figures);

struct bench_spread {
	double median, min, max;
};

/* Of one metric of 'n' runs, 'n' being 1 at least. */
struct bench_spread bench_figures_spread(const struct bench_figures *runs, uint32_t n,
					 enum bench_metric metric);

/* "METRIC<LIMIT", or with <=, > or >=. Times need a unit, ns, us, ms or s; rates may have k, m or
 * g, powers of 1000. */
struct bench_threshold {
	const char *text; /* as it was given */
	enum bench_metric metric;
	bool is_less, is_equal; /* '<' or '>'; with '=' */
	double limit;
};

/* 0, or -1 with the mistake said on standard error. 'text' is kept. */
int option_threshold(const char *option, const char *text, struct bench_threshold *threshold);

bool bench_threshold_holds(const struct bench_threshold *threshold, double value);

#endif
