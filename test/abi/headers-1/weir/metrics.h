/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_engine;

enum weir_counter_kind {
	WEIR_COUNTER = 0,
	WEIR_GAUGE = 1,
};

enum weir_counter_group {
	WEIR_GROUP_POLLS = 0,
	WEIR_GROUP_MESSAGES = 1,
	WEIR_GROUP_LIMITS = 2,
	WEIR_GROUP_EXPOSURE = 3,
	WEIR_GROUP_CONNECTIONS = 4,
	WEIR_GROUP_EXTENSION = 5,
	WEIR_GROUP_RECONNECTION = 6,
	WEIR_GROUP_WORK = 7,
	WEIR_GROUP_STATE = 8,
};

struct weir_counter_info {
	size_t struct_bytes;
	const char *name;
	const char *unit;
	const char *help;
	enum weir_counter_kind kind;
	enum weir_counter_group group;
};

WEIR_API uint32_t weir_counters(void);

WEIR_API int weir_counter_info(uint32_t index, struct weir_counter_info *info);

WEIR_API int weir_counter_find(const char *name);

WEIR_API const char *weir_counter_group_name(enum weir_counter_group group);

WEIR_API uint64_t weir_engine_counter(const struct weir_engine *engine, uint32_t index);

WEIR_API uint32_t weir_engine_counters(const struct weir_engine *engine, uint64_t *values,
				       uint32_t n);

WEIR_END_DECLS

#endif
