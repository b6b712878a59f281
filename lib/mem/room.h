/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ROOM_H
#define ROOM_H

/* How much memory this process can still get, so that a program can refuse what does not fit before
 * it takes any. Otherwise the kernel would end it, or another process. */

#include <stdint.h>

struct mem_room {
	uint64_t bytes;	      /* UINT64_MAX: nothing says */
	char limited_by[720]; /* the file that says so; "" with UINT64_MAX */
};

/* The least of what the machine has available and what each memory cgroup (version 1 and 2) allows,
 * from the process's own up to the root; and hugepages that are free. 'root' is put in front of
 * /proc and /sys: "" but in tests. Never fails. */
void mem_room(const char *root, struct mem_room *room);

#endif
