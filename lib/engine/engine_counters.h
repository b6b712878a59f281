/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_COUNTERS_H
#define ENGINE_COUNTERS_H

/* The counters of an engine as a structure, so that code that counts names a member. */

#include <stdint.h>

struct engine_counters {
#define COUNTER(group, name, unit, help) uint64_t name;
#include "counter_list.h"
};

/* The values of the table that weir_counter_info() describes, in its order: the counters, and then
 * the gauges. */
struct engine_values {
	struct engine_counters counters;
#define GAUGE(group, name, unit, help) uint64_t name;
#include "counter_list.h"
};

#define ENGINE_VALUES (sizeof(struct engine_values) / sizeof(uint64_t))

#endif
