/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNLOCKED_H
#define UNLOCKED_H

/*
 * Mappings that mlockall(2) with MCL_FUTURE does not affect. In a program that has called
 * mlockall(2) with MCL_FUTURE, mmap(2) locks the memory that it maps, and allocates all of its
 * pages at once. A peer could thus make a server allocate memory for a sparse file.
 *
 * However, a mapping that exists before a call of mlockall(2) with MCL_CURRENT is locked by that
 * call.
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
	/* The file consists of hugepages. In this case RLIMIT_MEMLOCK must permit all of 'len'
	 * while the mapping is created. */
	bool is_huge;
};

/* Maps memory at an address that the kernel chooses, and allocates no pages. Returns the address.
 * On failure, returns MAP_FAILED with errno, which is EAGAIN if RLIMIT_MEMLOCK is exceeded.
 * Async-signal-safe. */
void *unlocked_map(const struct unlocked *what);
/* Replaces the mapping at 'at' by new memory. Other threads see either the old memory or the new
 * memory. Meanwhile, the function needs address space for a second mapping. Returns false if the
 * new memory cannot be mapped. Async-signal-safe. */
bool unlocked_replace(void *at, const struct unlocked *what);

#endif
