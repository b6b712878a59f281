/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BLOCK_POOL_H
#define BLOCK_POOL_H

/*
 * The memory of a region for a back end's data: a buddy allocator of blocks of 4 KiB to 1 MiB. Each
 * block has a reference count. Only the poller's thread may call these functions.
 */

#include <stdint.h>

#define BLOCK_POOL_PAGE	  4096u /* bytes of the smallest block */
#define BLOCK_POOL_ORDERS 9u	/* orders 0 to 8: 4 KiB << order */
#define BLOCK_POOL_MAX	  (BLOCK_POOL_PAGE << (BLOCK_POOL_ORDERS - 1)) /* bytes of the largest */
#define BLOCK_POOL_NONE	  UINT32_MAX				       /* means "no block" */

struct weir_engine;

struct pool_block {
	struct block_pool *owner;
	uint32_t refs; /* for a block in use */
	uint32_t next; /* for a free block: links of its list */
	uint32_t prev;
	uint8_t order;
	uint8_t state; /* enum block_state */
};

struct block_pool {
	uint8_t *base;
	uint32_t npages;
	uint32_t nfree; /* pages */
	uint32_t heads[BLOCK_POOL_ORDERS];
	struct pool_block *blocks; /* one entry per page; entries inside a longer block are idle */
};

int block_pool_init(struct block_pool *pool, void *base, uint64_t len_bytes);
void block_pool_fini(struct block_pool *pool);

/* Returns the pages of a block of at least 'bytes', up to BLOCK_POOL_MAX. */
static inline uint32_t block_pool_pages(uint32_t bytes)
{
	uint32_t pages = 1;

	while (pages * BLOCK_POOL_PAGE < bytes && pages * BLOCK_POOL_PAGE < BLOCK_POOL_MAX)
		pages *= 2;
	return pages;
}

/*
 * Allocates a block of at least 'bytes', up to BLOCK_POOL_MAX, with one reference and undefined
 * content. Returns BLOCK_POOL_NONE if there is no memory.
 */
uint32_t block_pool_get(struct block_pool *pool, uint32_t bytes);
void block_pool_ref(struct block_pool *pool, uint32_t block);
void block_pool_unref(struct block_pool *pool, uint32_t block);
/*
 * Releases a reference. This is the form for weir_request_on_sent(); 'arg' is the struct
 * pool_block.
 */
void block_pool_release(void *arg);
/* Releases a reference. This is the form for weir_engine_post(). */
void block_pool_mail(struct weir_engine *engine, void *arg);

static inline uint8_t *block_pool_data(const struct block_pool *pool, uint32_t block)
{
	return pool->base + (uint64_t)block * BLOCK_POOL_PAGE;
}

static inline uint32_t block_pool_bytes(const struct block_pool *pool, uint32_t block)
{
	return BLOCK_POOL_PAGE << pool->blocks[block].order;
}

#endif
