/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_MAIN_H
#define PAIR_MAIN_H

/* main() of a test program that runs over any driver: PROGRAM [shared] DRIVER [FIRST-SEED [SEEDS]], or
 * PROGRAM [shared] verbs ADDRESS. 'shared': with the profile's shared_receives.
 * DRIVER/window, DRIVER/pool: with that exposure policy rather than the driver's usual. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

static int pair_main(int argc, char **argv, int (*run)(void))
{
	uint64_t first, seeds;
	int failed = 0;

	if (argc > 1 && strcmp(argv[1], "shared") == 0) {
		pair_shared = true;
		argc--;
		argv++;
	}
	first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	seeds = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	if (argc > 1) {
		char *policy = strchr(argv[1], '/');

		pair_driver = argv[1];
		if (policy) {
			*policy++ = '\0';
			pair_exposure =
				strcmp(policy, "pool") == 0 ? WEIR_EXPOSURE_POOL : WEIR_EXPOSURE_WINDOW;
		}
	}
	if (argc > 2 && strcmp(pair_driver, "verbs") == 0) {
		pair_host = argv[2];
		first = 1;
	}
	for (pair_seed = first; pair_seed < first + seeds && failed == 0; pair_seed++) {
		failed = run();
		if (failed)
			fprintf(stderr, "failed over '%s' with seed %llu\n", pair_driver,
				(unsigned long long)pair_seed);
	}
	return failed;
}

#endif
