/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESPONDER_H
#define BENCH_RESPONDER_H

#include "options.h"
#include "shared.h"

struct bench_responder;

/*
 * Starts the responder's side of one run: the threads of a runtime, whose engines are all behind
 * one listener. The threads end after shared->stop was set. Returns 0, or a negative errno after it
 * has printed the reason on standard error and counted the failure in shared->failed.
 */
int bench_responder_start(const struct bench_options *options, struct bench_shared *shared,
			  struct bench_responder **responder);

/*
 * Waits until the threads have ended, and adds their counters to those in the shared memory.
 * Releases everything. Returns 0, or a negative errno after the reason was printed.
 */
int bench_responder_finish(struct bench_responder *responder);

/* Starts and finishes the responder's side of one run. Returns 0 or a negative errno. */
int bench_responder_run(const struct bench_options *options, struct bench_shared *shared);

#endif
