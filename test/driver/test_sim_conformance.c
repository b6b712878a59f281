/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver contract over sim: PROGRAM [FIRST-SEED [SEEDS]]. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance_support.h"
#include "sim.h"

static uint64_t seed;
static uint64_t tests_begun; /* each has a world of its own */

static void start(struct driver_harness *harness)
{
	struct sim_world *world = sim_world_create(seed * 1000 + tests_begun++, NULL);

	assert_non_null(world);
	harness->state = world;
	snprintf(harness->options, sizeof(harness->options), "world=%" PRIu32, sim_world_id(world));
	snprintf(harness->addr, sizeof(harness->addr), "conformance");
}

static void stop(struct driver_harness *harness)
{
	uint32_t left = sim_world_objects(harness->state);

	sim_world_destroy(harness->state);
	assert_int_equal(left, 0);
}

static bool progress(struct driver_harness *harness, uint32_t idle, bool settling)
{
	(void)idle;
	(void)settling;
	return sim_step(harness->state);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	int failed = 0;

	for (seed = first; seed < first + seeds && failed == 0; seed++) {
		char name[32];
		struct driver_harness harness = {.name = name,
						 .ops = fabric_driver_find("sim"),
						 .start = start,
						 .stop = stop,
						 .progress = progress};

		snprintf(name, sizeof(name), "sim, seed %" PRIu64, seed);
		tests_begun = 0;
		failed = driver_conformance(&harness);
	}
	return failed;
}
