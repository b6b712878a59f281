/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUSE_H
#define TEST_FUSE_H

/*
 * A file system that hangs when a test chooses: FUSE without a library, served by a thread of the
 * test.
 *
 * The root has FUSE_FILES files named f0, f1 and so on, and a directory named d. Each file has
 * FUSE_BYTES bytes, all of which are the last digit of its number. Data that are written are
 * counted and discarded. The kernel must cache nothing, so that each use of attributes asks for
 * them.
 */

#include <stdbool.h>
#include <stdint.h>

#define FUSE_FILES 64u
#define FUSE_HANGS 60u /* files f60 and later never hang */
#define FUSE_BYTES 4096u

/*
 * Mounts the file system on 'path', in a mount namespace of this process and its children. Returns
 * false if the process cannot mount it.
 */
bool fuse_mount(const char *path);
/*
 * Withholds the answers to requests of the kind 'opcode' (FUSE_READ and so on) until
 * fuse_release(). Requests for files that never hang are answered.
 */
void fuse_withhold(uint32_t opcode);
/* Returns the number of requests whose answers are withheld at present. */
uint32_t fuse_withheld(void);
/* Answers all withheld requests, and ends the effect of fuse_withhold(). */
void fuse_release(void);
/* Returns the number of requests of the kind 'opcode' that were answered. */
uint32_t fuse_answered(uint32_t opcode);
/* Unmounts the file system. Requests without an answer fail. */
void fuse_unmount(void);

#endif
