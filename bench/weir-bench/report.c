/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *bench_exposure_name(enum weir_exposure exposure)
{
	return exposure == WEIR_EXPOSURE_WINDOW ? "window" : "pool";
}

const char *bench_mode_name(const struct bench_options *options)
{
	if (options->side != SIDE_BOTH)
		return "remote";
	return options->use_threads ? "threads" : "processes";
}

double bench_per_rpc(uint64_t amount, uint64_t rpcs)
{
	return rpcs ? (double)amount / (double)rpcs : 0;
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int check_writable(const char *path)
{
	FILE *file;

	if (!path || is_stdout(path))
		return 0;
	file = fopen(path, "ae");
	if (!file) {
		fprintf(stderr, "weir-bench: can't write '%s': %s\n", path, strerror(errno));
		return -EIO;
	}
	fclose(file);
	return 0;
}

int bench_report_check(const struct bench_options *options)
{
	if (check_writable(options->json) != 0 || check_writable(options->csv) != 0)
		return -EIO;
	return check_writable(options->html);
}

/* Write to the file at 'path', or to standard output. 0, or -EIO that was said. */
static int report_to(const char *path, const struct bench_results *results,
		     int (*report)(FILE *file, const struct bench_results *results))
{
	FILE *file = is_stdout(path) ? stdout : fopen(path, "we");
	int rc = file ? report(file, results) : -1;

	if (file && file != stdout && fclose(file) != 0)
		rc = -1;
	if (rc == 0)
		return 0;
	fprintf(stderr, "weir-bench: can't write '%s': %s\n", path, strerror(errno));
	return -EIO;
}

static int report_html(FILE *file, const struct bench_results *results)
{
	json_t *root = bench_report_json(results);
	int rc = bench_report_html(file, root);

	json_decref(root);
	return rc;
}

int bench_report(const struct bench_results *results)
{
	const struct bench_options *options = results->options;
	int rc = 0;

	if (!is_stdout(options->json) && !is_stdout(options->csv))
		bench_report_text(results);
	if (options->json)
		rc |= bench_json_write(bench_report_json(results), options->json);
	if (options->csv)
		rc |= report_to(options->csv, results, bench_report_csv);
	if (options->html)
		rc |= report_to(options->html, results, report_html);
	return rc == 0 ? 0 : -EIO;
}
