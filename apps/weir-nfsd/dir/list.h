/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_LIST_H
#define DIR_LIST_H

/* One READDIR or READDIRPLUS under way, on a thread that acts as the caller. */

#include "proc.h"

/* As getdents64() has it. */
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
	bool is_root; /* the directory is the export's */
};

/*
 * Call take() for each entry from the descriptor's present offset, until it returns false. Returns
 * 1 if it did, 0 at the end of the directory, or -errno.
 */
int listing_each(struct listing *list,
		 bool (*take)(struct listing *list, const struct kernel_dirent *d, void *arg),
		 void *arg);

/* Add an entry to the reply. False: it does not fit. */
bool listing_put(struct listing *list, const char *name, uint64_t ino, uint64_t cookie);

/* dir/list_sorted.c: list by cookies that are made of the names. 0 or -errno. */
int listing_sorted(struct listing *list);

#endif
