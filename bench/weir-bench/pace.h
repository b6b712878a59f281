/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PACE_H
#define PACE_H

/*
 * Determines the times at which calls start.
 *
 * Closed loop: the end of a call starts the next one, at once or after a think time.
 *
 * Open loop: the times of arrivals are fixed in advance and do not depend on earlier calls. An idle
 * slot takes each arrival. If all slots are busy, the arrival waits and is late. Round trips are
 * measured from the time at which the arrival was due. Delays by a slow responder therefore count
 * in full (no coordinated omission).
 */

#include <stdbool.h>
#include <stdint.h>

struct load_slot;
struct bench_options;

struct pace {
	bool is_open_loop;
	bool is_waiting; /* slots wait before their calls, because of the open loop or a think time
			  */
	/*
	 * A ring of the slots without a call, in the order in which they became idle. The ring has
	 * space for all slots.
	 */
	struct load_slot **idle;
	uint32_t mask, head, tail;
	uint64_t think_ticks; /* think time of a closed loop */
	/* Arrival number n, from 0, is due at begin + (n + phase) * ticks_per_call. */
	double ticks_per_call, phase;
	uint64_t begin_ticks;
	uint64_t arrivals;   /* number of arrivals that slots have taken */
	uint64_t due_ticks;  /* time at which the next arrival is due */
	uint64_t busy_ticks; /* latest time at which an arrival was due and no slot was idle */
	uint64_t late;	     /* number of arrivals that had to wait for a slot */
};

/*
 * Sets up the pace. 'share' is this client's part of the rate. 'phase' (0 to 1) is the position of
 * this client's first arrival in the interval between two arrivals. Returns 0 or -ENOMEM.
 */
int pace_init(struct pace *pace, const struct bench_options *options, uint32_t nslots, double share,
	      double phase);
void pace_fini(struct pace *pace);

/* Drops the arrivals that slots have not taken, and restarts the arrivals at 'now_ticks'. */
void pace_restart(struct pace *pace, uint64_t now_ticks);

/* Adds a slot that has no call to the ring of idle slots. */
void pace_put(struct pace *pace, struct load_slot *slot);

/* Starts the calls that are due by 'now_ticks'. Returns the number of these calls. */
uint32_t pace_start_due(struct pace *pace, uint64_t now_ticks);

/* Returns the time at which the next call of an idle slot starts, or UINT64_MAX if none waits. */
uint64_t pace_next(const struct pace *pace);

/* Returns the number of arrivals that were due before 'end_ticks' and that no slot has taken. */
uint64_t pace_untaken(const struct pace *pace, uint64_t end_ticks);

/* Returns the time at which arrival number 'n' is due. */
uint64_t pace_due(const struct pace *pace, uint64_t n);

#endif
