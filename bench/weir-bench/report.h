/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

/* Writes the reports for users and for programs. No report is written during a measurement. */

#include <stdio.h>

#include <jansson.h>

#include "results.h"

/*
 * Checks that the requested reports can be written. The caller does so before the load. Returns 0,
 * or -EIO after it has printed the error on standard error.
 */
int bench_report_check(const struct bench_options *options);

/* Writes all requested reports. Returns 0, or -EIO after it has printed the error. */
int bench_report(const struct bench_results *results);

/*
 * Prints the table, and lines on missed thresholds, on standard output. Returns 0, or -1 after it
 * has printed the error.
 */
int bench_report_text(const struct bench_results *results);

/*
 * Returns one object with all figures, which doc/weir-bench.schema.json describes. The caller frees
 * it.
 */
json_t *bench_report_json(const struct bench_results *results);

/*
 * Returns the figures of the workloads read, write and mixed in the form of fio's output format
 * json+. The caller frees the object.
 */
json_t *bench_report_fio(const struct bench_results *results);

/* These functions write a report to a file. They return 0, or -1 with errno set. */
int bench_report_csv(FILE *file, const struct bench_results *results);
int bench_report_html(FILE *file, const json_t *root);

/* report_overview.c: prints the table of --overview, which has at most 80 columns. */
void bench_overview_print(const struct bench_results *results);

/* stages.c: the times in the stages, as lines of the table and as an object by the name of the
 * stage. The caller frees the object. */
void bench_stages_print(const struct bench_point *point);
json_t *bench_stages_json(const struct bench_point *point);

const char *bench_mode_name(const struct bench_options *options);
const char *bench_exposure_name(enum weir_exposure exposure);

/* Returns the ticks or instructions of one side per RPC, or 0 if it had no RPC. */
double bench_per_rpc(uint64_t amount, uint64_t rpcs);

#endif
