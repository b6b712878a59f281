/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OUTPUT_H
#define OUTPUT_H

/*
 * Reports in files. An existing file stays until the new report is complete: the report is written
 * to a file next to it, which then replaces it. In these cases the existing file is overwritten in
 * place:
 * - The existing file is not a regular file that belongs to this user and has one name. Examples
 *   are a device, a pipe and a link.
 * - No file can be added to its directory.
 *
 * "-" is standard output.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Returns true when two reports at these paths would overwrite or mix with each other. The result
 * is true for one file under the same or two different names, which need not exist, and for
 * standard output. The result is false for /dev/null, and when one of the paths is NULL, which
 * means no file.
 */
bool bench_output_is_one(const char *a, const char *b);

/*
 * Checks before a run that a report can be written. Returns 0, or -errno after it has printed the
 * error. The check leaves no new file.
 */
int bench_output_check(const char *path);

/*
 * Writes a report with 'write', which returns 0, or -1 with errno set. Returns 0, or -errno after
 * it has printed the error.
 */
int bench_output_write(const char *path, int (*write)(FILE *file, const void *arg),
		       const void *arg);

/*
 * Writes 'root' as JSON to the file at 'path', and frees it. Returns 0, or -EIO after it has
 * printed the error.
 */
int bench_output_write_json(json_t *root, const char *path);

#endif
