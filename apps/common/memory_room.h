/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEMORY_ROOM_H
#define MEMORY_ROOM_H

/* How much memory this process can still get. A program can thus refuse a request that does not fit
 * before it allocates anything. Otherwise the kernel would end this process or another one. */

#include <stdint.h>

struct memory_room {
	uint64_t bytes;	      /* UINT64_MAX: unknown */
	char limited_by[720]; /* the file that states this limit; "" with UINT64_MAX */
};

/*
 * Sets *room to the lowest of these limits, and adds the free hugepages:
 * - the available memory of the machine,
 * - the limit of each memory cgroup (version 1 and 2), from the process's own one up to the root.
 *
 * 'root' is a prefix of /proc and /sys: "" except in tests. Never fails.
 */
void memory_room(const char *root, struct memory_room *room);

#endif
