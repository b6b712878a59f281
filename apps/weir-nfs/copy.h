/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COPY_H
#define COPY_H

/*
 * Copies files and trees in both directions. Each function prints its errors, continues after those
 * that allow it, and returns the worst exit status.
 */

#include "dir.h"
#include "transfer.h"

/*
 * Limit for the depth of directories, because a server can pretend that they are nested without
 * end.
 */
#define COPY_LEVELS_MAX 128u

/*
 * Copies 'node' to 'name' in the directory 'dir_fd'. 'path' is for messages. A directory is not
 * copied through a symbolic link that is the last part of 'name'. For a directory that the user
 * named, "NAME/." follows the link.
 */
int copy_get(struct transfer *transfer, const struct node *node, int dir_fd, const char *name,
	     const char *path, uint32_t level);
/* Copies 'name' in the directory 'dir_fd' to 'remote_name' in 'dir'. */
int copy_put(struct transfer *transfer, int dir_fd, const char *name, const struct nfs3_fh *dir,
	     const char *remote_name, const char *path, uint32_t level);
/* Copies the file that is open as 'fd'. */
int copy_put_fd(struct transfer *transfer, int fd, uint32_t mode, const struct nfs3_fh *dir,
		const char *remote_name, const char *path);
/* Removes 'name' and everything below it. */
int copy_remove(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct node *node, const char *path, uint32_t level);

/* Reports that an object, such as a device, is not copied. Returns EXIT_OK. */
int copy_left_out(const char *what, const char *path);

/*
 * copy_worse() returns the worse of two statuses: 3 is worse than 4, 4 than 1, and 1 than 0.
 * copy_can_go_on() returns false if the session has failed.
 */
int copy_worse(int a, int b);
bool copy_can_go_on(const struct session *session);

#endif
