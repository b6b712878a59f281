/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EXAMPLE_H
#define EXAMPLE_H

/* Parts that the examples share: the clock, the end by a signal, and errors. */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The program has got SIGINT or SIGTERM. A weak definition is the same for all files of a program.
 */
__attribute__((weak)) atomic_bool example_ends;

/* Returns the time for weir_engine_poll(), in ns. */
static inline uint64_t example_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void example_on_signal(int number)
{
	(void)number;
	atomic_store(&example_ends, true);
}

/* Lets SIGINT and SIGTERM set example_ends. A thread that sleeps sees this within 100 ms. */
static inline void example_catch_signals(void)
{
	struct sigaction action = {.sa_handler = example_on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Ends the program if 'rc' is a negative errno. */
static inline void example_check(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-rc));
	exit(EXIT_FAILURE);
}

/* Ends the program with an error if a part of its output could not be written. */
static inline void example_check_output(void)
{
	bool failed = ferror(stdout) != 0;

	example_check(fflush(stdout) != 0 || failed ? -EIO : 0, "standard output");
}

#endif
