/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_INTERRUPT_H
#define BENCH_INTERRUPT_H

/*
 * SIGINT, SIGTERM, SIGHUP unless it is ignored, and SIGXCPU. The first one ends a responder that
 * stands alone, or cuts the present run short: what was measured is reported. The next one has its
 * default action and ends the process at once.
 */

#include "shared.h"

/*
 * Catch them from now on, in this process and in those that it forks; they set shared->stop where
 * 'is_responder' is true, and shared->interrupted elsewhere.
 */
void bench_interrupt_catch(struct bench_shared *shared, bool is_responder);

static inline bool bench_interrupted(const struct bench_shared *shared)
{
	return atomic_load_explicit(&shared->interrupted, memory_order_relaxed) != 0;
}

#endif
