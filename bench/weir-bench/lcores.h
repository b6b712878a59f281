/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_LCORES_H
#define BENCH_LCORES_H

/* Assigns the cores of --lcores to the two sides, whose threads are those of weir's runtime. */

#include "options.h"

/*
 * Checks that a thread can be pinned to each core of --lcores. Returns 0, or -errno after it has
 * printed the reason on standard error.
 */
int bench_lcores_check(const struct bench_options *options);

/*
 * Makes the profile from which the runtime starts the threads of one side, which has at most
 * 'nthreads_max' threads. If both sides run in this program, the requester gets the first half of
 * the cores and the responder the second half. If there is only one core, both sides use it.
 * Returns the number of threads, at least 1.
 *
 * If the profile leaves 'idle' to the program, the threads spin if each has a core of its own, and
 * otherwise yield.
 */
uint32_t bench_lcores_profile(const struct bench_options *options, bool is_responder,
			      uint32_t nthreads_max, struct weir_profile *profile);

/* Writes the list of cores in the form of the profile's key 'lcores'. */
void bench_lcores_list(const struct bench_options *options, char *text, size_t bytes);

/* Returns whether a thread without work does more than to poll again: a thread of the side whose
 * profile bench_lcores_profile() has written. */
bool bench_lcores_idles(const struct weir_profile *profile, uint32_t thread);

#endif
