/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes local files. */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "path.h"
#include "terminal.h"

/*
 * Maximum number of temporary names that are tried. A name is taken if another process uses it, or
 * if a crash left such a file.
 */
#define TRIES_MAX 100u

int local_begin(struct local_file *file, int dir_fd, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t dir_len = slash ? (size_t)(slash - name) + 1 : 0;

	*file = (struct local_file){.fd = -1, .dir_fd = dir_fd, .name = name};
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		/*
		 * The temporary name contains as much of the final name as fits, so that a user can
		 * identify a temporary file that a crash left.
		 */
		char path[PATH_BYTES_MAX];
		int n = snprintf(file->temporary, sizeof(file->temporary), ".%.200s.weir-%d-%u",
				 name + dir_len, (int)getpid(), i);

		if (n < 0 || (size_t)n >= sizeof(file->temporary))
			return -ENAMETOOLONG;
		n = snprintf(path, sizeof(path), "%.*s%s", (int)dir_len, name, file->temporary);
		if (n < 0 || (size_t)n >= sizeof(path))
			return -ENAMETOOLONG;
		file->fd = openat(dir_fd, path,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		file->is_temporary = file->fd >= 0;
		if (file->fd >= 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

void local_begin_stdout(struct local_file *file)
{
	*file = (struct local_file){.fd = STDOUT_FILENO, .dir_fd = AT_FDCWD};
}

int local_write(struct local_file *file, const void *data, size_t len)
{
	const char *from = data;

	while (len > 0) {
		ssize_t n = write(file->fd, from, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			from += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static void temporary_path(const struct local_file *file, char path[PATH_BYTES_MAX])
{
	const char *slash = strrchr(file->name, '/');

	snprintf(path, PATH_BYTES_MAX, "%.*s%s", slash ? (int)(slash - file->name) + 1 : 0,
		 file->name, file->temporary);
}

int local_finish(struct local_file *file, uint32_t mode)
{
	char path[PATH_BYTES_MAX];
	mode_t mask;
	int rc = 0;

	if (!file->is_temporary) {
		file->fd = -1;
		return 0;
	}
	mask = umask(0);
	umask(mask);
	temporary_path(file, path);
	if (fchmod(file->fd, (mode_t)mode & 0777 & ~mask) != 0)
		rc = -errno;
	/* close() can report errors of earlier writes. */
	if (close(file->fd) != 0 && rc == 0)
		rc = -errno;
	file->fd = -1;
	if (rc == 0 && renameat(file->dir_fd, path, file->dir_fd, file->name) != 0)
		rc = -errno;
	if (rc != 0)
		unlinkat(file->dir_fd, path, 0);
	file->is_temporary = false;
	return rc;
}

void local_abandon(struct local_file *file)
{
	char path[PATH_BYTES_MAX];

	if (!file->is_temporary)
		return;
	temporary_path(file, path);
	close(file->fd);
	unlinkat(file->dir_fd, path, 0);
	file->is_temporary = false;
	file->fd = -1;
}

ssize_t local_read(int fd, void *data, size_t len, int64_t offset)
{
	char *to = data;
	size_t got = 0;

	while (got < len) {
		ssize_t n = offset < 0 ? read(fd, to + got, len - got)
				       : pread(fd, to + got, len - got, (off_t)offset + (off_t)got);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		got += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)got;
}

int local_complain(const char *path, int rc)
{
	char text[PATH_BYTES_MAX];

	terminal_text(path, text, sizeof(text));
	fprintf(stderr, "weir-nfs: %s: %s\n", text, strerror(-rc));
	return EXIT_LOCAL;
}
