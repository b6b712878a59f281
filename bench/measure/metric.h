/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METRIC_H
#define METRIC_H

/* Computes the figures of a run. Figures are compared between repetitions, and with thresholds. */

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

enum bench_metric {
	METRIC_RATE,	  /* calls per second */
	METRIC_BANDWIDTH, /* bytes of bulk data per second, in both directions */
	METRIC_MIN,	  /* this metric and all later ones are round trip times in ns */
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

void bench_figures_of(double calls, double bytes, double seconds, const struct weir_histogram *rtt,
		      struct bench_figures *figures);

struct bench_spread {
	double median, min, max;
};

/* Returns the median, minimum and maximum of one metric over 'n' runs. 'n' must be at least 1. */
struct bench_spread bench_figures_spread(const struct bench_figures *runs, uint32_t n,
					 enum bench_metric metric);

/*
 * A threshold "METRIC<LIMIT", or with <=, > or >=. The limit of a time must have a unit: ns, us, ms
 * or s. The limit of a rate or bandwidth can have a suffix k, m or g, which are powers of 1000.
 */
struct bench_threshold {
	const char *text; /* the argument of the option */
	enum bench_metric metric;
	bool is_less, is_equal; /* is_less: the operator has '<', otherwise '>'; is_equal: it also
				   has '=' */
	double limit;		/* in the unit of the metric: 1/s, B/s or ns */
};

/*
 * Parses a threshold. Returns 0, or -1 after it has printed the error on standard error. *threshold
 * keeps a pointer to 'text'.
 */
int option_threshold(const char *option, const char *text, struct bench_threshold *threshold);

/* Returns true if 'value' meets the threshold. */
bool bench_threshold_holds(const struct bench_threshold *threshold, double value);

#endif
