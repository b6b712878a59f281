/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOCAL_H
#define LOCAL_H

/*
 * Local files. A file that is being fetched has a temporary name, and gets its final name when it
 * is complete. If an object with the final name exists, even a symbolic link, it is replaced and
 * never written through.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCAL_NAME_MAX 255u

struct local_file {
	int fd;	    /* -1 if there is none */
	int dir_fd; /* directory of 'name'; may be AT_FDCWD */
	bool is_temporary;
	const char *name; /* the final name */
	char temporary[LOCAL_NAME_MAX + 1];
};

/* Begins the file 'name' in the directory 'dir_fd', under a temporary name. Returns 0 or -errno. */
int local_begin(struct local_file *file, int dir_fd, const char *name);
/* Uses standard output as the file. */
void local_begin_stdout(struct local_file *file);
/* Writes all of the data. Returns 0 or -errno. */
int local_write(struct local_file *file, const void *data, size_t len);
/*
 * Completes the file: sets its permissions to 'mode' less the umask, renames it to its final name,
 * and closes it. Returns 0 or -errno. The file is closed in both cases.
 */
int local_finish(struct local_file *file, uint32_t mode);
/* Closes and removes a file that is not complete. */
void local_abandon(struct local_file *file);

/*
 * Reads 'len' bytes, or fewer at the end of the file. 'offset' -1 means the position where the last
 * read ended. Returns the number of bytes, or -errno.
 */
ssize_t local_read(int fd, void *data, size_t len, int64_t offset);

/* Prints "weir-nfs: PATH: reason" and returns EXIT_LOCAL. */
int local_complain(const char *path, int rc);

#endif
