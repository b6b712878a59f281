/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

/*
 * Collects the results of each repetition of each combination of a sweep, and of all repetitions
 * together.
 */

#include "requester.h"

/* The results of one repetition. */
struct bench_run {
	double seconds;
	uint64_t calls, errors, late, untaken;
	bool is_steady;
	bool is_cut_short; /* a signal ended this run, so its figures are only for a part of the
			      measured time */
	double rate_spread, steady_after_seconds;
	struct disturbance disturbance; /* of both sides, as far as they run in this program */
	struct series series;
};

/* The results of one combination. */
struct bench_point {
	struct bench_options options;
	uint32_t nruns;		       /* number of runs so far */
	struct bench_run *runs;	       /* options.repeat elements */
	struct bench_figures *figures; /* the figures of each run */
	/* sums over all runs; 'verify_failures' includes those of both sides */
	struct bench_result sum;
	struct bench_counters responder;
	struct disturbance disturbance; /* of all runs, on both sides */
};

struct bench_results {
	const struct bench_options *options;
	uint32_t npoints;
	struct bench_point *points;
	uint32_t runs_asked,
		/*
		 * number of requested and of finished runs, for all points; only an interrupt
		 * leaves runs unfinished
		 */
		runs_finished;
	bool capture_failed; /* the file of --capture is not complete */
};

/* Allocates the memory for all results. Returns 0 or -ENOMEM. */
int bench_results_init(struct bench_results *results, const struct bench_options *options);
void bench_results_fini(struct bench_results *results);

/* Adds the results of a repetition that has ended or was cut short to those of its combination. */
void bench_point_add(struct bench_point *point, const struct bench_result *result,
		     const struct bench_shared *shared);

/* Returns true if a signal ended the runs before all of them were finished. */
static inline bool bench_results_interrupted(const struct bench_results *results)
{
	return results->runs_finished < results->runs_asked;
}

/* Removes the combinations that have no run. */
void bench_results_drop_empty(struct bench_results *results);

/* Returns the medians of all metrics over the runs of a combination. */
struct bench_figures bench_point_medians(const struct bench_point *point);

/*
 * These functions return the number of errors, and of verify failures, of all combinations.
 * *first_error is the -errno of the first failed call, or 0.
 */
uint64_t bench_results_errors(const struct bench_results *results, int *first_error);
uint64_t bench_results_verify_failures(const struct bench_results *results);

/*
 * Returns true if this combination meets threshold number 'i' of the options. *value is the figure
 * that is compared.
 */
bool bench_point_meets(const struct bench_point *point, uint32_t i, double *value);
/* Returns the number of missed thresholds of all combinations together. */
uint32_t bench_results_missed(const struct bench_results *results);

#endif
