/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of counters that programs read: weir/metrics.h. */
#include <errno.h>
#include <string.h>

#include <weir/metrics.h>

#include "alloc.h"
#include "engine_counters.h"
#include "engine.h"
#include "owner.h"
#include "sized.h"

#define ENTRY(its_kind, its_group, its_name, its_unit, its_help)                                   \
	{                                                                                          \
		.name = #its_name,                                                                 \
		.unit = its_unit,                                                                  \
		.help = its_help,                                                                  \
		.kind = (its_kind),                                                                \
		.group = WEIR_GROUP_##its_group,                                                   \
	},

static const struct weir_counter_info table[] = {
#define COUNTER(group, name, unit, help) ENTRY(WEIR_COUNTER, group, name, unit, help)
#define GAUGE(group, name, unit, help)	 ENTRY(WEIR_GAUGE, group, name, unit, help)
#include "counter_list.h"
};

_Static_assert(sizeof(table) / sizeof(table[0]) == ENGINE_VALUES,
	       "the table describes each value, and nothing else");

uint32_t weir_counters(void)
{
	return ENGINE_VALUES;
}

int weir_counter_info(uint32_t index, struct weir_counter_info *info)
{
	if (index >= ENGINE_VALUES)
		return -ENOENT;
	sized_fill(info, &table[index], sizeof(table[index]));
	return 0;
}

int weir_counter_find(const char *name)
{
	for (uint32_t i = 0; name && i < ENGINE_VALUES; i++)
		if (strcmp(table[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

const char *weir_counter_group_name(enum weir_counter_group group)
{
	static const char *const names[] = {
		[WEIR_GROUP_POLLS] = "polls",
		[WEIR_GROUP_MESSAGES] = "messages",
		[WEIR_GROUP_LIMITS] = "limits",
		[WEIR_GROUP_EXPOSURE] = "exposure",
		[WEIR_GROUP_CONNECTIONS] = "connections",
		[WEIR_GROUP_EXTENSION] = "extension",
		[WEIR_GROUP_RECONNECTION] = "reconnection",
		[WEIR_GROUP_WORK] = "work",
		[WEIR_GROUP_STATE] = "state",
	};

	return (uint32_t)group < sizeof(names) / sizeof(names[0]) ? names[group] : "unknown";
}

static void gather_device(const struct fabric_stats *dev, struct engine_counters *counters)
{
	counters->bulk_copies += dev->bulk_copies;
	counters->registrations = dev->registrations;
	counters->doorbells = dev->doorbells + dev->sends_direct;
	counters->sends = dev->sends + dev->sends_direct;
	counters->recvs = dev->recvs;
	counters->writes = dev->writes;
	counters->reads = dev->reads;
	counters->users_refused = dev->users_refused;
	counters->requests_displaced = dev->requests_displaced;
	counters->maps_refused = dev->maps_refused;
	counters->wakes = dev->wakes;
	counters->rnr = dev->rnr;
	counters->remote_access_errors = dev->remote_access_errors;
	counters->protocol_errors = dev->protocol_errors;
}

static void gather(const struct weir_engine *engine, struct engine_values *values)
{
	struct engine_counters *counters = &values->counters;

	*counters = engine->stats;
	counters->send_pool_empty = engine->send_pool->empty;
	counters->recv_pool_empty = engine->recv_pool->empty;
	counters->long_pool_empty = engine->long_pool->empty;
	counters->bulk_pool_empty = engine->bulk_pool->empty;
	counters->allocations = mem_alloc_count();
	gather_device(&engine->dev->stats, counters);
	values->connections = engine->nconnections - engine->nending;
	values->buffer_waiters = engine->nwaiting;
	values->replies_pending = engine->npending;
	values->pulling_bytes = engine->pulling_bytes;
}

uint32_t weir_engine_counters(const struct weir_engine *engine, uint64_t *values, uint32_t n)
{
	uint32_t common = n < ENGINE_VALUES ? n : ENGINE_VALUES;
	struct engine_values own;

	if (OTHER_THREAD(engine))
		return 0;
	gather(engine, &own);
	memcpy(values, &own, common * sizeof(values[0]));
	memset(values + common, 0, (n - common) * sizeof(values[0]));
	return common;
}

uint64_t weir_engine_counter(const struct weir_engine *engine, uint32_t index)
{
	uint64_t values[ENGINE_VALUES];

	if (OTHER_THREAD(engine))
		return 0;
	weir_engine_counters(engine, values, ENGINE_VALUES);
	return index < ENGINE_VALUES ? values[index] : 0;
}
