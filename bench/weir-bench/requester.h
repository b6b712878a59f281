/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_REQUESTER_H
#define BENCH_REQUESTER_H

#include "cpu.h"
#include "hist.h"
#include "options.h"
#include "series.h"
#include "shared.h"

/* What the requester's side measured, all engines together. */
struct bench_result {
	double seconds;
	uint64_t calls;
	uint64_t bytes; /* of bulk data, both ways */
	uint64_t errors;
	uint64_t verify_failures;
	uint64_t least_calls, most_calls; /* of 'calls', on one connection with load */
	uint64_t idle_calls;		  /* on those without load */
	uint64_t late;	  /* open loop: arrivals that found every slot busy; rtt has them all */
	uint64_t untaken; /* of these, those that were not sent by the end; calls is without them */
	struct hist rtt;
	struct series series;
	struct bench_cpu cpu;
	bool settled;			/* with --steady: the rate settled in time */
	double settle_spread;		/* of the latest rates then, the worst client's */
	double settle_seconds;		/* after the warm-up */
	struct weir_engine_stats stats; /* since the warm-up's end */
	enum weir_exposure exposure;	/* the policy in force */
	bool connected;
	bool is_cut_short; /* a signal came before all was measured */
	int first_error;   /* status of the first call that failed, 0: none */
};

/* Run the load. 0, or a negative errno that was said on standard error; *result is filled either
 * way. */
int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores, struct bench_result *result);

#endif
