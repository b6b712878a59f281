/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-bench: measures RPCs over RPC-over-RDMA. Carries out the runs of all combinations of the
 * options, and then reports the results.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "lcores.h"
#include "report.h"
#include "sides.h"
#include "std_io.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_LOAD = 1,
	EXIT_USAGE = 2,
	EXIT_THRESHOLD = 3,
	EXIT_INTERRUPTED = 128
};

/*
 * Returns advice for the user on the status with which calls failed, or NULL if the status is
 * clear.
 */
static const char *cure(const struct bench_options *options, int status)
{
	switch (-status) {
	case ENOBUFS:
		return "raise send_buffers, long_buffers and bulk_buffers in the profile's "
		       "[memory], or lower --depth or --connections";
	case ETIMEDOUT:
		return "the responder did not answer in time: check that it still runs, and that "
		       "it has its own core";
	case EPROTONOSUPPORT:
		return "the responder does not support the version of RPC-over-RDMA of the calls: "
		       "give both sides the same --protocol, or --protocol auto";
	case EIO:
	case EREMOTEIO:
		return options->side == SIDE_REQUESTER ? "the responder refuses these calls: give "
							 "it the same --size and --working-set"
						       : NULL;
	default:
		return NULL;
	}
}

/* Prints a message for combinations that have no figures, because no call was completed. */
static void report_empty(const struct bench_results *results)
{
	for (uint32_t i = 0; i < results->npoints; i++)
		if (results->points[i].sum.calls == 0 && results->points[i].sum.errors == 0)
			fprintf(stderr,
				"weir-bench: no call was completed in the measured time%s, so "
				"there are no figures: increase --time\n",
				results->npoints > 1 ? " of a combination" : "");
}

/*
 * Reports how many runs were finished before an interrupt. 'runs_asked' is the number of all
 * requested runs.
 */
static void report_interrupt(const struct bench_results *results)
{
	if (results->npoints == 0)
		fprintf(stderr, "weir-bench: interrupted before anything was measured, so there is "
				"no report: raise the time limit, or lower --warmup\n");
	else
		fprintf(stderr, "weir-bench: interrupted: %u of %u runs are finished\n",
			results->runs_finished, results->runs_asked);
}

static int report(struct bench_results *results)
{
	const struct bench_options *options = results->options;
	uint64_t errors, failures = bench_results_verify_failures(results);
	int first_error;

	if (bench_results_interrupted(results)) {
		bench_results_drop_empty(results);
		report_interrupt(results);
		if (results->npoints == 0)
			return EXIT_INTERRUPTED;
	}
	if (bench_report(results) != 0)
		return EXIT_LOAD;
	report_empty(results);
	errors = bench_results_errors(results, &first_error);
	if (errors > 0)
		fprintf(stderr, "weir-bench: %llu calls failed, the first with: %s\n",
			(unsigned long long)errors, strerror(-first_error));
	if (errors > 0 && cure(options, first_error))
		fprintf(stderr, "weir-bench: %s\n", cure(options, first_error));
	if (failures > 0)
		fprintf(stderr, "weir-bench: %llu results were wrong\n",
			(unsigned long long)failures);
	if (errors > 0 || failures > 0 || results->capture_failed)
		return EXIT_LOAD;
	if (bench_results_interrupted(results))
		return EXIT_INTERRUPTED;
	return bench_results_missed(results) > 0 ? EXIT_THRESHOLD : EXIT_OK;
}

/*
 * Carries out all runs. Returns 0 or an error. The loop over repetitions is the outer loop, so that
 * other load on the machine affects all combinations in the same way.
 */
static int run_all(struct bench_results *results)
{
	const struct bench_options *options = results->options;
	uint32_t nruns = results->runs_asked;
	static struct bench_result result;
	struct sides sides;
	int rc = sides_start(&sides, options, nruns);

	for (uint32_t i = 0; i < nruns && rc == 0 && !bench_interrupted(sides.shared); i++) {
		struct bench_point *point = &results->points[i % results->npoints];

		if (nruns > 1 && !options->quiet && isatty(STDERR_FILENO))
			fprintf(stderr,
				"run %u of %u: size %u, depth %u, connections %u, rate %llu\n",
				i + 1, nruns, point->options.size_bytes, point->options.depth,
				point->options.connections,
				(unsigned long long)point->options.rate);
		rc = sides_run(&sides, i, &point->options, &result);
		if (bench_interrupted(sides.shared) && (rc != 0 || result.is_cut_short)) {
			/* A run that was cut short is not added to finished runs. */
			if (results->runs_finished == 0 && result.connected &&
			    histogram_count(&result.rtt) > 0)
				bench_point_add(point, &result, sides.shared);
			rc = 0;
			break;
		}
		if (rc == 0 || result.connected) {
			bench_point_add(point, &result, sides.shared);
			results->runs_finished++;
			rc = 0;
		}
	}
	if (sides.shared)
		results->capture_failed = sides_end(&sides) != 0;
	return rc;
}

int main(int argc, char **argv)
{
	static struct bench_options options;
	struct bench_results results;
	int rc;

	std_io_start();
	rc = bench_options_parse(argc, argv, &options);
	if (rc > 0)
		return std_io_finish("weir-bench") == 0 ? EXIT_OK : EXIT_LOAD;
	if (rc != 0)
		return EXIT_USAGE;
	if (bench_lcores_check(&options) != 0 || bench_memory_check(&options) != 0)
		return EXIT_LOAD;
	if (options.side == SIDE_RESPONDER)
		return sides_listen(&options) == 0 ? EXIT_OK : EXIT_LOAD;
	if (bench_report_check(&options) != 0)
		return EXIT_LOAD;
	rc = bench_results_init(&results, &options);
	if (rc != 0)
		fprintf(stderr, "weir-bench: can't allocate memory for the results. Lower "
				"--repeat, or the number of combinations\n");
	else
		rc = run_all(&results);
	rc = rc == 0 ? report(&results) : EXIT_LOAD;
	bench_results_fini(&results);
	return rc;
}
