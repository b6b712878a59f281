/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_REQUESTER_H
#define BENCH_REQUESTER_H

#include "cpu.h"
#include "hist.h"
#include "options.h"
#include "series.h"
#include "shared.h"

/* The results of the requester's side, for all engines together. */
struct bench_result {
	double seconds;
	uint64_t calls;
	uint64_t bytes; /* bytes of bulk data in both directions */
	uint64_t errors;
	uint64_t verify_failures;
	uint64_t least_calls, most_calls; /* fewest and most 'calls' on one connection with load */
	uint64_t idle_calls;		  /* calls on connections without load */
	uint64_t late;	  /* open loop: arrivals that found every slot busy; 'rtt' includes them */
	uint64_t untaken; /* late arrivals that were not sent by the end; 'calls' excludes them */
	struct hist rtt;
	struct series series;
	struct bench_cpu cpu;
	bool is_steady;	    /* with --steady: the rate became steady in time */
	double rate_spread; /* with --steady: spread of the latest rates, of the worst client */
	double steady_after_seconds;	/* with --steady: time after the warm-up */
	struct weir_engine_stats stats; /* counted from the end of the warm-up */
	enum weir_exposure exposure;	/* the effective policy */
	bool connected;
	bool is_cut_short; /* a signal came before the measurement was complete */
	int first_error;   /* status of the first failed call, or 0 */
};

/*
 * Runs the load. Returns 0, or a negative errno after it has printed the reason on standard error.
 * *result is filled in either case.
 */
int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores, struct bench_result *result);

#endif
