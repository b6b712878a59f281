/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BLOCK_POOL_H
#define BLOCK_POOL_H

/*
 * Allocates blocks of 4 KiB to 1 MiB for a back end's data in the memory of a region, as a buddy
 * allocator. Each block has a reference count. Only the poller's thread is allowed to call these
 * functions.
 */

#include <stdint.h>

#define BLOCK_POOL_PAGE	  4096u /* bytes of the smallest block */
#define BLOCK_POOL_ORDERS 9u	/* a block of order 0 to 8 has 4 KiB << order */
/* Bytes of the largest block. */
#define BLOCK_POOL_MAX	(BLOCK_POOL_PAGE << (BLOCK_POOL_ORDERS - 1))
#define BLOCK_POOL_NONE UINT32_MAX /* means "no block" */

struct weir_engine;

struct pool_block {
	struct block_pool *owner;
	uint32_t refs; /* references to a block that is in use */
	uint32_t next; /* next and previous block in the list of free blocks of this order */
	uint32_t prev;
	uint8_t order; /* the block has BLOCK_POOL_PAGE << order bytes */
	uint8_t state; /* enum block_state */
};

struct block_pool {
	uint8_t *base;
	uint32_t npages;
	uint32_t nfree;			   /* number of free pages */
	uint32_t heads[BLOCK_POOL_ORDERS]; /* first free block of each order */
	struct pool_block *blocks; /* one entry per page; the entries of pages that are not the
				      first of a block are BLOCK_IDLE */
};

/*
 * Makes one or more free blocks of the memory at 'base', which has 'len_bytes'. Returns 0 or
 * -ENOMEM.
 */
int block_pool_init(struct block_pool *pool, void *base, uint64_t len_bytes);
void block_pool_fini(struct block_pool *pool);

/*
 * Returns the number of pages that a block of at least 'bytes' occupies, up to the pages of
 * BLOCK_POOL_MAX.
 */
static inline uint32_t block_pool_pages(uint32_t bytes)
{
	uint32_t pages = 1;

	while (pages * BLOCK_POOL_PAGE < bytes && pages * BLOCK_POOL_PAGE < BLOCK_POOL_MAX)
		pages *= 2;
	return pages;
}

/*
 * Allocates a block of at least 'bytes', up to BLOCK_POOL_MAX. Returns the number of the block,
 * which has one reference and undefined content, or BLOCK_POOL_NONE if no block is free.
 */
uint32_t block_pool_get(struct block_pool *pool, uint32_t bytes);
void block_pool_ref(struct block_pool *pool, uint32_t block);
void block_pool_unref(struct block_pool *pool, uint32_t block);
/*
 * Releases a reference to a block, and frees the block if it was the last. This function has the
 * form for weir_request_on_sent(). 'arg' is the struct pool_block.
 */
void block_pool_release(void *arg);
/* Does the same as block_pool_release(). This function has the form for weir_engine_post(). */
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
