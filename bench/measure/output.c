/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes reports to files, which are replaced only when a report is complete. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, int error)
{
	fprintf(stderr, "%s: can't write '%s': %s\n", program_invocation_short_name, path,
		strerror(error));
	return -error;
}

/*
 * Finds the canonical path of the directory that contains 'path'. Returns false if there is none.
 */
static bool directory_of(const char *path, char real[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	int n = snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1,
			 slash ? path : ".");

	return n < PATH_MAX && realpath(directory, real);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool bench_output_is_one(const char *a, const char *b)
{
	char a_directory[PATH_MAX], b_directory[PATH_MAX];
	struct stat a_stat, b_stat;

	if (!a || !b || strcmp(a, "/dev/null") == 0)
		return false;
	if (strcmp(a, b) == 0)
		return true;
	if (stat(a, &a_stat) == 0 && stat(b, &b_stat) == 0)
		return a_stat.st_dev == b_stat.st_dev && a_stat.st_ino == b_stat.st_ino;
	return strcmp(name_of(a), name_of(b)) == 0 && directory_of(a, a_directory) &&
	       directory_of(b, b_directory) && strcmp(a_directory, b_directory) == 0;
}

int bench_output_check(const char *path)
{
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0)
		return 0;
	/* an open could wait, or could act on a device or pipe */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode)	 ? refuse(path, EISDIR)
		       : access(path, W_OK) == 0 ? 0
						 : refuse(path, errno);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0) {
		unlink(path);
	} else if (errno == EEXIST) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			return 0; /* 'path' is a link to a file that does not exist yet */
	}
	if (fd < 0)
		return refuse(path, errno);
	close(fd);
	return 0;
}

/*
 * Opens a new file, which will replace the file at 'path'. Returns NULL if this is not possible, so
 * that 'path' has to be written in place.
 */
static FILE *open_part(const char *path, char *part, size_t size)
{
	struct stat st = {0};
	bool is_new = lstat(path, &st) != 0;
	FILE *file;
	int n, fd;

	if (!is_new && (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid()))
		return NULL;
	n = snprintf(part, size, "%s.%d.part", path, (int)getpid());
	if (n < 0 || (size_t)n >= size)
		return NULL;
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	file = is_new || fchmod(fd, st.st_mode & 07777) == 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		close(fd);
		unlink(part);
	}
	return file;
}

/*
 * Writes a report with 'write', and closes the file unless it is standard output. Returns 0 or an
 * errno.
 */
static int finish(FILE *file, int (*write)(FILE *file, const void *arg), const void *arg)
{
	int error = 0;

	errno = 0;
	if (write(file, arg) != 0 || fflush(file) != 0 || ferror(file))
		error = errno ? errno : EIO;
	if (file != stdout && fclose(file) != 0 && error == 0)
		error = errno;
	return error;
}

int bench_output_write(const char *path, int (*write)(FILE *file, const void *arg), const void *arg)
{
	char part[PATH_MAX];
	FILE *file;
	int error;

	if (strcmp(path, "-") == 0) {
		error = finish(stdout, write, arg);
		return error ? refuse(path, error) : 0;
	}
	file = open_part(path, part, sizeof(part));
	if (!file) {
		file = fopen(path, "we");
		error = file ? finish(file, write, arg) : errno;
		return error ? refuse(path, error) : 0;
	}
	error = finish(file, write, arg);
	if (error == 0 && rename(part, path) != 0)
		error = errno;
	if (error == 0)
		return 0;
	unlink(part);
	return refuse(path, error);
}

static int write_json(FILE *file, const void *arg)
{
	int rc = json_dumpf(arg, file, JSON_INDENT(2));

	if (file == stdout)
		putchar('\n');
	return rc;
}

int bench_output_write_json(json_t *root, const char *path)
{
	int rc = bench_output_write(path, write_json, root);

	json_decref(root);
	return rc == 0 ? 0 : -EIO;
}
