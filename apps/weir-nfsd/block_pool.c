/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A buddy allocator for the memory of a region. The number of a block is the number of its first
 * page.
 */
#include <errno.h>
#include <stdlib.h>

#include "block_pool.h"

enum block_state { BLOCK_IDLE, BLOCK_FREE, BLOCK_USED };

static void push(struct block_pool *pool, uint32_t block, uint32_t order)
{
	struct pool_block *b = &pool->blocks[block];

	b->state = BLOCK_FREE;
	b->order = (uint8_t)order;
	b->prev = BLOCK_POOL_NONE;
	b->next = pool->heads[order];
	if (b->next != BLOCK_POOL_NONE)
		pool->blocks[b->next].prev = block;
	pool->heads[order] = block;
}

static void take(struct block_pool *pool, uint32_t block)
{
	struct pool_block *b = &pool->blocks[block];

	if (b->prev != BLOCK_POOL_NONE)
		pool->blocks[b->prev].next = b->next;
	else
		pool->heads[b->order] = b->next;
	if (b->next != BLOCK_POOL_NONE)
		pool->blocks[b->next].prev = b->prev;
	b->state = BLOCK_IDLE;
}

int block_pool_init(struct block_pool *pool, void *base, uint64_t len_bytes)
{
	uint32_t at = 0;

	pool->base = base;
	pool->npages = (uint32_t)(len_bytes / BLOCK_POOL_PAGE);
	pool->nfree = pool->npages;
	pool->blocks = calloc(pool->npages, sizeof(pool->blocks[0]));
	if (!pool->blocks)
		return -ENOMEM;
	for (uint32_t order = 0; order < BLOCK_POOL_ORDERS; order++)
		pool->heads[order] = BLOCK_POOL_NONE;
	while (at < pool->npages) {
		uint32_t order = BLOCK_POOL_ORDERS - 1;

		while (at + (1u << order) > pool->npages)
			order--;
		push(pool, at, order);
		at += 1u << order;
	}
	return 0;
}

void block_pool_fini(struct block_pool *pool)
{
	free(pool->blocks);
	pool->blocks = NULL;
}

uint32_t block_pool_get(struct block_pool *pool, uint32_t bytes)
{
	uint32_t want = 0, order, block;

	while (want < BLOCK_POOL_ORDERS && BLOCK_POOL_PAGE << want < bytes)
		want++;
	for (order = want; order < BLOCK_POOL_ORDERS && pool->heads[order] == BLOCK_POOL_NONE;
	     order++)
		;
	if (order >= BLOCK_POOL_ORDERS)
		return BLOCK_POOL_NONE;
	block = pool->heads[order];
	take(pool, block);
	while (order > want) {
		order--;
		push(pool, block + (1u << order), order);
	}
	pool->blocks[block] = (struct pool_block){
		.owner = pool,
		.refs = 1,
		.order = (uint8_t)want,
		.state = BLOCK_USED,
	};
	pool->nfree -= 1u << want;
	return block;
}

void block_pool_ref(struct block_pool *pool, uint32_t block)
{
	pool->blocks[block].refs++;
}

void block_pool_unref(struct block_pool *pool, uint32_t block)
{
	uint32_t order = pool->blocks[block].order;

	if (--pool->blocks[block].refs > 0)
		return;
	pool->nfree += 1u << order;
	pool->blocks[block].state = BLOCK_IDLE;
	while (order + 1 < BLOCK_POOL_ORDERS) {
		uint32_t buddy = block ^ 1u << order;

		if (buddy >= pool->npages || pool->blocks[buddy].state != BLOCK_FREE ||
		    pool->blocks[buddy].order != order)
			break;
		take(pool, buddy);
		if (buddy < block)
			block = buddy;
		order++;
	}
	push(pool, block, order);
}

void block_pool_release(void *arg)
{
	struct pool_block *block = arg;

	block_pool_unref(block->owner, (uint32_t)(block - block->owner->blocks));
}

void block_pool_mail(struct weir_engine *engine, void *arg)
{
	(void)engine;
	block_pool_release(arg);
}
