/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAM_BLOCKS_H
#define RAM_BLOCKS_H

/* Memory of a region that data lie in: a buddy allocator of blocks of 4 KiB to 1 MiB, with
 * references. For the poller. */

#include <stdint.h>

#define RAM_PAGE   4096u
#define RAM_ORDERS 9u /* 4 KiB << 0 to 8 */
#define RAM_CHUNK  (RAM_PAGE << (RAM_ORDERS - 1))
#define RAM_NONE   UINT32_MAX

struct weir_engine;

struct ram_block {
	struct ram_blocks *owner;
	uint32_t refs; /* of a block in use */
	uint32_t next; /* of a free one: its list */
	uint32_t prev;
	uint8_t order;
	uint8_t state; /* enum ram_block_state */
};

struct ram_blocks {
	uint8_t *base;
	uint32_t npages;
	uint32_t nfree; /* pages */
	uint32_t heads[RAM_ORDERS];
	struct ram_block *blocks; /* one a page; those inside of a longer block are idle */
};

int ram_blocks_init(struct ram_blocks *blocks, void *base, uint64_t len_bytes);
void ram_blocks_fini(struct ram_blocks *blocks);
/* The pages of a block of at least 'bytes', up to RAM_CHUNK. */
static inline uint32_t ram_block_pages(uint32_t bytes)
{
	uint32_t pages = 1;

	while (pages * RAM_PAGE < bytes && pages * RAM_PAGE < RAM_CHUNK)
		pages *= 2;
	return pages;
}

/* A block of at least 'bytes', up to RAM_CHUNK, with one reference, its content undefined;
 * RAM_NONE: no memory. */
uint32_t ram_block_get(struct ram_blocks *blocks, uint32_t bytes);
void ram_block_ref(struct ram_blocks *blocks, uint32_t block);
void ram_block_unref(struct ram_blocks *blocks, uint32_t block);
/* weir_request_on_sent()'s form; 'arg' is the struct ram_block. */
void ram_block_release(void *arg);
/* weir_engine_post()'s form of it */
void ram_block_mail(struct weir_engine *engine, void *arg);

static inline uint8_t *ram_block_data(const struct ram_blocks *blocks, uint32_t block)
{
	return blocks->base + (uint64_t)block * RAM_PAGE;
}

static inline uint32_t ram_block_bytes(const struct ram_blocks *blocks, uint32_t block)
{
	return RAM_PAGE << blocks->blocks[block].order;
}

#endif
