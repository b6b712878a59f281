/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEMORY_ROOM_H
#define MEMORY_ROOM_H

/*
 * Finds how much memory this process can still get. A program can thus refuse a request that does
 * not fit before it allocates anything. Otherwise the kernel would end this process or another one
 * when the memory is used up.
 */

#include <stdint.h>

struct memory_room {
	uint64_t bytes;	      /* memory that the process can still get; UINT64_MAX: unknown */
	char limited_by[720]; /* file that states the lowest limit; "" if 'bytes' is UINT64_MAX */
};

/*
 * Sets *room to the lowest of these limits, plus the free hugepages:
 * - the available memory of the machine,
 * - the limit of each memory cgroup (version 1 and 2), from the process's own cgroup up to the root
 *   cgroup.
 *
 * 'root' is put before the paths /proc and /sys. It is "" except in tests. The function never
 * fails: if a limit cannot be read, there is no such limit.
 */
void memory_room(const char *root, struct memory_room *room);

#endif
