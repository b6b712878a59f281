/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

/*
 * Starts the sides that run in this program, and runs them. The requester's side is this process,
 * or its first thread. The responder's side is one of these: a process that is forked before
 * anything else happens, a thread, or another program. Both sides carry out the runs together. For
 * each run they create the engines that the run needs.
 */

#include <sys/types.h>

#include "requester.h"

struct sides {
	const struct bench_options *options;
	struct bench_shared *shared;
	pid_t child; /* process ID of the responder's process; 0 if there is none */
};

/*
 * Starts everything that lasts for all 'nruns' runs. Run number n uses combination number n modulo
 * the number of combinations. Returns 0 or -errno.
 */
int sides_start(struct sides *sides, const struct bench_options *options, uint32_t nruns);
/*
 * Ends the child, stops the capture, and releases the shared memory. Returns 0, or -EIO if the file
 * of the capture is not complete.
 */
int sides_end(struct sides *sides);

/*
 * Carries out one run. 'number' is the number of the run. The caller carries out runs in the order
 * of their numbers, which begin with 0. Returns 0, or -errno after it has printed the reason.
 * *result is filled in either case.
 */
int sides_run(struct sides *sides, uint32_t number, const struct bench_options *point,
	      struct bench_result *result);

/* Runs the responder for --listen, until a signal arrives. Returns 0 or -errno. */
int sides_listen(const struct bench_options *options);

#endif
