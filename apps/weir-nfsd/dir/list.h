/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_LIST_H
#define DIR_LIST_H

/* Lists a directory for READDIR or READDIRPLUS, on a thread that acts as the caller. */

#include "proc.h"

/* The layout of an entry that getdents64() returns. */
struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* A listing in progress. */
struct listing {
	struct dir_fs *fs;
	struct op *op;
	int dir;      /* descriptor of the directory */
	bool is_root; /* the directory is the export's root */
};

/*
 * Calls take() for each entry from the present offset of list->dir on, until take() returns false.
 * 'arg' is passed to take(). Returns 1 if take() returned false, 0 at the end of the directory, or
 * -errno.
 */
int listing_each(struct listing *list,
		 bool (*take)(struct listing *list, const struct kernel_dirent *d, void *arg),
		 void *arg);

/* Adds an entry to the reply. Returns false if the entry does not fit. */
bool listing_put(struct listing *list, const char *name, uint64_t ino, uint64_t cookie);

/*
 * dir/list_sorted.c: lists a directory with cookies that are computed from the names. Returns 0 or
 * -errno.
 */
int listing_sorted(struct listing *list);

#endif
