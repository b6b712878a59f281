/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the tests of the driver contract over a driver on the model of a ConnectX device,
 * with both devices in this process: PROGRAM DRIVER [late] [TEST-PATTERN]. Unlike soft RoCE, the
 * model has only shortfalls of InfiniBand itself. With "late", RDMA READs, binds and completions
 * are as late as a device may let them be.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conformance_support.h"
#include "eal.h"
#include "mlx5_model.h"

static void start(struct driver_harness *harness)
{
	static unsigned serial;

	snprintf(harness->options, sizeof(harness->options), "%s",
		 strcmp(harness->name, "verbs") == 0 ? "direct=off" : "");
	snprintf(harness->addr, sizeof(harness->addr), "%s:%u", MLX5_MODEL_ADDRESS,
		 22000 + serial++);
}

static void stop(struct driver_harness *harness)
{
	(void)harness;
	assert_int_equal(mlx5_model_violations(), 0);
}

/*
 * The model knows when nothing more will happen. Until then, the threads of the driver and of the
 * model get time.
 */
static bool progress(struct driver_harness *harness, uint32_t idle, bool settling)
{
	(void)harness;
	(void)settling;
	if (mlx5_model_is_idle())
		return false;
	if (idle > 100)
		usleep(100);
	return true;
}

int main(int argc, char **argv)
{
	const struct mlx5_model_faults late = {
		.late_reads = true, .late_binds = true, .late_completions = true};
	struct driver_harness harness = {.name = argc > 1 ? argv[1] : "",
					 .ops = fabric_driver_find(argc > 1 ? argv[1] : ""),
					 .start = start,
					 .stop = stop,
					 .progress = progress,
					 .shortfalls = DRIVER_PRIVATE_DATA_PADDED |
						       DRIVER_RNR_AT_SENDER |
						       DRIVER_WINDOW_KEYS_256};

	if (!harness.ops) {
		fprintf(stderr, "usage: %s DRIVER [late] [TEST-PATTERN]\n", argv[0]);
		return 2;
	}
	if (argc > 2 && strcmp(argv[2], "late") == 0) {
		mlx5_model_set_faults(&late);
		argc--;
		argv++;
	}
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (mem_eal_start(NULL) != 0)
		return 1;
	return driver_conformance(&harness);
}
