/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_MAIN_H
#define PAIR_MAIN_H

/* The main() of a test program that runs over any driver. Its arguments are one of:
 * - PROGRAM [PROTOCOLS] [shared] [APART] DRIVER [FIRST-SEED [SEEDS]]
 * - PROGRAM [PROTOCOLS] [shared] {verbs|mlx5} ADDRESS
 *
 * The words mean:
 * - APART is "threads" or "processes": the server runs in another thread or process. It is for test
 *   programs that do not look at the server.
 * - "shared" sets the profile's shared_receives.
 * - PROTOCOLS is "v2" (both sides speak version 2), or "v2+continuation", "v2+direction",
 *   "v2+placement" or "v2+all" (version 2 with those parts of its extension), or "auto-v1" (the
 *   requester can speak version 2 and the responder cannot), or "v1-auto" (the reverse). Otherwise
 *   both sides speak version 1.
 * - DRIVER/window and DRIVER/pool select that exposure policy instead of the driver's usual one.
 * - DRIVER/own selects "pool" and a protection domain for each connection. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "pair.h"

static bool pair_set_protocols(const char *word)
{
	static const struct {
		const char *word;
		enum weir_protocol client, server;
		enum weir_extension extension;
	} words[] = {
		{"v2", WEIR_PROTOCOL_V2, WEIR_PROTOCOL_V2, WEIR_EXTENSION_OFF},
		{"auto-v1", WEIR_PROTOCOL_AUTO, WEIR_PROTOCOL_V1, WEIR_EXTENSION_OFF},
		{"v1-auto", WEIR_PROTOCOL_V1, WEIR_PROTOCOL_AUTO, WEIR_EXTENSION_OFF},
		{"v2+continuation", WEIR_PROTOCOL_V2, WEIR_PROTOCOL_V2,
		 WEIR_EXTENSION_CONTINUATION},
		{"v2+direction", WEIR_PROTOCOL_V2, WEIR_PROTOCOL_V2, WEIR_EXTENSION_DIRECTION},
		{"v2+placement", WEIR_PROTOCOL_V2, WEIR_PROTOCOL_V2, WEIR_EXTENSION_PLACEMENT},
		{"v2+all", WEIR_PROTOCOL_V2, WEIR_PROTOCOL_V2, WEIR_EXTENSION_ALL},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].word, word) != 0)
			continue;
		pair_client_protocol = words[i].client;
		pair_server_protocol = words[i].server;
		pair_extension = words[i].extension;
		return true;
	}
	return false;
}

static int pair_main(int argc, char **argv, int (*run)(void))
{
	uint64_t first, seeds;
	int failed = 0;

	if (argc > 1 && pair_set_protocols(argv[1])) {
		argc--;
		argv++;
	}
	if (argc > 1 && strcmp(argv[1], "shared") == 0) {
		pair_shared = true;
		argc--;
		argv++;
	}
	if (argc > 2 && apart_begin(argv[1])) {
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
			pair_exposure = strcmp(policy, "window") == 0 ? WEIR_EXPOSURE_WINDOW
								      : WEIR_EXPOSURE_POOL;
			if (strcmp(policy, "own") == 0)
				pair_protection = WEIR_PROTECTION_CONNECTION;
		}
	}
	if (argc > 2 && pair_is_rdma()) {
		pair_host = argv[2];
		first = 1;
	}
	for (pair_seed = first; pair_seed < first + seeds && failed == 0; pair_seed++) {
		failed = run();
		if (failed)
			fprintf(stderr, "failed over '%s' with seed %llu\n", pair_driver,
				(unsigned long long)pair_seed);
	}
	if (apart_is_on() && !apart_end()) {
		fprintf(stderr, "the server's process did not end well\n");
		failed = 1;
	}
	return failed;
}

#endif
