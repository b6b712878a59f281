/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_LOG_H
#define BENCH_LOG_H

/*
 * Prints the log of weir on standard error. Both sides have the same profile, and a sweep creates
 * new engines for each combination. A line about the profile, the memory or the driver would
 * therefore be printed many times. It is printed once, whichever side writes it first. Two such
 * lines count as the same if they differ only in numbers. Errors, and lines about connections, are
 * always printed.
 */

#include "shared.h"

/* Starts. The responder's process, which is forked later, has the same log. */
void bench_log_start(struct bench_shared *shared);
/* Ends, before the shared memory is released. */
void bench_log_end(void);

#endif
