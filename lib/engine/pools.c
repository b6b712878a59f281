/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, creates and destroys the buffer pools of an engine. */
#include "pools.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "reserve.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

const char *engine_pool_name(enum engine_pool pool)
{
	static const char *const names[ENGINE_POOLS] = {
		[ENGINE_POOL_SEND] = "send", [ENGINE_POOL_RESERVE] = "reserve",
		[ENGINE_POOL_RECV] = "recv", [ENGINE_POOL_LONG] = "long",
		[ENGINE_POOL_BULK] = "bulk", [ENGINE_POOL_CONTROL] = "control",
		[ENGINE_POOL_GAP] = "gap",
	};

	return names[pool];
}

uint32_t engine_msg_bytes(const struct weir_profile *profile)
{
	return (uint32_t)larger(profile->inline_bytes, version_needs(profile)->msg_bytes);
}

uint32_t engine_recv_bytes(const struct weir_profile *profile, const struct fabric_dev_attr *attr)
{
	uint32_t bytes = profile->lead_bytes + profile->targets * profile->target_bytes;

	if (!engine_places(profile, attr))
		return engine_msg_bytes(profile);
	return (uint32_t)larger(bytes, engine_msg_bytes(profile));
}

uint64_t engine_bulk_bytes(const struct weir_profile *profile)
{
	return larger(profile->bulk_buffer_bytes, profile->inline_bytes);
}

void engine_pools_size(const struct weir_profile *profile, const struct fabric_dev_attr *attr,
		       struct mem_pool_options pools[ENGINE_POOLS])
{
	/* A send buffer holds a message of the largest inline size, and before it the transport
	 * header. */
	uint32_t send_bytes = engine_msg_bytes(profile) + ENGINE_HEADROOM;
	uint32_t recv_bytes = engine_recv_bytes(profile, attr);
	bool has_targets = engine_places(profile, attr);
	bool has_gap = version_extends(profile, WEIR_EXTENSION_PLACEMENT);

	for (uint32_t i = 0; i < ENGINE_POOLS; i++)
		pools[i] = (struct mem_pool_options){
			.is_private = i != ENGINE_POOL_LONG,
			.region_flags = attr->maps_files ? 0 : WEIR_REGION_UNSHARED,
			.page_bytes = profile->page_bytes,
			.numa_node = -1,
		};
	pools[ENGINE_POOL_SEND].count = profile->send_buffers;
	pools[ENGINE_POOL_SEND].buf_bytes = send_bytes;
	pools[ENGINE_POOL_RESERVE].count = engine_reserve_bufs(profile);
	pools[ENGINE_POOL_RESERVE].buf_bytes = send_bytes;
	/* If Sends can place data, the first target of each receive is aligned. */
	pools[ENGINE_POOL_RECV].count = profile->recv_buffers;
	pools[ENGINE_POOL_RECV].buf_bytes = recv_bytes;
	pools[ENGINE_POOL_RECV].align = has_targets ? engine_target_align(profile) : 0;
	pools[ENGINE_POOL_RECV].align_at = has_targets ? profile->lead_bytes : 0;
	pools[ENGINE_POOL_LONG].count = profile->long_buffers;
	pools[ENGINE_POOL_LONG].buf_bytes = (uint32_t)profile->long_buffer_bytes;
	pools[ENGINE_POOL_BULK].count = profile->bulk_buffers;
	pools[ENGINE_POOL_BULK].buf_bytes = (uint32_t)engine_bulk_bytes(profile);
	pools[ENGINE_POOL_CONTROL].count = profile->connections * version_needs(profile)->controls;
	pools[ENGINE_POOL_CONTROL].buf_bytes = ENGINE_CONTROL_BYTES;
	pools[ENGINE_POOL_GAP].count = has_gap ? 1 : 0;
	pools[ENGINE_POOL_GAP].buf_bytes = recv_bytes;
}

struct mem_pool **engine_pool_place(struct weir_engine *engine, enum engine_pool pool)
{
	struct mem_pool **const places[ENGINE_POOLS] = {
		[ENGINE_POOL_SEND] = &engine->send_pool,
		[ENGINE_POOL_RESERVE] = &engine->reserve_pool,
		[ENGINE_POOL_RECV] = &engine->recv_pool,
		[ENGINE_POOL_LONG] = &engine->long_pool,
		[ENGINE_POOL_BULK] = &engine->bulk_pool,
		[ENGINE_POOL_CONTROL] = &engine->control_pool,
		[ENGINE_POOL_GAP] = &engine->gap_pool,
	};

	return places[pool];
}

/* Creates a pool whose name contains the name 'what'. Returns 0, or -errno after a log line. */
static int pool_create(struct weir_engine *engine, const char *what,
		       struct mem_pool_options *options, struct mem_pool **pool)
{
	static _Atomic uint32_t serial;
	char name[24];
	int rc;

	snprintf(name, sizeof(name), "weir_%s_%u", what, atomic_fetch_add(&serial, 1));
	options->name = name;
	rc = mem_pool_create(options, &engine->registrar, pool);
	if (rc != 0)
		LOG(ENGINE, ERROR,
		    "no memory for %u %s buffers of %u bytes (%s): lower the counts in the "
		    "profile's [memory]",
		    options->count, what, options->buf_bytes, strerror(-rc));
	return rc;
}

/* Takes a buffer from a pool, fills it with zeros and sets *buf to it. Returns 0, or -ENOMEM if the
 * pool is empty. */
static int zeros_take(struct mem_pool *pool, struct mem_buf **buf)
{
	*buf = mem_pool_get(pool);
	if (!*buf)
		return -ENOMEM;
	memset((*buf)->data, 0, (*buf)->size_bytes);
	return 0;
}

int engine_pools_create(struct weir_engine *engine)
{
	struct mem_pool_options pools[ENGINE_POOLS];
	int rc = 0;

	engine_pools_size(&engine->profile, &engine->dev->attr, pools);
	for (uint32_t i = 0; rc == 0 && i < ENGINE_POOLS; i++)
		if (pools[i].count > 0)
			rc = pool_create(engine, engine_pool_name((enum engine_pool)i), &pools[i],
					 engine_pool_place(engine, (enum engine_pool)i));
	if (rc == 0 && engine->gap_pool)
		rc = zeros_take(engine->gap_pool, &engine->gap);
	return rc == 0 ? zeros_take(engine->send_pool, &engine->zeros) : rc;
}

void engine_pools_destroy(struct weir_engine *engine)
{
	if (engine->zeros)
		mem_pool_put(engine->zeros);
	if (engine->gap)
		mem_pool_put(engine->gap);
	for (uint32_t i = ENGINE_POOLS; i-- > 0;)
		mem_pool_destroy(*engine_pool_place(engine, (enum engine_pool)i),
				 &engine->registrar);
}

void engine_pools_abandon(struct weir_engine *engine)
{
	for (uint32_t i = ENGINE_POOLS; i-- > 0;) {
		struct mem_pool **pool = engine_pool_place(engine, (enum engine_pool)i);

		mem_pool_abandon(*pool, &engine->registrar);
		*pool = NULL;
	}
}
