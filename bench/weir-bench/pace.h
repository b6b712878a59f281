/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PACE_H
#define PACE_H

/*
 * When calls are made.
 *
 * Closed loop: a call's end makes the next, at once or after a time to think.
 *
 * Open loop: arrivals are due at times that were fixed before, whatever became of earlier ones; a
 * slot that is idle takes each. An arrival that finds all slots busy waits its turn and is late.
 * Round trips are measured from the time that was due, so that what a slow responder kept from
 * being sent counts in full (no coordinated omission).
 */

#include <stdbool.h>
#include <stdint.h>

struct load_slot;
struct bench_options;

struct pace {
	bool is_open_loop;
	bool is_waiting; /* slots do not go on at once: open loop, or time to think */
	/* Slots without a call, the longest idle first; the ring has room for all. */
	struct load_slot **idle;
	uint32_t mask, head, tail;
	uint64_t think_ticks;
	/* Arrival number n, from 0, is due at begin + (n + phase) * ticks_per_call. */
	double ticks_per_call, phase;
	uint64_t begin_ticks;
	uint64_t arrivals;   /* taken since the beginning */
	uint64_t due_ticks;  /* the next one */
	uint64_t busy_ticks; /* the last time that one found no idle slot */
	uint64_t late;	     /* that found none */
};

/* 'share' is the part of the rate that falls to this client, 'phase' (0 to 1) where in the interval
 * it begins. 0 or -ENOMEM. */
int pace_init(struct pace *pace, const struct bench_options *options, uint32_t nslots, double share,
	      double phase);
void pace_fini(struct pace *pace);

/* Forget arrivals that were not taken; the next ones count from now. */
void pace_restart(struct pace *pace, uint64_t now_ticks);

/* A slot has no call. */
void pace_put(struct pace *pace, struct load_slot *slot);

/* Make the calls that are due by 'now_ticks'; how many. */
uint32_t pace_start_due(struct pace *pace, uint64_t now_ticks);

/* Arrivals that were due before 'end_ticks' and not taken. */
uint64_t pace_untaken(const struct pace *pace, uint64_t end_ticks);

/* When arrival number 'n' is due. */
uint64_t pace_due(const struct pace *pace, uint64_t n);

#endif
