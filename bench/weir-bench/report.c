/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes all reports that the options ask for. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int bench_report_check(const struct bench_options *options)
{
	const char *const paths[] = {options->json, options->fio_json, options->csv, options->html};

	for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i] && bench_output_check(paths[i]) != 0)
			return -EIO;
	return 0;
}

static int report_csv(FILE *file, const void *results)
{
	return bench_report_csv(file, results);
}

static int report_html(FILE *file, const void *results)
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

	if (!is_stdout(options->json) && !is_stdout(options->fio_json) && !is_stdout(options->csv))
		rc |= bench_report_text(results);
	if (options->json)
		rc |= bench_output_write_json(bench_report_json(results), options->json);
	if (options->fio_json)
		rc |= bench_output_write_json(bench_report_fio(results), options->fio_json);
	if (options->csv)
		rc |= bench_output_write(options->csv, report_csv, results);
	if (options->html)
		rc |= bench_output_write(options->html, report_html, results);
	return rc == 0 ? 0 : -EIO;
}
