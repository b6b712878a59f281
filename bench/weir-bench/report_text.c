/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints figures for users: a paragraph if there is one combination, or a table with a row for each
 * of several combinations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

typedef unsigned long long ull;

static void print_sizes(const struct bench_options *options)
{
	if (options->workload == WORKLOAD_MIXED && options->read_bytes != options->write_bytes)
		printf("%u bytes read, %u written", options->read_bytes, options->write_bytes);
	else
		printf("%u bytes", bench_largest_bytes(options));
}

/* Prints the CPU cost of one RPC for one side. */
static void print_cpu(const char *side, const struct bench_cpu *cpu, uint64_t rpcs)
{
	printf("%s %.0f cycles per RPC, busy %.1f %%, instructions ", side,
	       bench_per_rpc(cpu->busy_ticks, rpcs), 100 * bench_cpu_busy_ratio(cpu));
	if (bench_cpu_has_instructions(cpu))
		printf("%.0f", bench_per_rpc(cpu->instructions, rpcs));
	else
		printf("not available");
}

static void print_spread(const struct bench_point *point, enum bench_metric metric, double scale,
			 const char *unit)
{
	struct bench_spread spread = bench_figures_spread(point->figures, point->nruns, metric);

	printf("  of %u runs   %-9s %.6g %s, %.6g to %.6g\n", point->nruns,
	       bench_metric_name(metric), spread.median / scale, unit, spread.min / scale,
	       spread.max / scale);
}

static void print_pace(const struct bench_point *point)
{
	const struct bench_options *options = &point->options;

	if (options->rate > 0)
		printf("  open loop    %llu calls per second were due; %llu were late, %llu of "
		       "them were not sent by the end\n",
		       (ull)options->rate, (ull)point->sum.late, (ull)point->sum.untaken);
	if (options->think_ns > 0)
		printf("  closed loop  %llu ns from the end of a call to the next one\n",
		       (ull)options->think_ns);
}

static void print_steady(const struct bench_point *point)
{
	const struct bench_options *options = &point->options;

	if (options->steady_percent <= 0 || options->calls_max > 0)
		return;
	for (uint32_t i = 0; i < point->nruns; i++) {
		const struct bench_run *run = &point->runs[i];

		if (run->is_steady)
			printf("  steady       within %.1f %% after %.1f s of warm-up\n",
			       100 * run->rate_spread,
			       options->warmup_seconds + run->steady_after_seconds);
		else
			printf("  NOT STEADY   rates still vary by %.1f %% after %.1f s; the limit "
			       "is %.1f %%\n",
			       100 * run->rate_spread,
			       options->warmup_seconds + run->steady_after_seconds,
			       options->steady_percent);
	}
}

static void print_thresholds(const struct bench_point *point, bool names_point)
{
	for (uint32_t i = 0; i < point->options.nthresholds; i++) {
		const struct bench_threshold *t = &point->options.thresholds[i];
		double value;
		bool meets = bench_point_meets(point, i, &value);

		printf("  threshold    %s: %.6g%s", t->text, value,
		       bench_metric_is_time(t->metric) ? " ns"
		       : t->metric == METRIC_RATE      ? " RPC/s"
						       : " B/s");
		if (names_point)
			printf(" at size %u, depth %u, connections %u, rate %llu",
			       bench_largest_bytes(&point->options), point->options.depth,
			       point->options.connections, (ull)point->options.rate);
		printf(": %s\n", meets ? "met" : "NOT MET");
	}
}

static uint64_t both_sides(const struct bench_point *point, const char *name)
{
	return bench_count(&point->sum.stats, name) + bench_count(&point->responder.stats, name);
}

static void print_disturbance(const struct bench_point *point)
{
	const struct disturbance *d = &point->disturbance;
	char why[128];

	printf("  disturbed    %.1f %% of the time stolen", 100 * d->steal_ratio);
	if (d->has_pollers)
		printf(", %llu involuntary context switches, longest gap between polls %.3f ms",
		       (ull)d->switches, (double)d->gap_ns / 1e6);
	printf("\n");
	if (!disturbance_is_low(d, why, sizeof(why)))
		printf("  UNRELIABLE   %s: end other programs, or use other CPUs, and measure "
		       "again\n",
		       why);
}

static void print_counters(const struct bench_point *point)
{
	const struct bench_counts *rq = &point->sum.stats, *rs = &point->responder.stats;

	printf("  errors %llu, verify failures %llu%s\n", (ull)point->sum.errors,
	       (ull)point->sum.verify_failures,
	       point->options.verify ? "" : " (lengths only: --verify checks each byte)");
	printf("  cpu          ");
	print_cpu("requester", &point->sum.cpu, bench_count(rq, "calls_completed"));
	if (point->responder.valid) {
		printf("\n               ");
		print_cpu("responder", &point->responder.cpu, bench_count(rs, "replies_sent"));
	}
	printf("\n  idle polls   requester %.1f %%", 100 * bench_idle_ratio(rq));
	if (point->responder.valid)
		printf(", responder %.1f %%", 100 * bench_idle_ratio(rs));
	printf("\n  since warm-up: %llu copies of bulk data, %llu allocations, %llu registrations, "
	       "%.2f doorbells per RPC\n",
	       (ull)both_sides(point, "bulk_copies"), (ull)both_sides(point, "allocations"),
	       (ull)both_sides(point, "registrations"),
	       bench_per_rpc(both_sides(point, "doorbells"), point->sum.calls));
}

