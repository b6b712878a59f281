/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POLL_TIMER_H
#define POLL_TIMER_H

/*
 * Measures the rounds of a poll loop: the start of each round, and the total time of the rounds
 * that found work. A clock reading takes as long as the rest of an idle round, and messages that
 * arrive during the reading are handled later. So the clock is read after only one of four idle
 * rounds. The clock is always read after a round that found work. The time of such a round is the
 * time since the previous reading, minus the time of the idle rounds in between. The time of these
 * idle rounds is estimated from the shortest time that idle rounds have taken.
 *
 * The longest time between two clock readings shows how long the thread could not poll. It includes
 * up to BENCH_POLL_TIMER_IDLE idle rounds.
 */

#include <stdbool.h>
#include <stdint.h>

#define BENCH_POLL_TIMER_IDLE 4u /* idle rounds for one clock reading */

struct bench_poll_timer {
	uint64_t now_ticks;   /* value of the time stamp counter at the latest clock reading */
	uint64_t busy_ticks;  /* ticks in rounds that found work */
	uint64_t gap_ticks;   /* longest time between two clock readings */
	uint64_t group_ticks; /* shortest time of BENCH_POLL_TIMER_IDLE idle rounds; 0: not known
				 yet */
	uint32_t work;	 /* work of the round that is about to end; the loop sets this member */
	uint32_t idle;	 /* idle rounds since the latest clock reading */
	bool looks_each; /* the clock is read after each round */
};

/*
 * Initializes a timer. 'looks_each' requests a clock reading after each round. The caller sets it
 * in these cases:
 * - An idle round can yield the CPU, so that idle rounds take different times.
 * - Calls have to start at planned times.
 */
static inline void bench_poll_timer_init(struct bench_poll_timer *timer, bool looks_each)
{
	*timer = (struct bench_poll_timer){.looks_each = looks_each};
}

/* Starts the first round. Also starts a round after work that does not belong to the loop. */
static inline void bench_poll_timer_resume(struct bench_poll_timer *timer, uint64_t now_ticks)
{
	timer->now_ticks = now_ticks;
	timer->work = timer->idle = 0;
}

/* Ends a round. Returns true if the caller must read the clock and call bench_poll_timer_at(). */
static inline bool bench_poll_timer_look(struct bench_poll_timer *timer)
{
	return timer->work > 0 || ++timer->idle == BENCH_POLL_TIMER_IDLE || timer->looks_each;
}

/* Records the time of a round for which bench_poll_timer_look() returned true. */
static inline void bench_poll_timer_at(struct bench_poll_timer *timer, uint64_t now_ticks)
{
	uint64_t since = now_ticks - timer->now_ticks;
	/*
	 * Estimated time of the idle rounds since the latest clock reading. The time is 0 with
	 * 'looks_each'.
	 */
	uint64_t idle = timer->group_ticks * timer->idle / BENCH_POLL_TIMER_IDLE;

	if (since > timer->gap_ticks)
		timer->gap_ticks = since;
	if (timer->work > 0)
		timer->busy_ticks += since > idle ? since - idle : 0;
	else if (timer->group_ticks == 0 || since < timer->group_ticks)
		timer->group_ticks = since;
	bench_poll_timer_resume(timer, now_ticks);
}

#endif
