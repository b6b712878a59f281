/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUTPUT_H
#define OUTPUT_H

/*
 * Reports in files. What was there stays until the new one is complete: that is written next to it,
 * and takes its place. What is no file of this user's alone (a device, a pipe, a link), or in a
 * directory that nothing can be added to, is written to in place. "-" is standard output.
 */

#include <stdbool.h>
#include <stdio.h>

/* Whether what would be written to one would be lost by, or mixed with, what would be written to
 * the other: one file by the same or by another name, there or not yet there, or standard output.
 * /dev/null takes any number. NULL, which is no file, is like none. */
bool bench_output_is_one(const char *a, const char *b);

/* Before there is anything to write: 0, or -errno that was said, when it could not be. Leaves
 * nothing behind. */
int bench_output_check(const char *path);

/* 'write' returns 0, or -1 with errno. 0, or -errno that was said. */
int bench_output_write(const char *path, int (*write)(FILE *file, const void *arg),
		       const void *arg);

#endif
