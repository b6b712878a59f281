/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the tests of the driver contract over mlx5, with both devices in this process: PROGRAM
 * ADDRESS [TEST-PATTERN]. The shortfalls are those of InfiniBand itself.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "conformance_support.h"
#include "eal.h"

#define SETTLED_NS  100000000ull /* if nothing happened for this time, nothing more will happen */
#define EXPECTED_NS 10000000000ull

extern const struct fabric_ops mlx5_ops;

static const char *address;

static void start(struct driver_harness *harness)
{
	static unsigned serial;

	harness->options[0] = '\0';
	snprintf(harness->addr, sizeof(harness->addr), "%s:%u", address, 24000 + serial++);
}

static void stop(struct driver_harness *harness)
{
	(void)harness;
}

static bool progress(struct driver_harness *harness, uint32_t idle, bool settling)
{
	static uint64_t since_ns;
	struct timespec ts;
	uint64_t at_ns;

	(void)harness;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	at_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (idle == 0)
		since_ns = at_ns;
	if (idle > 100)
		usleep(100);
	return at_ns - since_ns < (settling ? SETTLED_NS : EXPECTED_NS);
}

int main(int argc, char **argv)
{
	struct driver_harness harness = {.name = "mlx5",
					 .ops = &mlx5_ops,
					 .start = start,
					 .stop = stop,
					 .progress = progress,
					 .shortfalls = DRIVER_PRIVATE_DATA_PADDED |
						       DRIVER_RNR_AT_SENDER |
						       DRIVER_WINDOW_KEYS_256};

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
