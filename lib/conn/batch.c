/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys the pool of batches of an engine. The memory of the batches is reserved, and
 * is first touched when a batch is taken. */
#include "batch.h"

#include <errno.h>

#include "alloc.h"

int batch_pool_create(struct weir_engine *engine)
{
	struct batch_pool *pool = mem_zalloc(sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->count = engine->profile.connections;
	pool->batches = mem_reserve(pool->count * sizeof(pool->batches[0]));
	if (!pool->batches) {
		mem_free(pool);
		return -ENOMEM;
	}
	engine->batches = pool;
	return 0;
}

void batch_pool_destroy(struct weir_engine *engine)
{
	struct batch_pool *pool = engine->batches;

	if (!pool)
		return;
	engine->batches = NULL;
	mem_unreserve(pool->batches, pool->count * sizeof(pool->batches[0]));
	mem_free(pool);
}
