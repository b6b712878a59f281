/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUSE_H
#define TEST_FUSE_H

/*
 * A file system that hangs when a test says so: FUSE without a library, served by a thread of the
 * test.
 *
 * The root has FUSE_FILES files named f0, f1 and so on and a directory named d. Each file has
 * FUSE_BYTES bytes, all of which are the digit of its name. What is written is counted and dropped.
 * Nothing is cached: each look at attributes asks.
 */

#include <stdbool.h>
#include <stdint.h>

#define FUSE_FILES 64u
#define FUSE_HANGS 60u /* files from f60 on never hang */
#define FUSE_BYTES 4096u

/*
 * Mount it on 'path', in a mount namespace that this process and its children have to themselves.
 * False: not possible here.
 */
bool fuse_mount(const char *path);
/*
 * Withhold the answers to requests of this kind (FUSE_READ and so on), from now on until
 * fuse_release(), for all but the files that never hang.
 */
void fuse_withhold(uint32_t opcode);
/* Requests whose answers are withheld now. */
uint32_t fuse_withheld(void);
/* Answer all that is withheld, and withhold nothing any more. */
void fuse_release(void);
/* Requests of this kind that were answered. */
uint32_t fuse_answered(uint32_t opcode);
/* End the file system: what it has not answered fails. */
void fuse_unmount(void);

#endif
