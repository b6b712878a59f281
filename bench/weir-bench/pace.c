/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines when calls start, in a closed loop or an open loop. */
#include "pace.h"

#include <errno.h>
#include <stdlib.h>

#include "client.h"

int pace_init(struct pace *pace, const struct bench_options *options, uint32_t nslots, double share,
	      double phase)
{
	uint32_t room = 1;

	while (room < nslots)
		room *= 2;
	*pace = (struct pace){
		.is_open_loop = options->rate > 0,
		.is_waiting = options->rate > 0 || options->think_ns > 0,
		.mask = room - 1,
		.phase = phase,
		.think_ticks = bench_ns_to_ticks(options->think_ns),
	};
	if (pace->is_open_loop)
		pace->ticks_per_call = (double)rte_get_tsc_hz() / ((double)options->rate * share);
	pace->idle = calloc(room, sizeof(pace->idle[0]));
	return pace->idle ? 0 : -ENOMEM;
}

void pace_fini(struct pace *pace)
{
	free(pace->idle);
}

uint64_t pace_due(const struct pace *pace, uint64_t n)
{
	return pace->begin_ticks + (uint64_t)(((double)n + pace->phase) * pace->ticks_per_call);
}

void pace_restart(struct pace *pace, uint64_t now_ticks)
{
	pace->begin_ticks = now_ticks;
	pace->arrivals = 0;
	pace->late = 0;
	pace->busy_ticks = 0;
	pace->due_ticks = pace_due(pace, 0);
}

void pace_put(struct pace *pace, struct load_slot *slot)
{
	pace->idle[pace->tail++ & pace->mask] = slot;
}

static uint32_t start_arrivals(struct pace *pace, uint64_t now_ticks)
{
	uint32_t n = 0;

	while (pace->due_ticks <= now_ticks) {
		uint64_t due = pace->due_ticks;

		if (pace->head == pace->tail) {
			pace->busy_ticks = now_ticks;
			break;
		}
		pace->late += due <= pace->busy_ticks;
		pace->due_ticks = pace_due(pace, ++pace->arrivals);
		if (!load_slot_next(pace->idle[pace->head++ & pace->mask], NULL, due))
			break;
		n++;
	}
	return n;
}

/*
 * Starts the calls of slots whose think time is over. All think times are equal, so the slot that
 * is idle for the longest time is due first.
 */
static uint32_t start_thinkers(struct pace *pace, uint64_t now_ticks)
{
	uint32_t n = 0;

	while (pace->head != pace->tail &&
	       pace->idle[pace->head & pace->mask]->due_ticks <= now_ticks) {
		if (!load_slot_next(pace->idle[pace->head++ & pace->mask], NULL, rte_rdtsc()))
			break;
		n++;
	}
	return n;
}

uint32_t pace_start_due(struct pace *pace, uint64_t now_ticks)
{
	return pace->is_open_loop ? start_arrivals(pace, now_ticks)
				  : start_thinkers(pace, now_ticks);
}

uint64_t pace_next(const struct pace *pace)
{
	if (pace->head == pace->tail)
		return UINT64_MAX;
	return pace->is_open_loop ? pace->due_ticks
				  : pace->idle[pace->head & pace->mask]->due_ticks;
}

uint64_t pace_untaken(const struct pace *pace, uint64_t end_ticks)
{
	uint64_t due;

	if (!pace->is_open_loop || pace->due_ticks >= end_ticks)
		return 0;
	due = (uint64_t)((double)(end_ticks - pace->begin_ticks) / pace->ticks_per_call -
			 pace->phase);
	/*
	 * The arrivals with numbers below 'due' are due before the end. Rounding can make 'due'
	 * wrong by one, which these loops correct.
	 */
	while (due > 0 && pace_due(pace, due - 1) >= end_ticks)
		due--;
	while (pace_due(pace, due) < end_ticks)
		due++;
	return due > pace->arrivals ? due - pace->arrivals : 0;
}