static void print_point(const struct bench_point *point)
{
	const struct bench_options *options = &point->options;
	struct bench_figures medians = bench_point_medians(point);

	printf("%s: driver %s, exposure %s, ", bench_workload_name(options->workload),
	       options->profile.driver, bench_exposure_name(point->sum.exposure));
	print_sizes(options);
	printf(", depth %u, %u connection%s", options->depth, options->connections,
	       options->connections == 1 ? "" : "s");
	if (options->active)
		printf(", %u of them active", options->active);
	printf("%s, %s, %.2f s\n", options->takes_turns ? " in turn" : "",
	       options->side != SIDE_BOTH ? "responder elsewhere" : bench_mode_name(options),
	       point->sum.seconds);
	printf("  calls        %12.0f RPC/s   %9.3f GB/s of bulk data\n",
	       medians.values[METRIC_RATE], medians.values[METRIC_BANDWIDTH] / 1e9);
	bench_figures_print(&medians);
	if (point->nruns > 1) {
		print_spread(point, METRIC_RATE, 1, "RPC/s");
		print_spread(point, METRIC_BANDWIDTH, 1e9, "GB/s");
		print_spread(point, METRIC_P50, 1, "ns");
		print_spread(point, METRIC_P99, 1, "ns");
	}
	print_pace(point);
	print_steady(point);
	print_disturbance(point);
	print_counters(point);
	bench_stages_print(point);
	print_thresholds(point, false);
}

static void print_row(const struct bench_point *point)
{
	const struct bench_options *options = &point->options;
	struct bench_figures medians = bench_point_medians(point);
	struct bench_spread rates = bench_figures_spread(point->figures, point->nruns, METRIC_RATE);
	uint32_t nunsteady = 0;
	char why[128];

	printf("%9u %6u %6u %10llu %12.0f", bench_largest_bytes(options), options->depth,
	       options->connections, (ull)options->rate, medians.values[METRIC_RATE]);
	if (options->repeat > 1)
		printf(" %12.0f %12.0f", rates.min, rates.max);
	printf(" %9.3f %9.0f %9.0f %9.0f %9.0f %9llu %7llu", medians.values[METRIC_BANDWIDTH] / 1e9,
	       medians.values[METRIC_P50], medians.values[METRIC_P99], medians.values[METRIC_P999],
	       medians.values[METRIC_MAX], (ull)point->sum.late, (ull)point->sum.errors);
	for (uint32_t i = 0; i < point->nruns; i++)
		nunsteady += options->steady_percent > 0 && options->calls_max == 0 &&
			     !point->runs[i].is_steady;
	printf("%s%s\n", nunsteady > 0 ? "  NOT STEADY" : "",
	       disturbance_is_low(&point->disturbance, why, sizeof(why)) ? "" : "  UNRELIABLE");
}

static void print_table(const struct bench_results *results)
{
	const struct bench_options *options = results->options;
	const struct bench_point *first = &results->points[0];

	printf("%s: driver %s, exposure %s, %s, %.2f s each",
	       bench_workload_name(options->workload), options->profile.driver,
	       bench_exposure_name(first->sum.exposure),
	       options->side != SIDE_BOTH ? "responder elsewhere" : bench_mode_name(options),
	       options->seconds);
	if (options->repeat > 1)
		printf(", medians of %u runs", options->repeat);
	printf("; round trips in ns\n%9s %6s %6s %10s %12s", "size", "depth", "conns", "rate",
	       "RPC/s");
	if (options->repeat > 1)
		printf(" %12s %12s", "least", "largest");
	printf(" %9s %9s %9s %9s %9s %9s %7s\n", "GB/s", "p50", "p99", "p999", "max", "late",
	       "errors");
	for (uint32_t i = 0; i < results->npoints; i++)
		print_row(&results->points[i]);
	for (uint32_t i = 0; i < results->npoints; i++)
		print_thresholds(&results->points[i], true);
}

/* Prints that the runs were interrupted. This line precedes all figures. */
static void print_interrupted(const struct bench_results *results)
{
	if (!bench_results_interrupted(results))
		return;
	if (results->runs_finished == 0)
		printf("INTERRUPTED in the first of %u runs: the figures cover a part of it\n",
		       results->runs_asked);
	else
		printf("INTERRUPTED: the figures cover the %u finished runs, of %u\n",
		       results->runs_finished, results->runs_asked);
}

int bench_report_text(const struct bench_results *results)
{
	print_interrupted(results);
	if (results->options->is_overview)
		bench_overview_print(results);
	else if (results->npoints == 1)
		print_point(&results->points[0]);
	else
		print_table(results);
	if (results->options->nthresholds > 0)
		printf("%u threshold%s not met\n", bench_results_missed(results),
		       bench_results_missed(results) == 1 ? "" : "s");
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "weir-bench: can't write the table to standard output: %s\n",
		strerror(errno));
	return -1;
}
