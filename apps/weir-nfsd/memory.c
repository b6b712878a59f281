/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the memory for the exports and the profile is available. */
#include "memory.h"

#include <errno.h>
#include <stdio.h>

#include "dir/dir.h"
#include "memory_room.h"
#include "needs.h"
#include "options.h"
#include "server.h"

int memory_check(const struct options *options, const struct exports *exports)
{
	uint32_t cpus[POLLERS_MAX];
	int npollers = weir_profile_lcores(options->profile.lcores, cpus, POLLERS_MAX);
	uint64_t ram = 0, others;
	struct memory_room room;
	uint32_t ndirs = 0;

	for (uint32_t i = 0; i < exports->n; i++) {
		if (exports->all[i].ops == &dir_ops)
			ndirs++;
		else
			ram += exports->all[i].size_bytes;
	}
	/* Each poller has an engine. */
	others = npollers > 0 ? needs_bytes(&options->profile, cpus, (uint32_t)npollers)
			      : needs_bytes(&options->profile, NULL, 1);
	others += (uint64_t)ndirs * DIR_MEMORY;
	memory_room("", &room);
	if (ram + others <= room.bytes)
		return 0;
	fprintf(stderr,
		"weir-nfsd: the exports in memory take %llu MiB and buffers %llu MiB, and %llu MiB "
		"are available (%s): export less (ram:SIZE), lower the counts in the profile's "
		"[memory], or raise that limit\n",
		(unsigned long long)ram >> 20, (unsigned long long)others >> 20,
		(unsigned long long)room.bytes >> 20, room.limited_by);
	return -ENOMEM;
}
