/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COPY_H
#define COPY_H

/* Files and trees, there and back. Each says what went wrong, goes on where it can, and returns the
 * worst exit status. */

#include "dir.h"
#include "transfer.h"

/* Levels of directories that are gone down: a server can make them up without end. */
#define COPY_LEVELS_MAX 128u

/*
 * 'node' into 'name' in the directory 'dir_fd'; 'path' is for people. A directory is not copied
 * through a symbolic link that is the last part of 'name'. For a directory that the user named,
 * "NAME/." follows the link.
 */
int copy_get(struct transfer *transfer, const struct node *node, int dir_fd, const char *name,
	     const char *path, uint32_t level);
/* 'name' in the directory 'dir_fd' into 'remote_name' in 'dir'. */
int copy_put(struct transfer *transfer, int dir_fd, const char *name, const struct nfs3_fh *dir,
	     const char *remote_name, const char *path, uint32_t level);
/* The file that is open as 'fd'. */
int copy_put_fd(struct transfer *transfer, int fd, uint32_t mode, const struct nfs3_fh *dir,
		const char *remote_name, const char *path);
/* Remove 'name' with all below it. */
int copy_remove(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct node *node, const char *path, uint32_t level);

/* Say that devices and the like are not copied. EXIT_OK. */
int copy_left_out(const char *what, const char *path);

/* The worse of two: 3 before 4 before 1 before 0. Whether going on makes sense after it. */
int copy_worse(int a, int b);
bool copy_can_go_on(const struct session *session);

#endif
