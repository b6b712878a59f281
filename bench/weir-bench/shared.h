/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHARED_H
#define SHARED_H

/*
 * Memory in which the two sides of one bench exchange information beside their RPCs, if weir-bench
 * starts both. It is made before the fork, or is plain memory between threads.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "counters.h"
#include "cpu.h"

/* Sums of the counters of one side's engines, from the end of its warm-up. */
struct bench_counters {
	struct weir_engine_stats stats;
	struct bench_cpu cpu;
	uint64_t valid;
};

struct bench_shared {
	_Atomic uint32_t runs_begun;	/* number of runs that the requester has begun */
	_Atomic uint32_t runs_answered; /* number of runs that the responder has finished */
	_Atomic uint32_t
		interrupted; /* set by a signal: no run may begin, and the present one ends */
	/* The members below belong to the present run. */
	_Atomic uint32_t responders_ready; /* number of listeners that are ready */
	_Atomic uint32_t failed;	   /* a side could not start */
	_Atomic uint32_t warm;		   /* the warm-up is over and the measured time runs */
	_Atomic uint32_t stop;		   /* the measured time is over */
	_Atomic uint32_t verify_failures;  /* failures that the responder found */
	struct bench_counters responder;
	pid_t child; /* the responder's process, a child of this one; 0 if there is none */
	char addr[108];
};

#endif
