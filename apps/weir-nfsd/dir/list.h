/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_LIST_H
#define DIR_LIST_H

/* A READDIR or READDIRPLUS in progress, on a thread that acts as the caller. */

#include "proc.h"

/* The layout of an entry that getdents64() returns. */
struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

struct listing {
	struct dir_fs *fs;
	struct op *op;
	int dir;
	bool is_root; /* the directory is the export's root */
};

/*
 * Calls take() for each entry from the descriptor's present offset, until it returns false. Returns
 * 1 if it did, 0 at the end of the directory, or -errno.
 */
int listing_each(struct listing *list,
		 bool (*take)(struct listing *list, const struct kernel_dirent *d, void *arg),
		 void *arg);

/* Adds an entry to the reply. Returns false if it does not fit. */
bool listing_put(struct listing *list, const char *name, uint64_t ino, uint64_t cookie);

/*
 * dir/list_sorted.c: lists a directory with cookies that are made from the names. Returns 0 or
 * -errno.
 */
int listing_sorted(struct listing *list);

#endif
