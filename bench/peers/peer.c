/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the clock and pins processes, for the peers. */
#include "peer.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t peer_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void peer_pin(long core)
{
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0) {
		fprintf(stderr, "%s: can't run on that core: %s\n", program_invocation_short_name,
			strerror(errno));
		exit(1);
	}
}
