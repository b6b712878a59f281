/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOCAL_H
#define LOCAL_H

/*
 * Files here. A file that is being fetched has a name of its own, and gets its final one when it is
 * whole; what stands at the final name, a symbolic link too, is replaced and never written through.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCAL_NAME_MAX 255u

struct local_file {
	int fd;	    /* -1: none */
	int dir_fd; /* that 'name' is in; AT_FDCWD too */
	bool is_temporary;
	const char *name; /* the final one */
	char temporary[LOCAL_NAME_MAX + 1];
};

/* Begin the file 'name' in the directory 'dir_fd', under a temporary name. 0 or -errno. */
int local_begin(struct local_file *file, int dir_fd, const char *name);
/* Standard output instead. */
void local_begin_stdout(struct local_file *file);
/* 0 or -errno. Takes all of it. */
int local_write(struct local_file *file, const void *data, size_t len);
/* Complete the file: set its permissions to 'mode' less the umask, give it its name, and close it.
 * Returns 0 or -errno. The file is closed in both cases. */
int local_finish(struct local_file *file, uint32_t mode);
/* It is not: forget it. */
void local_abandon(struct local_file *file);

/* Read up to 'len' bytes, fewer at the end only. Bytes, or -errno. 'offset' -1: where the last read
 * ended. */
ssize_t local_read(int fd, void *data, size_t len, int64_t offset);

/* "weir-nfs: PATH: why"; returns EXIT_LOCAL. */
int local_complain(const char *path, int rc);

#endif
