/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the figures of a run, their spread over several runs, and compares them with thresholds.
 */
#include "metric.h"

#include <stdlib.h>
#include <string.h>

#include "number.h"

#define RUNS_MAX 1024u

static const struct {
	const char *name;
	double fraction; /* for a quantile: the part of the samples that do not exceed it */
} metrics[METRICS] = {
	[METRIC_RATE] = {"rate", 0},	    [METRIC_BANDWIDTH] = {"bandwidth", 0},
	[METRIC_MIN] = {"min", 0},	    [METRIC_MEAN] = {"mean", 0},
	[METRIC_P50] = {"p50", 0.5},	    [METRIC_P90] = {"p90", 0.9},
	[METRIC_P99] = {"p99", 0.99},	    [METRIC_P999] = {"p999", 0.999},
	[METRIC_P9999] = {"p9999", 0.9999}, [METRIC_MAX] = {"max", 0},
};

const char *bench_metric_name(enum bench_metric metric)
{
	return metrics[metric].name;
}

void bench_figures_of(double calls, double bytes, double seconds, const struct weir_histogram *rtt,
		      struct bench_figures *figures)
{
	double *values = figures->values;

	values[METRIC_RATE] = seconds > 0 ? calls / seconds : 0;
	values[METRIC_BANDWIDTH] = seconds > 0 ? bytes / seconds : 0;
	values[METRIC_MIN] = (double)histogram_min(rtt);
	values[METRIC_MEAN] = histogram_mean(rtt);
	for (uint32_t m = METRIC_P50; m <= METRIC_P9999; m++)
		values[m] = (double)histogram_quantile(rtt, metrics[m].fraction);
	values[METRIC_MAX] = (double)rtt->max;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_spread bench_figures_spread(const struct bench_figures *runs, uint32_t n,
					 enum bench_metric metric)
{
	double values[RUNS_MAX];

	n = n < RUNS_MAX ? n : RUNS_MAX;
	for (uint32_t i = 0; i < n; i++)
		values[i] = runs[i].values[metric];
	qsort(values, n, sizeof(values[0]), compare);
	return (struct bench_spread){.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
				     .min = values[0],
				     .max = values[n - 1]};
}

/* Returns the factor of the unit at the end of a limit, or 0 if the unit is unknown. */
static double unit_of(enum bench_metric metric, const char *unit)
{
	double scale = 1;

	if (bench_metric_is_time(metric))
		return number_time_unit(unit);
	switch (*unit | 0x20) {
	case 'k':
		scale = 1e3;
		break;
	case 'm':
		scale = 1e6;
		break;
	case 'g':
		scale = 1e9;
		break;
	}
	unit += scale > 1;
	if (*unit == '\0' || strcmp(unit, metric == METRIC_RATE ? "RPC/s" : "B/s") == 0)
		return scale;
	return 0;
}

int option_threshold(const char *option, const char *text, struct bench_threshold *threshold)
{
	size_t len = strcspn(text, "<>");
	const char *at = text + len;
	uint32_t metric = 0;
	char *unit;

	while (metric < METRICS && (strlen(metrics[metric].name) != len ||
				    strncmp(metrics[metric].name, text, len) != 0))
		metric++;
	if (metric == METRICS || *at == '\0')
		return option_bad(option, text,
				  "expected p50, p90, p99, p999, p9999, min, mean, max, rate or "
				  "bandwidth, then <, <=, > or >=, then a limit");
	threshold->text = text;
	threshold->metric = (enum bench_metric)metric;
	threshold->is_less = *at == '<';
	threshold->is_equal = at[1] == '=';
	at += 1 + threshold->is_equal;
	threshold->limit = strtod(at, &unit);
	if (unit == at || !(threshold->limit >= 0 && threshold->limit <= 1e18) ||
	    unit_of(threshold->metric, unit) <= 0)
		return option_bad(
			option, text,
			bench_metric_is_time(threshold->metric)
				? "expected a limit with its unit, such as 5us; ns, us, ms or s"
				: "expected a limit such as 500000, 500k, 0.5M or 10GB/s");
	threshold->limit *= unit_of(threshold->metric, unit);
	return 0;
}

bool bench_threshold_holds(const struct bench_threshold *threshold, double value)
{
	if (threshold->is_equal && value == threshold->limit)
		return true;
	return threshold->is_less ? value < threshold->limit : value > threshold->limit;
}
