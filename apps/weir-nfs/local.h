/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOCAL_H
#define LOCAL_H

/*
 * Reads and writes local files. A file that is being fetched has a temporary name, and gets its
 * final name when it is complete. If an object with the final name exists, it is replaced. This
 * includes a symbolic link, through which nothing is written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCAL_NAME_MAX 255u

struct local_file {
	int fd;	    /* the open file, or -1 if there is none */
	int dir_fd; /* descriptor of the directory to which 'name' is relative; can be AT_FDCWD */
	bool is_temporary;		    /* the file has its temporary name */
	const char *name;		    /* the final name, which can be a path */
	char temporary[LOCAL_NAME_MAX + 1]; /* the last part of the temporary path, in the same
					       directory as 'name' */
};

/*
 * Creates the file 'name' in the directory 'dir_fd', under a temporary name. Returns 0, or -errno
 * if the file cannot be created. The caller keeps 'name' until the end of the file.
 */
int local_begin(struct local_file *file, int dir_fd, const char *name);
/* Makes standard output the file. Then local_finish() and local_abandon() have no effect on it. */
void local_begin_stdout(struct local_file *file);
/* Writes 'len' bytes at the end of the file. Returns 0 or -errno. */
int local_write(struct local_file *file, const void *data, size_t len);
/*
 * Completes the file. Sets its permissions to 'mode' less the umask, renames it to its final name,
 * and closes it. Returns 0, or -errno after it has removed the file. The file is closed in both
 * cases.
 */
int local_finish(struct local_file *file, uint32_t mode);
/* Closes and removes a file that is not complete. */
void local_abandon(struct local_file *file);

/*
 * Reads 'len' bytes from 'offset' on, or fewer at the end of the file. If 'offset' is -1, reads
 * from the position where the last read ended. Returns the number of bytes, or -errno.
 */
ssize_t local_read(int fd, void *data, size_t len, int64_t offset);

/* Prints "weir-nfs: PATH: reason", where 'rc' is the -errno of the reason. Returns EXIT_LOCAL. */
int local_complain(const char *path, int rc);

#endif
