/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

/*
 * The sides that run in this program. The requester's side is this process, or its first thread.
 * The responder's side is a process that is forked before anything else happens, or a thread, or a
 * program elsewhere. Both sides carry out the runs together, and for each run they make the engines
 * that it needs.
 */

#include <sys/types.h>

#include "requester.h"

struct sides {
	const struct bench_options *options;
	struct bench_shared *shared;
	pid_t child; /* 0 if there is no child */
};

/*
 * Starts everything that lasts for all 'nruns' runs. Run number n is of combination n modulo the
 * number of combinations. Returns 0 or -errno.
 */
int sides_start(struct sides *sides, const struct bench_options *options, uint32_t nruns);
void sides_end(struct sides *sides);

/*
 * Carries out one run. 'number' counts from 0, in order. Returns 0, or -errno after it has printed
 * the reason. *result is filled in either case.
 */
int sides_run(struct sides *sides, uint32_t number, const struct bench_options *point,
	      struct bench_result *result);

/* --listen: runs the responder until a signal comes. Returns 0 or -errno. */
int sides_listen(const struct bench_options *options);

#endif
