/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WORKER_H
#define WORKER_H

/*
 * Starts and ends threads that poll engines, and lets them idle. The threads are pinned if cores
 * were named, and yield if they share cores.
 */

#include <sched.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"

/*
 * Pins the calling thread to 'cpu', unless that is UINT32_MAX, and registers it with DPDK, so that
 * pools have a cache for it. Returns 0, or -errno after it has printed the reason on standard
 * error.
 */
int bench_worker_start(uint32_t cpu);
void bench_worker_stop(void);
/*
 * Checks that a thread can be pinned to each core of --lcores. Returns 0, or -errno after it has
 * printed the reason on standard error.
 */
int bench_worker_check(const struct bench_options *options);

struct bench_idle {
	bool yields;
	bool sleeps;
	uint32_t empty; /* consecutive polls without work */
};

#define BENCH_SLEEP_US 50

/*
 * Sets how threads idle, by the profile's key idle. With 'auto', threads spin if each has its own
 * core, and otherwise yield.
 */
void bench_idle_init(struct bench_idle *idle, const struct bench_options *options);

/* Yields or sleeps if the latest 64 polls found no work. 'work' is the work of the latest poll. */
static inline void bench_idle(struct bench_idle *idle, uint32_t work)
{
	if (work > 0) {
		idle->empty = 0;
	} else if (idle->yields && ++idle->empty > 64) {
		idle->empty = 0;
		if (idle->sleeps)
			usleep(BENCH_SLEEP_US);
		else
			sched_yield();
	}
}

#endif
