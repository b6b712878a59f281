/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUTPUT_H
#define OUTPUT_H

/*
 * Writes reports to files. An existing file stays until the new report is complete. The report is
 * written to a new file in the same directory, which then replaces the existing file. In these
 * cases the existing file is overwritten in place:
 * - The existing file is not a regular file that belongs to this user and has one name. Examples
 *   are a device, a pipe and a link.
 * - No file can be added to its directory.
 *
 * The path "-" means standard output.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Returns true if two reports at these paths would overwrite each other or be mixed. The result is
 * true if both paths lead to the same file, which does not have to exist, and if both are standard
 * output. The result is false for /dev/null, and if one of the paths is NULL, which means no file.
 */
bool bench_output_is_one(const char *a, const char *b);

/*
 * Checks that a report can be written to 'path'. The caller does so before a run. Returns 0, or
 * -errno after it has printed the error. The check leaves no new file behind.
 */
int bench_output_check(const char *path);

/*
 * Writes a report to 'path' with the function 'write', which gets 'arg' and returns 0, or -1 with
 * errno set. Returns 0, or -errno after it has printed the error.
 */
int bench_output_write(const char *path, int (*write)(FILE *file, const void *arg),
		       const void *arg);

/*
 * Writes 'root' as JSON to the file at 'path', and frees it. Returns 0, or -EIO after it has
 * printed the error.
 */
int bench_output_write_json(json_t *root, const char *path);

#endif
