/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the tests of the driver contract over verbs, with both devices in this process: PROGRAM
 * ADDRESS [TEST-PATTERN]. The shortfalls are those of InfiniBand and of soft RoCE (rxe of Linux
 * 6.1), over which the tests run.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "conformance_support.h"
#include "eal.h"

/* These times are long enough for an emulated guest on a busy machine. */
#define SETTLED_NS  200000000ull /* if nothing happened for this time, nothing more will happen */
#define EXPECTED_NS 30000000000ull

static const char *address;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void start(struct driver_harness *harness)
{
	static unsigned serial;

	snprintf(harness->options, sizeof(harness->options), "direct=off");
	snprintf(harness->addr, sizeof(harness->addr), "%s:%u", address, 22000 + serial++);
}

static void stop(struct driver_harness *harness)
{
	(void)harness;
}

/*
 * If nothing happened for a while, gives time to the devices and kernel threads that cause events.
 */
static bool progress(struct driver_harness *harness, uint32_t idle, bool settling)
{
	static uint64_t since_ns;
	uint64_t at_ns = now_ns();

	(void)harness;
	if (idle == 0)
		since_ns = at_ns;
	if (idle > 100)
		usleep(1000);
	return at_ns - since_ns < (settling ? SETTLED_NS : EXPECTED_NS);
}

int main(int argc, char **argv)
{
	struct driver_harness harness = {
		.name = "verbs",
		.ops = fabric_driver_find("verbs"),
		.start = start,
		.stop = stop,
		.progress = progress,
		.shortfalls = DRIVER_PRIVATE_DATA_PADDED | DRIVER_RNR_AT_SENDER |
			      DRIVER_RECV_ERRORS_VAGUE | DRIVER_INVALIDATION_LAX |
			      DRIVER_WINDOWS_UNBOUNDED | DRIVER_WINDOW_KEYS_256};

	if (argc < 2) {
		fprintf(stderr, "usage: %s ADDRESS [TEST-PATTERN]\n", argv[0]);
		return 2;
	}
	address = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (mem_eal_start(NULL) != 0)
		return 1;
	return driver_conformance(&harness);
}
