/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_STAGES_H
#define BENCH_STAGES_H

/* The times in the stages of calls and requests (weir/latency.h), of all procedures together. They
 * include those of the warm-up. There are none unless the profile has latency = stages. */

#include <weir/latency.h>

#include "histogram.h"

struct bench_stages {
	struct weir_histogram times[WEIR_STAGE_CREDIT + 1]; /* by enum weir_stage */
};

/* Adds the times of an engine. */
void bench_stages_add_engine(struct bench_stages *stages, const struct weir_engine *engine);
void bench_stages_merge(struct bench_stages *into, const struct bench_stages *from);

#endif
