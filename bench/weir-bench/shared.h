/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHARED_H
#define SHARED_H

/*
 * The memory in which both sides of one bench exchange information beside their RPCs, if weir-bench
 * starts both sides. If they are processes, the memory is created before the fork, and both share
 * it. If they are threads, it is ordinary memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "counters.h"
#include "cpu.h"
#include "disturbance.h"
#include "stages.h"

#define BENCH_LOG_LINES 32u

/* The sums of the counters of one side's engines, counted from the end of the warm-up. */
struct bench_counters {
	struct bench_counts stats;
	struct bench_cpu cpu;
	struct disturbance disturbance;
	struct bench_stages stages; /* from the start of the run */
	uint64_t valid;		    /* the sums were made */
};

struct bench_shared {
	_Atomic uint32_t runs_begun;	/* number of runs that the requester has begun */
	_Atomic uint32_t runs_answered; /* number of runs that the responder has finished */
	_Atomic uint32_t
		interrupted; /* set by a signal: no new run begins, and the present run ends */
	/* The members below belong to the present run. */
	_Atomic uint32_t responders_ready; /* number of listeners that are ready */
	_Atomic uint32_t failed;	   /* number of sides or threads that could not start */
	_Atomic uint32_t warm;		   /* the warm-up is over and the measured time runs */
	_Atomic uint32_t stop;		   /* the measured time is over */
	_Atomic uint32_t verify_failures;  /* wrong data that the responder found */
	struct bench_counters responder;   /* counters of the responder's side */
	_Atomic uint32_t capture_failed;   /* the file of a capture is not complete */
	/* bench_log: marks of the lines that were printed; 0: free */
	_Atomic uint64_t printed[BENCH_LOG_LINES];
	pid_t child; /* the responder's process, a child of this one; 0 if there is none */
	char addr[108];
};

#endif
