/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BATCH_H
#define BATCH_H

/*
 * The batches of work requests of all connections of an engine. A connection has a batch from the
 * first work request that it queues until they are posted, which is within a poll. Therefore there
 * are rarely more batches in use than active connections, and idle connections need none. There is
 * one batch for each possible connection. The memory of batches that were never used is not
 * touched.
 */

#include "compiler.h"
#include "engine.h"
#include "mem.h"

#define CONN_BATCH	64u
#define CONN_BATCH_SGES 128u

struct conn_tx {
	void (*done)(struct conn_tx *tx, int error);
};

struct conn_batch {
	struct conn_batch *next_free;
	struct fabric_wr wrs[CONN_BATCH];
	struct conn_tx *txs[CONN_BATCH];
	struct fabric_sge sges[CONN_BATCH_SGES];
};

struct batch_pool {
	uint32_t count;
	uint32_t nused; /* the first 'nused' batches were used at least once */
	struct conn_batch *free;
	struct conn_batch *batches;
};

/* batch_pool_create() is called for the first connection of an engine. Returns 0 or -ENOMEM.
 * batch_pool_destroy() is called after the last connection. */
int batch_pool_create(struct weir_engine *engine);
void batch_pool_destroy(struct weir_engine *engine);

static inline struct conn_batch *batch_take(struct batch_pool *pool)
{
	struct conn_batch *batch = pool->free;

	if (unlikely(!batch))
		return &pool->batches[pool->nused++];
	pool->free = batch->next_free;
	return batch;
}

static inline void batch_put(struct batch_pool *pool, struct conn_batch *batch)
{
	batch->next_free = pool->free;
	pool->free = batch;
}

#endif
