/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESPONDER_H
#define BENCH_RESPONDER_H

#include "options.h"
#include "shared.h"

/*
 * Runs the responder's side of one run: one engine per core of 'lcores', all behind one listener.
 * If 'nlcores' is 0, there is one engine whose thread is not pinned. The function returns after
 * shared->stop was set. Returns 0, or a negative errno after it has printed the reason on standard
 * error.
 */
int bench_responder_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores);

#endif
