/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TWO_SIDES_H
#define TWO_SIDES_H

/*
 * Parts of the programs of pages that the pages do not show: a process for each side, a region, the
 * time with a limit, and the end. The child process is the responder. The parent is the requester,
 * which ends the child with itself.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#define LIMIT_NS UINT64_C(20000000000)

static pid_t responder; /* 0 in the responder's process */
static int polling[2];	/* a pipe: the responder writes a byte before its first poll */
static struct weir_region *region;

static void end(int status)
{
	if (responder > 0)
		kill(responder, SIGKILL);
	exit(status);
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	end(1);
}

/* Returns the time for a poll. The first call in the responder lets wait_for_responder() return. */
static uint64_t now_ns(void)
{
	static uint64_t end_ns;
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (end_ns == 0) {
		end_ns = ns + LIMIT_NS;
		if (responder == 0)
			check(write(polling[1], "", 1) == 1, "write");
	}
	check(ns < end_ns, "nothing came in time");
	return ns;
}

static void wait_for_responder(void)
{
	char byte;

	check(read(polling[0], &byte, 1) == 1, "the responder did not start");
}

/* Creates the process of the responder, and a region of 64 KiB for each side. Returns its memory.
 */
static void *start_sides(void)
{
	const struct weir_region_options options = {.struct_bytes = sizeof(options),
						    .len_bytes = 1u << 16,
						    .flags = WEIR_REGION_NO_HUGE,
						    .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};

	check(pipe(polling) == 0, "pipe");
	responder = fork();
	check(responder >= 0, "fork");
	if (responder == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else
		close(polling[1]);
	check(weir_region_create(&options, &region) == 0, "weir_region_create");
	weir_region_info(region, &info);
	return info.base;
}

#endif
