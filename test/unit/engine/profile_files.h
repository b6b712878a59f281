/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROFILE_FILES_H
#define PROFILE_FILES_H

/* A folder with files for a test, which is made before the test and removed after it. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static char files_root[40];

static inline int files_make(void **state)
{
	(void)state;
	snprintf(files_root, sizeof(files_root), "/tmp/weir-test-XXXXXX");
	return mkdtemp(files_root) ? 0 : -1;
}

static inline int files_remove_one(const char *path, const struct stat *st, int type,
				   struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline int files_remove(void **state)
{
	(void)state;
	return nftw(files_root, files_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes the path of a file in the folder to 'path'. Returns 'path'. */
static inline const char *files_path(const char *name, char *path, size_t bytes)
{
	assert_true((size_t)snprintf(path, bytes, "%s/%s", files_root, name) < bytes);
	return path;
}

/* Writes a file of the folder, which may exist. */
static inline void files_write(const char *name, const char *text)
{
	char path[200];
	FILE *file = fopen(files_path(name, path, sizeof(path)), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Makes a folder in the folder. */
static inline void files_folder(const char *name)
{
	char path[200];

	assert_int_equal(mkdir(files_path(name, path, sizeof(path)), 0700), 0);
}

#endif
