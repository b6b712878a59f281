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

/* What is to be mapped, as mmap(2) has it. */
struct unlocked {
	size_t len; /* whole pages */
	int prot;
	int flags;
	int fd;
	off_t offset;
	bool is_huge; /* a file of hugepages: RLIMIT_MEMLOCK has to allow all of it while it is
			 being mapped */
};

/* Map it anywhere. No pages are taken. Returns MAP_FAILED with errno; EAGAIN: RLIMIT_MEMLOCK.
 * Async-signal-safe. */
void *unlocked_map(const struct unlocked *what);
/* Map it in place of what is at 'at'. Other threads see either the former memory or the new one. It
 * needs address space for a second mapping meanwhile. Returns false if it cannot be had.
 * Async-signal-safe. */
bool unlocked_replace(void *at, const struct unlocked *what);

#endif
