/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

/*
 * The sides that run here. The requester's is this process, or its first thread; the responder's is
 * a process that was forked before anything else, or a thread, or elsewhere. Both go through the
 * runs together: for each, they make engines as it needs them.
 */

#include <sys/types.h>

#include "requester.h"

struct sides {
	const struct bench_options *options;
	struct bench_shared *shared;
	pid_t child; /* 0: none, or none any more */
};

/* Start what lasts for all 'nruns' runs; run number n is of combination n % (their number). 0 or
 * -errno. */
int sides_start(struct sides *sides, const struct bench_options *options, uint32_t nruns);
void sides_end(struct sides *sides);

/* One run, in order, from 0. 0, or -errno that was said; *result is filled either way. */
int sides_run(struct sides *sides, uint32_t number, const struct bench_options *point,
	      struct bench_result *result);

/* --listen: be the responder until a signal. 0 or -errno. */
int sides_listen(const struct bench_options *options);

#endif
