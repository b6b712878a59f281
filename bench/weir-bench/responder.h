/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESPONDER_H
#define BENCH_RESPONDER_H

#include "options.h"
#include "shared.h"

/* The responder's side: one engine a core, all behind one listener. Runs until shared->stop, or for
 * ever when it stands alone. 0, or a negative errno that was said on standard error. */
int bench_responder_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores);

#endif
