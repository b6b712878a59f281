/* SPDX-License-Identifier: BSD-3-Clause */
/* The command /weir/memory. */
#include "pools.h"
#include "telemetry.h"

/* A pool of buffers. */
struct pool_answer {
	const char *name;
	uint32_t buffers, in_use, in_use_peak;
	uint64_t empty, bytes, page_bytes;
};

struct memory_inquiry {
	struct inquiry inquiry;
	struct pool_answer pools[ENGINE_POOLS];
	uint32_t npools;
	uint32_t nregions; /* of the application */
	uint64_t region_bytes;
};

static void answer_pool(struct memory_inquiry *mine, const char *name, const struct mem_pool *pool)
{
	if (!pool)
		return;
	mine->pools[mine->npools++] = (struct pool_answer){
		.name = name,
		.buffers = pool->count,
		.in_use = pool->in_use,
		.in_use_peak = pool->in_use_peak,
		.empty = pool->empty,
		.bytes = pool->region->len_bytes,
		.page_bytes = pool->region->page_bytes,
	};
}

static void answer_memory(struct weir_engine *engine, struct inquiry *inquiry)
{
	struct memory_inquiry *mine = (struct memory_inquiry *)inquiry;

	for (uint32_t i = 0; i < ENGINE_POOLS; i++)
		answer_pool(mine, engine_pool_name((enum engine_pool)i),
			    *engine_pool_place(engine, (enum engine_pool)i));
	mine->nregions = engine->nregions;
	for (uint32_t i = 0; i < engine->nregions; i++)
		mine->region_bytes += engine->regions[i]->len_bytes;
}

static void add_regions(const struct memory_inquiry *memory, struct rte_tel_data *dict)
{
	telemetry_add_number(dict, "regions", memory->nregions);
	telemetry_add_number(dict, "region_bytes", memory->region_bytes);
}

static void add_totals(const struct telemetry_ask *ask, uint32_t i, struct rte_tel_data *reply)
{
	const struct memory_inquiry *memory = telemetry_answer(ask, i);
	struct rte_tel_data *entry = telemetry_add_engine(ask, i, reply);
	uint64_t bytes = 0;

	if (!entry || !memory)
		return;
	for (uint32_t p = 0; p < memory->npools; p++)
		bytes += memory->pools[p].bytes;
	telemetry_add_number(entry, "pool_bytes", bytes);
	add_regions(memory, entry);
}

static int list_memory(struct rte_tel_data *reply)
{
	struct telemetry_ask ask;

	rte_tel_data_start_dict(reply);
	telemetry_ask_begin(&ask, 0, sizeof(struct memory_inquiry), answer_memory);
	if (telemetry_ask(&ask, reply))
		for (uint32_t i = 0; i < ask.n; i++)
			add_totals(&ask, i, reply);
	telemetry_ask_end(&ask);
	return 0;
}

static void show_pool(const struct pool_answer *pool, struct rte_tel_data *reply)
{
	struct rte_tel_data *entry = telemetry_dict();

	if (!entry)
		return;
	telemetry_add_number(entry, "buffers", pool->buffers);
	telemetry_add_number(entry, "in_use", pool->in_use);
	telemetry_add_number(entry, "in_use_peak", pool->in_use_peak);
	telemetry_add_number(entry, "empty", pool->empty);
	telemetry_add_number(entry, "bytes", pool->bytes);
	telemetry_add_number(entry, "page_bytes", pool->page_bytes);
	telemetry_add_dict(reply, pool->name, entry);
}

int telemetry_memory(const char *command, const char *params, struct rte_tel_data *reply)
{
	const struct memory_inquiry *memory;
	struct telemetry_ask ask;
	uint64_t id;

	(void)command;
	if (!telemetry_has(params))
		return list_memory(reply);
	if (!telemetry_id(params, &id))
		return telemetry_error(reply, "'%.40s' is not the ID of an engine", params);
	telemetry_ask_begin(&ask, id, sizeof(*memory), answer_memory);
	memory = telemetry_ask_one(&ask, reply);
	if (memory) {
		rte_tel_data_start_dict(reply);
		add_regions(memory, reply);
		for (uint32_t p = 0; p < memory->npools; p++)
			show_pool(&memory->pools[p], reply);
	}
	telemetry_ask_end(&ask);
	return 0;
}
