/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_REQUESTER_H
#define BENCH_REQUESTER_H

#include "cpu.h"
#include "histogram.h"
#include "options.h"
#include "series.h"
#include "shared.h"

/*
 * The results of the requester's side. They are sums over all engines, unless a member says
 * otherwise.
 */
struct bench_result {
	double seconds; /* measured time, of the client with the longest */
	uint64_t calls;
	uint64_t bytes; /* bytes of bulk data in both directions */
	uint64_t errors;
	uint64_t verify_failures;
	uint64_t least_calls, most_calls; /* the smallest and largest number of calls on one
					     connection with load */
	uint64_t idle_calls;		  /* calls on connections without load */
	uint64_t late;	  /* open loop: arrivals for which no slot was idle; 'rtt' includes them */
	uint64_t untaken; /* late arrivals that were not sent by the end; 'calls' does not include
			     them */
	struct weir_histogram rtt;
	struct bench_stages stages; /* from the start of the run */
	struct series series;
	struct bench_cpu cpu;
	struct disturbance disturbance;
	bool is_steady;	    /* with --steady: the rate became steady in time */
	double rate_spread; /* with --steady: spread of the latest rates, of the client with the
				 largest spread */
	double steady_after_seconds; /* with --steady: time from the end of the warm-up until the
				  rate was steady */
	/* counters of the engines, from the end of the warm-up on */
	struct bench_counts stats;
	enum weir_exposure exposure; /* the exposure policy that was in effect */
	bool connected;		     /* the connections were established */
	bool is_cut_short;	     /* a signal arrived before the measurement was complete */
	int first_error;	     /* -errno of the first failed call, or 0 */
};

/*
 * Runs the load of one run, on the threads of a runtime. Returns 0, or a negative errno after it
 * has printed the reason on standard error. *result is filled in either case.
 */
int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			struct bench_result *result);

#endif
