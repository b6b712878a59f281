/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAM_MAP_H
#define RAM_MAP_H

/*
 * The map of a file assigns blocks to its chunks. It is a radix tree that contains only the paths
 * to chunks that have a block. A hole of any size takes no memory and no time. Every node leads to
 * at least one block. The memory for nodes is not part of the export's region, because peers might
 * be able to write to a region. Only one thread is allowed to use a map.
 */

#include <stdbool.h>
#include <stdint.h>

#define RAM_MAP_BITS   5u
#define RAM_MAP_FANOUT (1u << RAM_MAP_BITS)
#define RAM_MAP_HEIGHT 4u
/* The number of chunks that a map can hold, 2^20. */
#define RAM_MAP_CHUNKS (1u << (RAM_MAP_BITS * RAM_MAP_HEIGHT))

struct ram_node;

/* An entry of a node or the root of a map. An entry is empty if it is zero. */
union ram_entry {
	struct ram_node *node; /* used above the lowest level */
	uint32_t block_plus_1; /* used on the lowest level: number of the block, plus 1 */
};

struct ram_node {
	uint32_t nused; /* number of entries that are not empty */
	union ram_entry entries[RAM_MAP_FANOUT];
};

/* A map is empty if it is zero. */
struct ram_map {
	uint32_t height; /* number of levels of nodes above the blocks */
	union ram_entry root;
};

/* The number of nodes of all maps of an export, and its maximum. */
struct ram_nodes {
	uint32_t n;
	uint32_t max;
};

/*
 * Returns the block of a chunk, or BLOCK_POOL_NONE if the chunk is a hole. 'chunk' can be any
 * number.
 */
uint32_t ram_map_get(const struct ram_map *map, uint64_t chunk);

/*
 * Sets the block of a chunk, which replaces an earlier block of this chunk.
 *
 * - nodes: counts and limits the nodes of the export
 * - chunk: any number
 * - block: not BLOCK_POOL_NONE
 *
 * Returns true, or false with the map unchanged in these cases:
 *
 * - the chunk is not below RAM_MAP_CHUNKS
 * - the limit on nodes is reached
 * - there is no memory
 *
 * If the chunk has a block already, the function never fails.
 */
bool ram_map_set(struct ram_nodes *nodes, struct ram_map *map, uint64_t chunk, uint32_t block);

/*
 * Makes a hole of all chunks from 'first' on, and frees the nodes that lead to no other chunk. The
 * time depends on the number of removed blocks, and not on the size of holes.
 *
 * - first: any number
 * - gone: is called with 'arg' and each block that was removed; must not use the map
 */
void ram_map_cut(struct ram_nodes *nodes, struct ram_map *map, uint64_t first,
		 void (*gone)(void *arg, uint32_t block), void *arg);

#endif
