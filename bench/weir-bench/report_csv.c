/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes figures for a spreadsheet: a row for each run of each combination. */
#include <stdio.h>

#include "report.h"

typedef unsigned long long ull;

static void write_run(FILE *file, const struct bench_point *point, uint32_t number)
{
	const struct bench_options *options = &point->options;
	const struct bench_run *run = &point->runs[number];
	const double *values = point->figures[number].values;
	char why[128];

	fprintf(file, "%s,%s,%s,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%u,%.6f,%llu,%.1f,%.0f",
		bench_workload_name(options->workload), options->profile.driver,
		bench_exposure_name(point->sum.exposure), bench_largest_bytes(options),
		options->read_bytes, options->write_bytes, options->depth, options->connections,
		bench_active(options), (unsigned)options->takes_turns, (ull)options->rate,
		(ull)options->think_ns, number + 1, run->seconds, (ull)run->calls,
		values[METRIC_RATE], values[METRIC_BANDWIDTH]);
	for (uint32_t m = METRIC_MIN; m < METRICS; m++)
		fprintf(file, ",%.0f", values[m]);
	fprintf(file, ",%llu,%llu,%llu,%u,%.6f,%llu,%llu,%u\n", (ull)run->late, (ull)run->untaken,
		(ull)run->errors, (unsigned)run->is_cut_short, run->disturbance.steal_ratio,
		(ull)run->disturbance.switches, (ull)run->disturbance.gap_ns,
		(unsigned)disturbance_is_low(&run->disturbance, why, sizeof(why)));
}

int bench_report_csv(FILE *file, const struct bench_results *results)
{
	fputs("workload,driver,exposure,size,read_size,write_size,depth,connections,active,in_turn,"
	      "offered_rpc_per_s,think_ns,run,seconds,calls,rpc_per_s,bytes_per_s",
	      file);
	for (uint32_t m = METRIC_MIN; m < METRICS; m++)
		fprintf(file, ",%s_ns", bench_metric_name((enum bench_metric)m));
	fputs(",late,untaken,errors,interrupted,steal_ratio,context_switches,longest_gap_ns,"
	      "reliable\n",
	      file);
	for (uint32_t i = 0; i < results->npoints; i++)
		for (uint32_t n = 0; n < results->points[i].nruns; n++)
			write_run(file, &results->points[i], n);
	return fflush(file) != 0 || ferror(file) ? -1 : 0;
}
