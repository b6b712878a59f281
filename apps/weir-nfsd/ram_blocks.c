/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a ram export: a buddy allocator over its region. A block's number is that of its first
 * page. */
#include <errno.h>
#include <stdlib.h>

#include "ram_blocks.h"

enum ram_block_state { BLOCK_IDLE, BLOCK_FREE, BLOCK_USED };

static void push(struct ram_blocks *blocks, uint32_t block, uint32_t order)
{
	struct ram_block *b = &blocks->blocks[block];

	b->state = BLOCK_FREE;
	b->order = (uint8_t)order;
	b->prev = RAM_NONE;
	b->next = blocks->heads[order];
	if (b->next != RAM_NONE)
		blocks->blocks[b->next].prev = block;
	blocks->heads[order] = block;
}

static void take(struct ram_blocks *blocks, uint32_t block)
{
	struct ram_block *b = &blocks->blocks[block];

	if (b->prev != RAM_NONE)
		blocks->blocks[b->prev].next = b->next;
	else
		blocks->heads[b->order] = b->next;
	if (b->next != RAM_NONE)
		blocks->blocks[b->next].prev = b->prev;
	b->state = BLOCK_IDLE;
}

int ram_blocks_init(struct ram_blocks *blocks, void *base, uint64_t len_bytes)
{
	uint32_t at = 0;

	blocks->base = base;
	blocks->npages = (uint32_t)(len_bytes / RAM_PAGE);
	blocks->nfree = blocks->npages;
	blocks->blocks = calloc(blocks->npages, sizeof(blocks->blocks[0]));
	if (!blocks->blocks)
		return -ENOMEM;
	for (uint32_t order = 0; order < RAM_ORDERS; order++)
		blocks->heads[order] = RAM_NONE;
	while (at < blocks->npages) {
		uint32_t order = RAM_ORDERS - 1;

		while (at + (1u << order) > blocks->npages)
			order--;
		push(blocks, at, order);
		at += 1u << order;
	}
	return 0;
}

void ram_blocks_fini(struct ram_blocks *blocks)
{
	free(blocks->blocks);
	blocks->blocks = NULL;
}

uint32_t ram_block_get(struct ram_blocks *blocks, uint32_t bytes)
{
	uint32_t want = 0, order, block;

	while (want < RAM_ORDERS && RAM_PAGE << want < bytes)
		want++;
	for (order = want; order < RAM_ORDERS && blocks->heads[order] == RAM_NONE; order++)
		;
	if (order >= RAM_ORDERS)
		return RAM_NONE;
	block = blocks->heads[order];
	take(blocks, block);
	while (order > want) {
		order--;
		push(blocks, block + (1u << order), order);
	}
	blocks->blocks[block] = (struct ram_block){
		.owner = blocks,
		.refs = 1,
		.order = (uint8_t)want,
		.state = BLOCK_USED,
	};
	blocks->nfree -= 1u << want;
	return block;
}

void ram_block_ref(struct ram_blocks *blocks, uint32_t block)
{
	blocks->blocks[block].refs++;
}

void ram_block_unref(struct ram_blocks *blocks, uint32_t block)
{
	uint32_t order = blocks->blocks[block].order;

	if (--blocks->blocks[block].refs > 0)
		return;
	blocks->nfree += 1u << order;
	blocks->blocks[block].state = BLOCK_IDLE;
	while (order + 1 < RAM_ORDERS) {
		uint32_t buddy = block ^ 1u << order;

		if (buddy >= blocks->npages || blocks->blocks[buddy].state != BLOCK_FREE ||
		    blocks->blocks[buddy].order != order)
			break;
		take(blocks, buddy);
		if (buddy < block)
			block = buddy;
		order++;
	}
	push(blocks, block, order);
}

void ram_block_release(void *arg)
{
	struct ram_block *block = arg;

	ram_block_unref(block->owner, (uint32_t)(block - block->owner->blocks));
}

void ram_block_mail(struct weir_engine *engine, void *arg)
{
	(void)engine;
	ram_block_release(arg);
}
