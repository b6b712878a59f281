/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAM_FS_H
#define RAM_FS_H

/*
 * Creates a file system of the back end 'ram' without a server, for tests. It has inodes and names,
 * and no blocks for data.
 */
#include <stdint.h>

struct export;
struct ram_fs;
struct ram_inode;

/*
 * Creates the file system with an empty root, for 'ninodes' inodes and twice as many names. Returns
 * 0, or -1 if there is no memory.
 */
int ram_fs_make(struct ram_fs *fs, struct export *export, uint32_t ninodes,
		struct ram_inode **root);
void ram_fs_free(struct ram_fs *fs);

#endif
