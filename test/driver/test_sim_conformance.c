/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the tests of the driver contract over sim: PROGRAM [FIRST-SEED [SEEDS [sim|fault|late]]].
 * With "fault", the driver is 'fault' over sim, without faults. With "late", 'fault' also delays
 * and reorders completions and events, as the contract allows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_support.h"
#include "sim.h"

static const char *driver = "sim", *options = "";
static uint32_t held_polls; /* number of polls for which an event can be delayed */
#define FAR_NS 1000000u

static uint64_t seed;
static uint64_t tests_begun; /* each test has a world of its own, with another number */

static void start(struct driver_harness *harness)
{
	struct sim_world *world = sim_world_create(seed * 1000 + tests_begun++, NULL);

	assert_non_null(world);
	harness->state = world;
	snprintf(harness->options, sizeof(harness->options), "%sworld=%" PRIu32, options,
		 sim_world_id(world));
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
	(void)settling;
	/* The delayed event must arrive before the time limit of the work that waits for it. */
	if (idle < held_polls && sim_next(harness->state) - sim_now(harness->state) > FAR_NS)
		return true;
	return sim_step(harness->state);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	int failed = 0;

	if (argc > 3 && strcmp(argv[3], "sim") != 0) {
		driver = "fault";
		options = "over=sim,";
	}
	if (argc > 3 && strcmp(argv[3], "late") == 0) {
		options = "over=sim,kinds=delay+reorder,rate=64,";
		held_polls = 200;
	}
	for (seed = first; seed < first + seeds && failed == 0; seed++) {
		char name[32];
		struct driver_harness harness = {.name = name,
						 .ops = fabric_driver_find(driver),
						 .start = start,
						 .stop = stop,
						 .shows = true,
						 .progress = progress};

		snprintf(name, sizeof(name), "%s, seed %" PRIu64, driver, seed);
		tests_begun = 0;
		failed = driver_conformance(&harness);
	}
	return failed;
}
