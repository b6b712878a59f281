/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESPONDER_H
#define BENCH_RESPONDER_H

#include "options.h"
#include "shared.h"

/*
 * Runs the responder's side: one engine per core, all behind one listener. It runs until
 * shared->stop is set. Returns 0, or a negative errno after it has printed the reason on standard
 * error.
 */
int bench_responder_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores);

#endif
