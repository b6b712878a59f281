/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUTPUT_H
#define OUTPUT_H

/*
 * Reports in files. What was there stays until the new one is complete: that is written next to it, and takes its
 * place. What is no file of this user's alone (a device, a pipe, a link), or in a directory that nothing can be added
 * to, is written to in place. "-" is standard output.
 */

#include <stdio.h>

/* Before there is anything to write: 0, or -errno that was said, when it could not be. Leaves nothing behind. */
int bench_output_check(const char *path);

/* 'write' returns 0, or -1 with errno. 0, or -errno that was said. */
int bench_output_write(const char *path, int (*write)(FILE *file, const void *arg), const void *arg);

#endif
