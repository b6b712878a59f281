/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHARED_H
#define SHARED_H

/*
 * What the two sides of one bench tell each other beside their RPCs: memory that both map when
 * weir-bench starts both (made before the fork, or plain memory between threads).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "counters.h"
#include "cpu.h"

/* Counters of one side's engines, summed, since its warm-up ended. */
struct bench_counters {
	struct weir_engine_stats stats;
	struct bench_cpu cpu;
	uint64_t valid;
};

struct bench_shared {
	_Atomic uint32_t runs_begun;	/* by the requester, when there are several */
	_Atomic uint32_t runs_answered; /* by the responder: it is done with them */
	_Atomic uint32_t
		interrupted; /* by a signal: no run is to begin, and the present one ends */
	/* Of the present run: */
	_Atomic uint32_t responders_ready; /* listeners that are up */
	_Atomic uint32_t failed;	   /* a side could not start */
	_Atomic uint32_t warm;		   /* warm-up is over: the measured time runs */
	_Atomic uint32_t stop;		   /* the measured time is over */
	_Atomic uint32_t verify_failures;  /* found by the responder */
	struct bench_counters responder;
	pid_t child; /* the responder's process, of this one; 0: it is none */
	char addr[108];
};

#endif
