/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

/* What was measured, for people and for programs. Nothing of this runs while something is measured.
 */

#include <stdio.h>

#include <jansson.h>

#include "results.h"

/* Before the load: 0 if the files that were asked for can be written, else -EIO, said on standard
 * error. */
int bench_report_check(const struct bench_options *options);

/* All that was asked for. 0, or -EIO that was said. */
int bench_report(const struct bench_results *results);

/* The table, and lines on what was missed, on standard output. 0, or -1 that was said. */
int bench_report_text(const struct bench_results *results);

/* One object with all figures; doc/weir-bench.schema.json describes it. The caller's to free. */
json_t *bench_report_json(const struct bench_results *results);

/* 0, or -1 with errno. */
int bench_report_csv(FILE *file, const struct bench_results *results);
int bench_report_html(FILE *file, const json_t *root);

const char *bench_mode_name(const struct bench_options *options);
const char *bench_exposure_name(enum weir_exposure exposure);

/* Ticks or instructions of one side for each RPC. 0 when it had none. */
double bench_per_rpc(uint64_t amount, uint64_t rpcs);

#endif
