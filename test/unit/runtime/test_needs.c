/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the computation of what an engine needs. Engines are created to see what they take. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <weir/engine.h>

#include "needs.h"

#define MIB (UINT64_C(1) << 20)

/* Creates an engine, and checks that its pools have the computed sizes. */
static void expect_pools(const struct weir_profile *profile)
{
	struct weir_engine *engine;
	uint64_t bytes = 0;
	struct needs needs;

	needs_compute(profile, NULL, &needs);
	assert_int_equal(weir_engine_create(profile, &engine), 0);
	const struct mem_pool *pools[] = {
		engine->send_pool, engine->reserve_pool, engine->recv_pool, engine->long_pool,
		engine->bulk_pool, engine->control_pool, engine->gap_pool};

	for (uint32_t i = 0, n = 0; i < ENGINE_POOLS; i++) {
		if (!pools[i])
			continue;
		assert_int_equal(needs.pools[n].bytes, pools[i]->region->len_bytes);
		bytes += pools[i]->region->len_bytes;
		n++;
		assert_true(n <= needs.npools);
	}
	assert_int_equal(needs.bytes, bytes);
	weir_engine_destroy(engine);
}

static void needs__of_a_real_engine(void **state)
{
	struct weir_profile profile;

	(void)state;
	weir_profile_defaults(&profile);
	profile.page_bytes = 4096;
	expect_pools(&profile);
	profile.inline_bytes = 8192;
	profile.bulk_buffers = 3;
	expect_pools(&profile);
#ifndef WEIR_WITHOUT_VERSION2
	profile.protocol = WEIR_PROTOCOL_AUTO;
	profile.extension = WEIR_EXTENSION_ALL;
	profile.target_bytes = 16384;
	expect_pools(&profile);
#endif
}

/* Checks that the sections of a profile count for their CPUs. */
static void needs__of_several_engines(void **state)
{
	const uint32_t cpus[] = {3, 1, 2};
	struct weir_profile profile;
	struct needs plain, own;

	(void)state;
	weir_profile_defaults(&profile);
	snprintf(profile.lcores, sizeof(profile.lcores), "1-3");
	needs_compute(&profile, NULL, &plain);
	profile.bulk_buffers = 3;
	needs_compute(&profile, NULL, &own);
	assert_true(own.bytes < plain.bytes);
	weir_profile_defaults(&profile);
	snprintf(profile.lcores, sizeof(profile.lcores), "1-3");
	snprintf(profile.engines, sizeof(profile.engines), "[engine:1]\nbulk_buffers = 3\n");
	assert_int_equal(needs_bytes(&profile, cpus, 1), plain.bytes);
	assert_int_equal(needs_bytes(&profile, cpus, 3), 2 * plain.bytes + own.bytes);
	assert_int_equal(needs_bytes(&profile, NULL, 2), 2 * plain.bytes);
}

static void needs__hugepages_by_size(void **state)
{
	struct weir_profile profile;
	const struct needs_pool *pool;
	struct needs needs;

	(void)state;
	weir_profile_defaults(&profile);
	profile.bulk_buffers = 600;
	profile.bulk_buffer_bytes = MIB;
	needs_compute(&profile, NULL, &needs);
	pool = &needs.pools[ENGINE_POOL_BULK];
	assert_string_equal(pool->name, "bulk");
	assert_int_equal(pool->bytes, 600 * MIB);
	assert_int_equal(pool->hugepages[0], 1024 * MIB);
	assert_int_equal(pool->hugepages[1], 2 * MIB);
	assert_int_equal(pool->hugepages[2], 0);
	/* The reserve is too small for a hugepage. */
	assert_int_equal(needs.pools[ENGINE_POOL_RESERVE].hugepages[0], 0);
	profile.page_bytes = 2 * MIB;
	needs_compute(&profile, NULL, &needs);
	assert_int_equal(needs.pools[ENGINE_POOL_BULK].hugepages[0], 2 * MIB);
	assert_int_equal(needs.pools[ENGINE_POOL_BULK].hugepages[1], 0);
	profile.page_bytes = WEIR_PAGES_THP;
	needs_compute(&profile, NULL, &needs);
	assert_int_equal(needs.pools[ENGINE_POOL_BULK].hugepages[0], 0);
}

static void needs__of_an_rdma_device(void **state)
{
	struct weir_profile profile;
	struct needs needs;

	(void)state;
	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "verbs");
	profile.credits = 64;
	profile.connections = 10;
	needs_compute(&profile, NULL, &needs);
	assert_int_equal(needs.send_queue, 256);
	assert_int_equal(needs.recv_queue, 74);
	assert_int_equal(needs.shared_queue, 0);
	assert_true(needs.uses_windows);
	assert_int_equal(needs.registrations, needs.npools);
	/* Each connection registers all pools. */
	profile.exposure = WEIR_EXPOSURE_POOL;
	profile.protection = WEIR_PROTECTION_CONNECTION;
	needs_compute(&profile, NULL, &needs);
	assert_false(needs.uses_windows);
	assert_int_equal(needs.registrations, needs.npools * 10);
	assert_int_equal(needs.registered_bytes, needs.bytes * 10);
	profile.protection = WEIR_PROTECTION_SHARED;
	profile.shared_receives = WEIR_SHARED_RECEIVES_ON;
	needs_compute(&profile, NULL, &needs);
	assert_int_equal(needs.shared_queue, profile.recv_buffers);
	assert_int_equal(needs.recv_queue, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs__of_a_real_engine),
		cmocka_unit_test(needs__of_several_engines),
		cmocka_unit_test(needs__hugepages_by_size),
		cmocka_unit_test(needs__of_an_rdma_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
