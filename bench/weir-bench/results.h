/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

/*
 * The results: of each repetition of each combination of a sweep, and of all repetitions together.
 */

#include "requester.h"

/* One repetition. */
struct bench_run {
	double seconds;
	uint64_t calls, errors, late, untaken;
	bool is_steady;
	bool is_cut_short; /* a signal ended it: its figures cover only a part of the measured time
			    */
	double rate_spread, steady_after_seconds;
	struct series series;
};

struct bench_point {
	struct bench_options options;
	uint32_t nruns;		       /* number of runs so far */
	struct bench_run *runs;	       /* options.repeat elements */
	struct bench_figures *figures; /* one element per run */
	struct bench_result sum;       /* of all runs; verify_failures includes both sides */
	struct bench_counters responder;
};

struct bench_results {
	const struct bench_options *options;
	uint32_t npoints;
	struct bench_point *points;
	uint32_t runs_asked,
		runs_finished; /* for all points; only an interrupt leaves runs unfinished */
};

/* Returns 0 or -ENOMEM. */
int bench_results_init(struct bench_results *results, const struct bench_options *options);
void bench_results_fini(struct bench_results *results);

/* Adds a repetition that has ended or was cut short. */
void bench_point_add(struct bench_point *point, const struct bench_result *result,
		     const struct bench_shared *shared);

/* Returns true if a signal ended the runs before all of them were finished. */
static inline bool bench_results_interrupted(const struct bench_results *results)
{
	return results->runs_finished < results->runs_asked;
}

/* Removes the points that have no run. */
void bench_results_drop_empty(struct bench_results *results);

/* Returns the medians of all metrics. */
struct bench_figures bench_point_medians(const struct bench_point *point);

/*
 * Return the errors, and the verify failures, of all points. *first_error is the status of the
 * first failed call, or 0.
 */
uint64_t bench_results_errors(const struct bench_results *results, int *first_error);
uint64_t bench_results_verify_failures(const struct bench_results *results);

/* Returns whether this point meets threshold number 'i' of the options. */
bool bench_point_meets(const struct bench_point *point, uint32_t i, double *value);
/* Returns the number of missed thresholds, for all points together. */
uint32_t bench_results_missed(const struct bench_results *results);

#endif
