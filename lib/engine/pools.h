/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_POOLS_H
#define ENGINE_POOLS_H

/* The buffer pools of an engine: how large they are, and how they are created. The sizes depend on
 * the profile and on the device only, so that they are known before there is an engine. */

#include "engine.h"

enum engine_pool {
	ENGINE_POOL_SEND,
	ENGINE_POOL_RESERVE,
	ENGINE_POOL_RECV,
	ENGINE_POOL_LONG,
	ENGINE_POOL_BULK,
	ENGINE_POOL_CONTROL,
	ENGINE_POOL_GAP,
	ENGINE_POOLS,
};

/* Returns the name of a pool, such as "send". */
const char *engine_pool_name(enum engine_pool pool);

/* Returns the place of the pointer to a pool in the engine. The pointer is NULL if the engine does
 * not have the pool. */
struct mem_pool **engine_pool_place(struct weir_engine *engine, enum engine_pool pool);

/* Returns the length in bytes of the longest message that fits in one Send: engine->msg_bytes. */
uint32_t engine_msg_bytes(const struct weir_profile *profile);

/* Returns the length in bytes of a receive: engine->recv_bytes. It is the length of a message or,
 * if receives have targets, the length of the lead and the targets if that is more. */
uint32_t engine_recv_bytes(const struct weir_profile *profile, const struct fabric_dev_attr *attr);

/* Returns the size of a bulk buffer in bytes. A message that fits inline can also arrive as a
 * chunk, because a peer uses a chunk if that is faster. Therefore a bulk buffer is at least as long
 * as the longest inline message. */
uint64_t engine_bulk_bytes(const struct weir_profile *profile);

/* Sets the options of each pool, except the name. A pool that the engine does not have has the
 * count 0. */
void engine_pools_size(const struct weir_profile *profile, const struct fabric_dev_attr *attr,
		       struct mem_pool_options pools[ENGINE_POOLS]);

/* Creates all pools of the engine, and takes engine->zeros and engine->gap. Returns 0, or -errno
 * after a log line. If it fails, engine_pools_destroy() destroys the pools that were created. */
int engine_pools_create(struct weir_engine *engine);

/* Destroys the pools of the engine. Buffers that others took must be back. */
void engine_pools_destroy(struct weir_engine *engine);

/* Releases the memory of the pools in a child of fork(2): mem_pool_abandon(). */
void engine_pools_abandon(struct weir_engine *engine);

#endif
