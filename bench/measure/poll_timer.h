/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POLL_TIMER_H
#define POLL_TIMER_H

/*
 * Turns of a poll loop: when one begins, and how much of the time was of those that found work. A
 * look at the clock takes as long as the rest of a turn that finds nothing, and what comes
 * meanwhile waits for it: so of these one in four looks. One that found work does; what it took is
 * the time since the look before, less the idle turns between, each as long as the quickest.
 */

#include <stdbool.h>
#include <stdint.h>

#define BENCH_POLL_TIMER_IDLE 4u /* idle turns for one look */

struct bench_poll_timer {
	uint64_t now_ticks;   /* the latest look at the clock */
	uint64_t busy_ticks;  /* of turns that found work */
	uint64_t group_ticks; /* of BENCH_POLL_TIMER_IDLE idle turns, at the least; 0: not known yet
			       */
	uint32_t work;	      /* of the turn that ends: the loop's to set */
	uint32_t idle;	      /* turns since that look */
	bool looks_each;
};

/* 'looks_each': where an idle turn may give the CPU away, so that no two are alike, or where calls
 * wait for their time. */
static inline void bench_poll_timer_init(struct bench_poll_timer *timer, bool looks_each)
{
	*timer = (struct bench_poll_timer){.looks_each = looks_each};
}

/* The first turn begins, or one behind something else that took time. */
static inline void bench_poll_timer_resume(struct bench_poll_timer *timer, uint64_t now_ticks)
{
	timer->now_ticks = now_ticks;
	timer->work = timer->idle = 0;
}

/* A turn is over: whether the next one is to look at the clock. */
static inline bool bench_poll_timer_look(struct bench_poll_timer *timer)
{
	return timer->work > 0 || ++timer->idle == BENCH_POLL_TIMER_IDLE || timer->looks_each;
}

/* Record the time of a turn for which bench_poll_timer_look() returned true. */
static inline void bench_poll_timer_at(struct bench_poll_timer *timer, uint64_t now_ticks)
{
	uint64_t since = now_ticks - timer->now_ticks;
	/* Estimated time of the idle turns since the latest look at the clock. It is 0 if each turn
	 * looks. */
	uint64_t idle = timer->group_ticks * timer->idle / BENCH_POLL_TIMER_IDLE;

	if (timer->work > 0)
		timer->busy_ticks += since > idle ? since - idle : 0;
	else if (timer->group_ticks == 0 || since < timer->group_ticks)
		timer->group_ticks = since;
	bench_poll_timer_resume(timer, now_ticks);
}

#endif
