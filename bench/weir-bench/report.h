/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

#include "requester.h"

void bench_report_text(const struct bench_options *options, const struct bench_shared *shared,
		       const struct bench_result *result);

/* 0, or -errno that was said on standard error. */
int bench_report_json(const struct bench_options *options, const struct bench_shared *shared,
		      const struct bench_result *result);

#endif
