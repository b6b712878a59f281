/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the map of a file in the back end 'ram', which returns the block of each chunk. Holes
 * cost nothing, and the nodes of the map are limited and freed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "block_pool.h"
#include "ram/map.h"

#define NODES_MAX 4096u
#define GONE_MAX  4096u

static struct ram_nodes nodes;
static struct ram_map map;
static uint32_t gone[GONE_MAX], ngone;

static void note_gone(void *arg, uint32_t block)
{
	assert_ptr_equal(arg, gone);
	assert_true(ngone < GONE_MAX);
	gone[ngone++] = block;
}

static void cut(uint64_t first)
{
	ngone = 0;
	ram_map_cut(&nodes, &map, first, note_gone, gone);
}

static int set_up(void **state)
{
	(void)state;
	nodes = (struct ram_nodes){.max = NODES_MAX};
	map = (struct ram_map){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cut(0);
	assert_int_equal(nodes.n, 0);
	assert_int_equal(map.height, 0);
	return 0;
}

static void get__of_an_empty_map_finds_holes(void **state)
{
	(void)state;
	assert_int_equal(ram_map_get(&map, 0), BLOCK_POOL_NONE);
	assert_int_equal(ram_map_get(&map, RAM_MAP_CHUNKS - 1), BLOCK_POOL_NONE);
	assert_int_equal(ram_map_get(&map, UINT64_MAX), BLOCK_POOL_NONE);
	cut(0);
	cut(UINT64_MAX);
	assert_int_equal(ngone, 0);
}

static void set__of_the_first_chunk_alone_takes_no_node(void **state)
{
	(void)state;
	assert_true(ram_map_set(&nodes, &map, 0, 0));
	assert_int_equal(nodes.n, 0);
	assert_int_equal(ram_map_get(&map, 0), 0);
	assert_int_equal(ram_map_get(&map, 1), BLOCK_POOL_NONE);
	assert_true(ram_map_set(&nodes, &map, 0, 7));
	assert_int_equal(ram_map_get(&map, 0), 7);
	cut(1);
	assert_int_equal(ngone, 0);
	cut(0);
	assert_int_equal(ngone, 1);
	assert_int_equal(gone[0], 7);
}

static void set__of_the_last_chunk_takes_one_path(void **state)
{
	(void)state;
	assert_true(ram_map_set(&nodes, &map, RAM_MAP_CHUNKS - 1, 5));
	assert_int_equal(nodes.n, RAM_MAP_HEIGHT);
	assert_int_equal(ram_map_get(&map, RAM_MAP_CHUNKS - 1), 5);
	assert_int_equal(ram_map_get(&map, RAM_MAP_CHUNKS - 2), BLOCK_POOL_NONE);
	assert_int_equal(ram_map_get(&map, 0), BLOCK_POOL_NONE);
	/* The root node exists already. */
	assert_true(ram_map_set(&nodes, &map, 0, 6));
	assert_int_equal(nodes.n, 2 * RAM_MAP_HEIGHT - 1);
	assert_int_equal(ram_map_get(&map, RAM_MAP_CHUNKS - 1), 5);
	assert_int_equal(ram_map_get(&map, 0), 6);
}

static void set__beyond_the_last_chunk_is_refused(void **state)
{
	(void)state;
	assert_false(ram_map_set(&nodes, &map, RAM_MAP_CHUNKS, 5));
	assert_false(ram_map_set(&nodes, &map, UINT64_MAX, 5));
	assert_int_equal(nodes.n, 0);
}

static void set__at_the_limit_changes_nothing(void **state)
{
	(void)state;
	nodes.max = RAM_MAP_HEIGHT + 2;
	assert_true(ram_map_set(&nodes, &map, 0, 1));
	assert_true(ram_map_set(&nodes, &map, 40, 2));
	assert_int_equal(nodes.n, 3);
	/* This chunk would need two more levels above, and three more nodes below. */
	assert_false(ram_map_set(&nodes, &map, RAM_MAP_CHUNKS - 1, 3));
	assert_int_equal(nodes.n, 3);
	assert_int_equal(ram_map_get(&map, 0), 1);
	assert_int_equal(ram_map_get(&map, 40), 2);
	assert_int_equal(ram_map_get(&map, RAM_MAP_CHUNKS - 1), BLOCK_POOL_NONE);
	nodes.max = nodes.n;
	/*
	 * Changes that need no node still succeed: another block for a chunk, and a chunk next to
	 * an existing one.
	 */
	assert_true(ram_map_set(&nodes, &map, 40, 4));
	assert_true(ram_map_set(&nodes, &map, 41, 5));
	assert_false(ram_map_set(&nodes, &map, 64, 6));
	assert_int_equal(nodes.n, 3);
	assert_int_equal(ram_map_get(&map, 40), 4);
	assert_int_equal(ram_map_get(&map, 41), 5);
}

static void cut__lowers_the_tree(void **state)
{
	(void)state;
	assert_true(ram_map_set(&nodes, &map, 0, 1));
	assert_true(ram_map_set(&nodes, &map, 40, 2));
	assert_true(ram_map_set(&nodes, &map, RAM_MAP_CHUNKS - 1, 3));
	cut(41);
	assert_int_equal(nodes.n, 3);
	assert_int_equal(ram_map_get(&map, 40), 2);
	cut(40);
	assert_int_equal(nodes.n, 0);
	assert_int_equal(ram_map_get(&map, 0), 1);
}

static void cut__keeps_what_comes_before(void **state)
{
	(void)state;
	for (uint32_t chunk = 0; chunk < 100; chunk++)
		assert_true(ram_map_set(&nodes, &map, chunk, 1000 + chunk));
	for (uint32_t first = 100; first-- > 0;) {
		cut(first);
		assert_int_equal(ngone, 1);
		assert_int_equal(gone[0], 1000 + first);
		for (uint32_t chunk = 0; chunk < 101; chunk++)
			assert_int_equal(ram_map_get(&map, chunk),
					 chunk < first ? 1000 + chunk : BLOCK_POOL_NONE);
	}
	assert_int_equal(nodes.n, 0);
}

/*
 * Checks random operations. Each node leads to a block, so that the number of blocks bounds the
 * number of nodes at any time.
 */
static void map__of_random_operations_matches_a_copy(void **state)
{
	static uint32_t copy[RAM_MAP_CHUNKS];
	uint64_t r = 88172645463325252ull;
	uint32_t nblocks = 0;

	(void)state;
	memset(copy, 0xff, sizeof(copy));
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t chunk;

		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		chunk = (uint32_t)(r >> 40) % RAM_MAP_CHUNKS >> (r % 20);
		if (round % 500 == 499) {
			cut(chunk);
			for (uint32_t i = 0; i < ngone; i++)
				assert_true(gone[i] < RAM_MAP_CHUNKS && copy[gone[i]] == gone[i] &&
					    gone[i] >= chunk);
			nblocks -= ngone;
			for (uint32_t i = chunk; i < RAM_MAP_CHUNKS; i++) {
				ngone -= copy[i] != BLOCK_POOL_NONE;
				copy[i] = BLOCK_POOL_NONE;
			}
			assert_int_equal(ngone, 0);
		} else if (ram_map_set(&nodes, &map, chunk, chunk)) {
			nblocks += copy[chunk] == BLOCK_POOL_NONE;
			copy[chunk] = chunk;
		}
		assert_true(nodes.n <= RAM_MAP_HEIGHT * nblocks && nodes.n <= NODES_MAX);
		chunk = (uint32_t)(r >> 20) % RAM_MAP_CHUNKS >> (r % 20);
		assert_int_equal(ram_map_get(&map, chunk), copy[chunk]);
	}
	for (uint32_t i = 0; i < RAM_MAP_CHUNKS; i++)
		assert_int_equal(ram_map_get(&map, i), copy[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(get__of_an_empty_map_finds_holes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(set__of_the_first_chunk_alone_takes_no_node, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(set__of_the_last_chunk_takes_one_path, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(set__beyond_the_last_chunk_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(set__at_the_limit_changes_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(cut__lowers_the_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cut__keeps_what_comes_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(map__of_random_operations_matches_a_copy, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
