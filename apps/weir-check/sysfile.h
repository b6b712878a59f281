/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SYSFILE_H
#define SYSFILE_H

/* Reads short files of /proc and /sys. 'root' is put before each path. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

#define SYSFILE_PATH_BYTES 512u
#define SYSFILE_BYTES	   4096u /* the longest file of /sys */

/* Writes the full path to 'path', which has SYSFILE_PATH_BYTES. */
printf_like(3, 4) void sysfile_path(char *path, const char *root, const char *format, ...);

/* Reads the first line of a file, without its end. Returns false, and sets 'line' to "", if the
 * file cannot be read. */
printf_like(4, 5) bool sysfile_line(const char *root, char *line, size_t bytes, const char *format,
				    ...);

/* Reads a file that begins with a number. Returns false, and leaves *value as it is, if the file
 * cannot be read or does not. */
printf_like(3, 4) bool sysfile_number(const char *root, uint64_t *value, const char *format, ...);

/* Returns whether a file or folder exists. */
printf_like(2, 3) bool sysfile_exists(const char *root, const char *format, ...);

/* Finds the line of a file that begins with 'start', and copies the text after 'start' and after
 * blanks to 'text'. Returns false, and sets 'text' to "", if there is none. */
bool sysfile_find(const char *root, const char *path, const char *start, char *text, size_t bytes);

#endif
