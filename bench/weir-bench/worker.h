/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WORKER_H
#define WORKER_H

/* Threads that poll engines: pinned where cores were named, yielding where they share them. */

#include <sched.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"

/* Pin the calling thread to 'cpu' and make it known to DPDK, so that pools have a cache for it.
 * 'cpu' UINT32_MAX: not pinned. 0 or -errno, said on standard error. */
int bench_worker_start(uint32_t cpu);
void bench_worker_stop(void);
/* Whether threads can be pinned to each of --lcores: 0 or -errno, said on standard error. */
int bench_worker_check(const struct bench_options *options);

struct bench_idle {
	bool yields;
	bool sleeps;
	uint32_t empty; /* polls in a row that found nothing */
};

#define BENCH_SLEEP_US 50

/* How this profile idles: spin where each thread has a core to itself, else yield. */
void bench_idle_init(struct bench_idle *idle, const struct bench_options *options);

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
