/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BATCH_H
#define BATCH_H

/*
 * The batches of work requests of all connections of an engine. A connection takes a batch when it
 * queues its first work request. It gives the batch back when it posts the work requests, in the
 * same poll or in the next one. Therefore an idle connection has no batch, and few batches are in
 * use at a time. The pool has one batch for each possible connection, so that a batch is always
 * free. The memory of a batch is first touched when the batch is first taken.
 */

#include "compiler.h"
#include "engine.h"
#include "mem.h"

#define CONN_BATCH	64u  /* maximum number of work requests in a batch */
#define CONN_BATCH_SGES 128u /* maximum number of gather elements of all of them */

/* The end of a work request. The object belongs to the user that queues the work request. */
struct conn_tx {
	/* Is called once, when the device does not need the buffers of the work request any more.
	 * 'error' is 0 if the work request is complete, or the error of a connection that ended. */
	void (*done)(struct conn_tx *tx, int error);
};

struct conn_batch {
	struct conn_batch *next_free;
	struct fabric_wr wrs[CONN_BATCH];
	struct conn_tx *txs[CONN_BATCH];
	struct fabric_sge sges[CONN_BATCH_SGES];
};

struct batch_pool {
	uint32_t count;		 /* entries of 'batches' */
	uint32_t nused;		 /* the first 'nused' batches were taken at least once */
	struct conn_batch *free; /* the free ones among these, as a list */
	struct conn_batch *batches;
};

/* batch_pool_create() creates the pool of an engine, for its first connection. It returns 0 or
 * -ENOMEM. batch_pool_destroy() frees the pool after the last connection. */
int batch_pool_create(struct weir_engine *engine);
void batch_pool_destroy(struct weir_engine *engine);

/* Takes a free batch. It never fails, because no connection has more than one. */
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
