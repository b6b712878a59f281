/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the tests of the driver contract over shm, with both devices in this process. With the
 * argument "fault", the driver is 'fault' over shm.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conformance_support.h"
#include "eal.h"

#define SETTLED_NS  30000000ull /* if nothing happened for this time, nothing more will happen */
#define EXPECTED_NS 2000000000ull

static const char *options = "";

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void start(struct driver_harness *harness)
{
	static unsigned serial;

	snprintf(harness->options, sizeof(harness->options), "%s", options);
	snprintf(harness->addr, sizeof(harness->addr), "conformance-%d-%u", (int)getpid(),
		 serial++);
}

static void stop(struct driver_harness *harness)
{
	(void)harness;
}

/* If nothing happened for a while, gives time to the thread that causes events. */
static bool progress(struct driver_harness *harness, uint32_t idle, bool settling)
{
	static uint64_t since_ns;
	uint64_t at_ns = now_ns();

	(void)harness;
	if (idle == 0)
		since_ns = at_ns;
	if (idle > 1000)
		usleep(100);
	return at_ns - since_ns < (settling ? SETTLED_NS : EXPECTED_NS);
}

int main(int argc, char **argv)
{
	struct driver_harness harness = {.name = "shm",
					 .ops = fabric_driver_find("shm"),
					 .start = start,
					 .stop = stop,
					 .progress = progress,
					 .shortfalls = DRIVER_SENDS_UNANSWERED |
						       DRIVER_UNEXPOSED_UNANSWERED,
					 .shows = true,
					 .has_credentials = true};

	if (argc > 1 && strcmp(argv[1], "fault") == 0) {
		harness.name = "fault over shm";
		harness.ops = fabric_driver_find("fault");
		options = "over=shm";
	}
	if (mem_eal_start(NULL) != 0) /* the driver needs EAL to know the frequency of the clock */
		return 1;
	return driver_conformance(&harness);
}
