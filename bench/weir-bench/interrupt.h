/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_INTERRUPT_H
#define BENCH_INTERRUPT_H

/*
 * Handles SIGINT, SIGTERM, SIGXCPU, and SIGHUP unless it is ignored. The first signal ends a
 * separate responder. In any other case, the first signal cuts the present run short, and the
 * figures measured so far are reported. The next signal has its default action and ends the process
 * at once.
 */

#include "shared.h"

/*
 * Installs the handlers, for this process and its future children. They set shared->stop if
 * 'is_responder' is true, otherwise shared->interrupted.
 */
void bench_interrupt_catch(struct bench_shared *shared, bool is_responder);

/* Returns true if a signal has asked for the end of the runs. */
static inline bool bench_interrupted(const struct bench_shared *shared)
{
	return atomic_load_explicit(&shared->interrupted, memory_order_relaxed) != 0;
}

#endif
