/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_COUNTERS_H
#define TEST_COUNTERS_H

/* Reads the counters of an engine into a structure, so that the compiler checks the names of the
 * counters that a test looks at. */

#include <weir/metrics.h>

#include "engine_counters.h"

static inline void test_counters(const struct weir_engine *engine, struct engine_counters *counters)
{
	weir_engine_counters(engine, (uint64_t *)counters, sizeof(*counters) / sizeof(uint64_t));
}

#endif
