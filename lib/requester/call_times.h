/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CALL_TIMES_H
#define CALL_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* The times of a call that is measured, by engine_clock_ns(). call_stages.h sets the members that
 * stages need, if the engine measures stages. */
struct call_times {
	uint64_t begin_ns; /* the submission */
	uint64_t
		stage_ns; /* the beginning of the present stage, or of QUEUED and CREDIT together */
	uint64_t queued_ns; /* total time in the stage QUEUED that has ended */
	uint64_t credit_ns; /* the same for the stage CREDIT */
	/* value of credit_wait_ns() at stage_ns */
	uint64_t credit_mark_ns;
};

/* The times at which a connection had too few credits for its queued calls. */
struct credit_wait {
	bool is_waiting;     /* it has too few at present */
	uint64_t changed_ns; /* time at which is_waiting changed */
	uint64_t total_ns;   /* length of the waits that have ended */
};

/* Returns for how long the connection has had too few credits in total. */
static inline uint64_t credit_wait_ns(const struct credit_wait *wait, uint64_t now_ns)
{
	return wait->total_ns + (wait->is_waiting ? now_ns - wait->changed_ns : 0);
}

#endif
