/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUSE_H
#define TEST_FUSE_H

/*
 * A file system that hangs when a test says so: FUSE without a library, served by a thread of the
 * test.
 *
 * The root has FUSE_FILES files named f0, f1 and so on, and a directory named d. Each file has
 * FUSE_BYTES bytes, all of which are the digit of its name. Written data are counted and dropped.
 * Nothing is cached: each use of attributes asks for them.
 */

#include <stdbool.h>
#include <stdint.h>

#define FUSE_FILES 64u
#define FUSE_HANGS 60u /* files from f60 on never hang */
#define FUSE_BYTES 4096u

/*
 * Mounts the file system on 'path', in a mount namespace of this process and its children. Returns
 * false if that is not possible here.
 */
bool fuse_mount(const char *path);
/*
 * Withholds the answers to requests of this kind (FUSE_READ and so on) until fuse_release(), except
 * those for files that never hang.
 */
void fuse_withhold(uint32_t opcode);
/* Returns the number of requests whose answers are withheld now. */
uint32_t fuse_withheld(void);
/* Answers all withheld requests, and withholds no more. */
void fuse_release(void);
/* Returns the number of requests of this kind that were answered. */
uint32_t fuse_answered(uint32_t opcode);
/* Ends the file system. Requests without an answer fail. */
void fuse_unmount(void);

#endif
