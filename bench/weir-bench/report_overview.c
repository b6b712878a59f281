/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the table of --overview. No line has more than 80 columns. */
#include <stdio.h>
#include <string.h>

#include "lcores.h"
#include "machine.h"
#include "report.h"

#define COLUMNS 80

/* Prints a text that begins with a title, broken at blanks. */
static void print_paragraph(const char *title, const char *text)
{
	int column = printf("%s:", title);

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column + 1 + (int)len > COLUMNS) {
			printf("\n ");
			column = 1;
		}
		column += printf(" %.*s", (int)len, text);
		text += len;
		text += *text == ' ';
	}
	printf("\n");
}

/* Writes a time in us, with about three digits. */
static void format_us(double ns, char *text, size_t bytes)
{
	snprintf(text, bytes, "%.*f", ns < 9995 ? 2 : ns < 99950 ? 1 : 0, ns / 1000);
}

static void format_size(uint32_t size, char *text, size_t bytes)
{
	if (size >= 1u << 20)
		snprintf(text, bytes, "%um", size >> 20);
	else if (size >= 1024)
		snprintf(text, bytes, "%uk", size >> 10);
	else
		snprintf(text, bytes, "%u", size);
}

static const char *load_name(const struct bench_point *point)
{
	enum bench_workload workload = point->options.workload;

	return workload == WORKLOAD_MIXED ? "70/30 mix" : bench_workload_name(workload);
}

/* Returns the cycles of both sides, as far as they run in this program, for one call. */
static double cycles(const struct bench_point *point)
{
	double sum = bench_per_rpc(point->sum.cpu.busy_ticks,
				   bench_count(&point->sum.stats, "calls_completed"));

	if (point->responder.valid)
		sum += bench_per_rpc(point->responder.cpu.busy_ticks,
				     bench_count(&point->responder.stats, "replies_sent"));
	return sum;
}

static void overview_print_row(const struct bench_point *point)
{
	static const enum bench_metric times[] = {METRIC_P50, METRIC_P99, METRIC_P999};
	struct bench_figures medians = bench_point_medians(point);
	char size[16], us[16], why[128];

	format_size(point->options.size_bytes, size, sizeof(size));
	printf("%-9s %4s %5u %11.0f %7.2f", load_name(point), size, point->options.depth,
	       medians.values[METRIC_RATE], medians.values[METRIC_BANDWIDTH] / 1e9);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		format_us(medians.values[times[i]], us, sizeof(us));
		printf(" %8s", us);
	}
	printf(" %9.0f%s\n", cycles(point),
	       disturbance_is_low(&point->disturbance, why, sizeof(why)) ? "" : " !");
}

static void print_heading(const struct bench_results *results)
{
	const struct bench_options *options = results->options;
	char lcores[128], text[400];

	bench_lcores_list(options, lcores, sizeof(lcores));
	snprintf(text, sizeof(text),
		 "driver %s, exposure policy %s, %s, CPUs %s, %.2g s for each row",
		 options->profile.driver, bench_exposure_name(results->points[0].sum.exposure),
		 options->side != SIDE_BOTH ? "responder elsewhere" : bench_mode_name(options),
		 lcores, options->seconds);
	print_paragraph("Overview", text);
	printf("%-9s %4s %5s %11s %7s %8s %8s %8s %9s\n", "load", "size", "depth", "RPC/s", "GB/s",
	       "p50 us", "p99 us", "p99.9 us", "cycles/op");
}

/* Prints how much the runs were disturbed, and explains the marks of rows. */
static void overview_print_disturbance(const struct bench_results *results)
{
	struct disturbance all = {0};
	char text[400], why[128];

	for (uint32_t i = 0; i < results->npoints; i++)
		disturbance_add(&all, &results->points[i].disturbance);
	if (all.has_pollers)
		snprintf(text, sizeof(text),
			 "%.1f %% of a CPU's time stolen, up to %.0f context switches per second, "
			 "longest gap between two polls %.2f ms",
			 100 * all.steal_ratio, all.switches_per_s, (double)all.gap_ns / 1e6);
	else
		snprintf(text, sizeof(text), "%.1f %% of a CPU's time stolen",
			 100 * all.steal_ratio);
	print_paragraph("Disturbed", text);
	if (disturbance_is_low(&all, why, sizeof(why)))
		return;
	snprintf(text, sizeof(text),
		 "do not trust the rows with '!', because %s. End other programs, or use other "
		 "CPUs, and measure again.",
		 why);
	print_paragraph("Unreliable", text);
}

void bench_overview_print(const struct bench_results *results)
{
	const struct bench_options *options = results->options;
	char text[1024];

	print_heading(results);
	for (uint32_t i = 0; i < results->npoints; i++)
		overview_print_row(&results->points[i]);
	overview_print_disturbance(results);
	if (options->side == SIDE_BOTH) {
		bench_machine(text, sizeof(text));
		print_paragraph("Machine", text);
		bench_machine_advice(options, text, sizeof(text));
		if (text[0] != '\0')
			print_paragraph("Faster with", text);
	}
	print_paragraph("Try next",
			"weir-bench --workload read --depth 1:64:x4 --time 1 --repeat 3");
}
