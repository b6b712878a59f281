/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

/* What was measured: of each combination of a sweep, each repetition, and all of them together. */

#include "requester.h"

/* One repetition. */
struct bench_run {
	double seconds;
	uint64_t calls, errors, late, untaken;
	bool settled;
	bool is_cut_short; /* by a signal: its figures are of a part of the measured time */
	double settle_spread, settle_seconds;
	struct series series;
};

struct bench_point {
	struct bench_options options;
	uint32_t nruns;		       /* so far */
	struct bench_run *runs;	       /* options.repeat of them */
	struct bench_figures *figures; /* of each */
	struct bench_result sum;       /* of all; verify_failures are of both sides */
	struct bench_counters responder;
};

struct bench_results {
	const struct bench_options *options;
	uint32_t npoints;
	struct bench_point *points;
	uint32_t runs_asked,
		runs_finished; /* of all points; fewer are finished only after an interrupt */
};

/* 0 or -ENOMEM. */
int bench_results_init(struct bench_results *results, const struct bench_options *options);
void bench_results_fini(struct bench_results *results);

/* Another repetition is over, or was cut short. */
void bench_point_add(struct bench_point *point, const struct bench_result *result,
		     const struct bench_shared *shared);

/* A signal ended the runs before all of them were finished. */
static inline bool bench_results_interrupted(const struct bench_results *results)
{
	return results->runs_finished < results->runs_asked;
}

/* Forget the points that have no run. */
void bench_results_drop_empty(struct bench_results *results);

/* The medians of all metrics. */
struct bench_figures bench_point_medians(const struct bench_point *point);

/* Of all points; the first status of a call that failed, 0: none. */
uint64_t bench_results_errors(const struct bench_results *results, int *first_error);
uint64_t bench_results_verify_failures(const struct bench_results *results);

/* Threshold number 'i' of the options at this point. */
bool bench_point_meets(const struct bench_point *point, uint32_t i, double *value);
/* How many thresholds were not met, at all points together. */
uint32_t bench_results_missed(const struct bench_results *results);

#endif
