/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_REQUESTER_H
#define BENCH_REQUESTER_H

#include "hist.h"
#include "options.h"
#include "shared.h"

/* What the requester's side measured, all engines together. */
struct bench_result {
	double seconds;
	uint64_t calls;
	uint64_t bytes; /* of bulk data, both ways */
	uint64_t errors;
	uint64_t verify_failures;
	struct hist rtt;
	struct weir_engine_stats stats; /* since the warm-up's end */
	enum weir_exposure exposure;	/* the policy in force */
	bool connected;
	int first_error; /* status of the first call that failed, 0: none */
};

/* Run the load. 0, or a negative errno that was said on standard error; *result is filled either way. */
int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores, struct bench_result *result);

#endif
