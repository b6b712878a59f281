/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_TIMES_H
#define CALL_TIMES_H

#include <stdint.h>

/* The times of a call that is measured, by engine_clock_ns(). call_stages.h sets the members that
 * stages need, if the engine measures stages. */
struct call_times {
	uint64_t begin_ns;  /* the submission */
	uint64_t stage_ns;  /* the beginning of the present stage */
	uint64_t queued_ns; /* total time in the stage QUEUED that has ended */
};

#endif
