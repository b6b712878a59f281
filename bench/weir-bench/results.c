/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the results of all runs, and computes their medians. */
#include "results.h"

#include <errno.h>
#include <stdlib.h>

int bench_results_init(struct bench_results *results, const struct bench_options *options)
{
	*results = (struct bench_results){.options = options,
					  .npoints = bench_options_points(options)};
	results->runs_asked = results->npoints * options->repeat;
	results->points = calloc(results->npoints, sizeof(results->points[0]));
	if (!results->points)
		return -ENOMEM;
	for (uint32_t i = 0; i < results->npoints; i++) {
		struct bench_point *point = &results->points[i];

		bench_options_point(options, i, &point->options);
		histogram_init(&point->sum.rtt);
		point->runs = calloc(options->repeat, sizeof(point->runs[0]));
		point->figures = calloc(options->repeat, sizeof(point->figures[0]));
		if (!point->runs || !point->figures)
			return -ENOMEM;
	}
	return 0;
}

void bench_results_fini(struct bench_results *results)
{
	for (uint32_t i = 0; results->points && i < results->npoints; i++) {
		free(results->points[i].runs);
		free(results->points[i].figures);
	}
	free(results->points);
}

void bench_results_drop_empty(struct bench_results *results)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < results->npoints; i++) {
		if (results->points[i].nruns > 0) {
			results->points[n++] = results->points[i];
		} else {
			free(results->points[i].runs);
			free(results->points[i].figures);
		}
	}
	results->npoints = n;
}

void bench_point_add(struct bench_point *point, const struct bench_result *r,
		     const struct bench_shared *shared)
{
	const struct bench_counts none = {0};
	struct bench_result *sum = &point->sum;
	struct disturbance disturbance = r->disturbance;

	bench_figures_of((double)r->calls, (double)r->bytes, r->seconds, &r->rtt,
			 &point->figures[point->nruns]);
	disturbance_add(&disturbance, &shared->responder.disturbance);
	disturbance_add(&point->disturbance, &disturbance);
	point->runs[point->nruns++] = (struct bench_run){
		.seconds = r->seconds,
		.calls = r->calls,
		.errors = r->errors,
		.late = r->late,
		.untaken = r->untaken,
		.is_steady = r->is_steady,
		.is_cut_short = r->is_cut_short,
		.rate_spread = r->rate_spread,
		.steady_after_seconds = r->steady_after_seconds,
		.disturbance = disturbance,
		.series = r->series,
	};
	sum->seconds += r->seconds;
	sum->calls += r->calls;
	sum->bytes += r->bytes;
	sum->errors += r->errors;
	sum->late += r->late;
	sum->untaken += r->untaken;
	sum->verify_failures += r->verify_failures + shared->verify_failures;
	if (point->nruns == 1 || r->least_calls < sum->least_calls)
		sum->least_calls = r->least_calls;
	if (r->most_calls > sum->most_calls)
		sum->most_calls = r->most_calls;
	sum->idle_calls += r->idle_calls;
	sum->connected |= r->connected;
	if (sum->first_error == 0)
		sum->first_error = r->first_error;
	sum->exposure = r->exposure;
	histogram_merge(&sum->rtt, &r->rtt);
	bench_stages_merge(&sum->stages, &r->stages);
	bench_stages_merge(&point->responder.stages, &shared->responder.stages);
	bench_cpu_add(&sum->cpu, &r->cpu);
	bench_counts_add_difference(&sum->stats, &r->stats, &none);
	bench_counts_add_difference(&point->responder.stats, &shared->responder.stats, &none);
	bench_cpu_add(&point->responder.cpu, &shared->responder.cpu);
	point->responder.valid |= shared->responder.valid;
}

struct bench_figures bench_point_medians(const struct bench_point *point)
{
	struct bench_figures medians;

	for (uint32_t m = 0; m < METRICS; m++)
		medians.values[m] =
			bench_figures_spread(point->figures, point->nruns, (enum bench_metric)m)
				.median;
	return medians;
}

uint64_t bench_results_errors(const struct bench_results *results, int *first_error)
{
	uint64_t errors = 0;

	*first_error = 0;
	for (uint32_t i = 0; i < results->npoints; i++) {
		errors += results->points[i].sum.errors;
		if (*first_error == 0)
			*first_error = results->points[i].sum.first_error;
	}
	return errors;
}

uint64_t bench_results_verify_failures(const struct bench_results *results)
{
	uint64_t failures = 0;

	for (uint32_t i = 0; i < results->npoints; i++)
		failures += results->points[i].sum.verify_failures;
	return failures;
}

bool bench_point_meets(const struct bench_point *point, uint32_t i, double *value)
{
	const struct bench_threshold *threshold = &point->options.thresholds[i];

	*value = bench_figures_spread(point->figures, point->nruns, threshold->metric).median;
	/* If no call was measured, the latency is 0, which must not meet a threshold. */
	return histogram_count(&point->sum.rtt) > 0 && bench_threshold_holds(threshold, *value);
}

uint32_t bench_results_missed(const struct bench_results *results)
{
	uint32_t missed = 0;
	double value;

	for (uint32_t p = 0; p < results->npoints; p++)
		for (uint32_t i = 0; i < results->options->nthresholds; i++)
			missed += !bench_point_meets(&results->points[p], i, &value);
	return missed;
}
