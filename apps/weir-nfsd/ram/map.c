/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds, sets and removes the blocks of a file's chunks, in a radix tree. */
#include "map.h"

#include <stdlib.h>

#include "block_pool.h"

/* Returns the index of the entry for 'chunk' in a node that is 'height' levels above the blocks. */
static uint32_t index_of(uint64_t chunk, uint32_t height)
{
	return (uint32_t)(chunk >> (RAM_MAP_BITS * (height - 1))) % RAM_MAP_FANOUT;
}

/* Returns true if a tree of this height has an entry for the chunk. */
static bool fits(uint64_t chunk, uint32_t height)
{
	return chunk >> (RAM_MAP_BITS * height) == 0;
}

static bool map_is_unused(const union ram_entry *entry, uint32_t height)
{
	return height > 0 ? entry->node == NULL : entry->block_plus_1 == 0;
}

uint32_t ram_map_get(const struct ram_map *map, uint64_t chunk)
{
	union ram_entry entry = map->root;

	if (!fits(chunk, map->height))
		return BLOCK_POOL_NONE;
	for (uint32_t height = map->height; height > 0; height--) {
		if (!entry.node)
			return BLOCK_POOL_NONE;
		entry = entry.node->entries[index_of(chunk, height)];
	}
	return entry.block_plus_1 > 0 ? entry.block_plus_1 - 1 : BLOCK_POOL_NONE;
}

/*
 * Returns the number of nodes that the map lacks to give a block to the chunk, when the tree has
 * this height. The height is at least that of the map and is enough for the chunk.
 */
static uint32_t count_missing(const struct ram_map *map, uint64_t chunk, uint32_t height)
{
	const struct ram_node *node = map->root.node;

	if (map_is_unused(&map->root, map->height))
		return height;
	/*
	 * The result includes the levels above the present root, and a path from the new root to
	 * the chunk. The present tree has no part of this path, because the chunk is beyond the
	 * present tree.
	 */
	if (height > map->height)
		return height - map->height + height - 1;
	while (height > 0 && node) {
		node = height > 1 ? node->entries[index_of(chunk, height)].node : NULL;
		height--;
	}
	return height;
}

/*
 * Allocates 'n' empty nodes, or none. Returns true if they were allocated. entries[0] of each node
 * links to the next node, and entries[0] of the last node is empty.
 */
static bool take_nodes(struct ram_nodes *nodes, uint32_t n, struct ram_node **taken)
{
	*taken = NULL;
	if (n > nodes->max - nodes->n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct ram_node *node = calloc(1, sizeof(*node));

		if (!node) {
			while ((node = *taken)) {
				*taken = node->entries[0].node;
				free(node);
			}
			return false;
		}
		node->entries[0].node = *taken;
		*taken = node;
	}
	nodes->n += n;
	return true;
}

static struct ram_node *next_taken(struct ram_node **taken)
{
	struct ram_node *node = *taken;

	*taken = node->entries[0].node;
	node->entries[0].node = NULL;
	return node;
}

bool ram_map_set(struct ram_nodes *nodes, struct ram_map *map, uint64_t chunk, uint32_t block)
{
	uint32_t height = map->height;
	struct ram_node *taken, *parent = NULL;
	union ram_entry *entry;

	if (chunk >= RAM_MAP_CHUNKS)
		return false;
	while (!fits(chunk, height))
		height++;
	if (!take_nodes(nodes, count_missing(map, chunk, height), &taken))
		return false;
	if (map_is_unused(&map->root, map->height))
		map->height = height;
	while (map->height < height) {
		struct ram_node *root = next_taken(&taken);

		root->nused = 1;
		root->entries[0] = map->root;
		map->root.node = root;
		map->height++;
	}
	for (entry = &map->root; height > 0; height--) {
		if (!entry->node) {
			entry->node = next_taken(&taken);
			if (parent)
				parent->nused++;
		}
		parent = entry->node;
		entry = &parent->entries[index_of(chunk, height)];
	}
	if (parent && entry->block_plus_1 == 0)
		parent->nused++;
	entry->block_plus_1 = block + 1;
	return true;
}

struct cut {
	struct ram_nodes *nodes;
	void (*gone)(void *arg, uint32_t block);
	void *arg;
};

/*
 * Removes the chunks from 'first' on from the subtree of an entry, which is 'height' levels above
 * the blocks. 'first' is counted from the first chunk of the subtree. The recursion is at most
 * RAM_MAP_HEIGHT deep.
 */
static void cut_entry(const struct cut *cut, union ram_entry *entry, uint32_t height,
		      uint64_t first)
{
	struct ram_node *node = entry->node;
	uint32_t from;

	if (map_is_unused(entry, height) || !fits(first, height))
		return;
	if (height == 0) {
		cut->gone(cut->arg, entry->block_plus_1 - 1);
		*entry = (union ram_entry){0};
		return;
	}
	from = index_of(first, height);
	for (uint32_t i = from; i < RAM_MAP_FANOUT; i++) {
		union ram_entry *child = &node->entries[i];

		if (map_is_unused(child, height - 1))
			continue;
		/* Only the first child can keep chunks. */
		cut_entry(cut, child, height - 1,
			  i == from ? first % (1ull << (RAM_MAP_BITS * (height - 1))) : 0);
		node->nused -= map_is_unused(child, height - 1);
	}
	if (node->nused > 0)
		return;
	free(node);
	entry->node = NULL;
	cut->nodes->n--;
}

void ram_map_cut(struct ram_nodes *nodes, struct ram_map *map, uint64_t first,
		 void (*gone)(void *arg, uint32_t block), void *arg)
{
	const struct cut cut = {nodes, gone, arg};

	cut_entry(&cut, &map->root, map->height, first);
	if (map_is_unused(&map->root, map->height))
		*map = (struct ram_map){0};
	/* These levels are not needed for the remaining chunks. */
	while (map->height > 0 && map->root.node->nused == 1 &&
	       !map_is_unused(&map->root.node->entries[0], map->height - 1)) {
		struct ram_node *root = map->root.node;

		map->root = root->entries[0];
		map->height--;
		free(root);
		nodes->n--;
	}
}
