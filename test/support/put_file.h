/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PUT_FILE_H
#define PUT_FILE_H

/* Writes files of folders that stand for a machine. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Writes a text to the file 'path' in the folder 'root', and creates the folders that lead to it.
 * 'path' begins with a slash. */
static inline void put_file(const char *root, const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

#endif
