/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BATCH_H
#define BATCH_H

/*
 * Batches of work requests, of all connections of an engine. A connection has one from the first
 * work request that is queued until they are posted, which is within a poll: so there are rarely
 * more than are active at a time, and idle ones cost nothing. There is one for each connection that
 * there can be. Memory of those that were never used is never touched.
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
	uint32_t nused; /* of them the first ones, which were in use once */
	struct conn_batch *free;
	struct conn_batch *batches;
};

/* Made with an engine's first connection: 0 or -ENOMEM. Destroyed with its last one. */
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
