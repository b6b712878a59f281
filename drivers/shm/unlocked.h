/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNLOCKED_H
#define UNLOCKED_H

/*
 * Mappings that mlockall(2) with MCL_FUTURE does not affect. In a program that has called it,
 * mmap(2) locks what it maps and takes all of its pages at once. A peer would thus have a server
 * take real memory for a sparse file.
 *
 * A mapping that is there before the call, however, is locked by MCL_CURRENT.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The mapping to make, as the arguments of mmap(2) describe it. */
struct unlocked {
	size_t len; /* whole pages */
	int prot;
	int flags;
	int fd;
	off_t offset;
	/* The file consists of hugepages. RLIMIT_MEMLOCK must permit all of it while it is mapped.
	 */
	bool is_huge;
};

/* Maps memory at any address. It takes no pages. Returns MAP_FAILED and sets errno, which is EAGAIN
 * if RLIMIT_MEMLOCK is exceeded. Async-signal-safe. */
void *unlocked_map(const struct unlocked *what);
/* Maps memory over the existing mapping at 'at'. Other threads see either the old memory or the new
 * one. It needs address space for a second mapping meanwhile. Returns false if this is not
 * available. Async-signal-safe. */
bool unlocked_replace(void *at, const struct unlocked *what);

#endif
