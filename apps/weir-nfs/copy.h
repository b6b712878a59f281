/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COPY_H
#define COPY_H

/*
 * Copies files and trees in both directions, and removes trees on the server. Each function prints
 * its errors. After an error, a function continues with the next entry of the directory, unless the
 * session has failed. It returns the worst exit status. 'path' is the path of the object for
 * messages, and 'level' is its depth below the object that the user named, which has level 0.
 */

#include "dir.h"
#include "transfer.h"

/*
 * Limit for the depth of directories, because a server can pretend that directories are nested
 * without end.
 */
#define COPY_LEVELS_MAX 128u

/*
 * Copies the remote object 'node' to 'name' in the local directory 'dir_fd'. If 'name' ends with a
 * symbolic link, a directory is not copied through that link. For a directory that the user named,
 * the caller passes "NAME/.", which follows the link.
 */
int copy_get(struct transfer *transfer, const struct node *node, int dir_fd, const char *name,
	     const char *path, uint32_t level);
/*
 * Copies the local object 'name' in the directory 'dir_fd' to 'remote_name' in the remote directory
 * 'dir'. If the object is a directory and 'remote_name' is "", its entries are copied to 'dir'
 * itself.
 */
int copy_put(struct transfer *transfer, int dir_fd, const char *name, const struct nfs3_fh *dir,
	     const char *remote_name, const char *path, uint32_t level);
/*
 * Copies the data that are read from 'fd' to the file 'remote_name' in 'dir', which gets the
 * permissions 'mode'.
 */
int copy_put_fd(struct transfer *transfer, int fd, uint32_t mode, const struct nfs3_fh *dir,
		const char *remote_name, const char *path);
/*
 * Removes 'name' in the directory 'dir', and everything below it. 'node' is the object with this
 * name.
 */
int copy_remove(struct session *session, const struct nfs3_fh *dir, const char *name,
		const struct node *node, const char *path, uint32_t level);

/*
 * Reports on standard error that an object, such as a device, is not copied by the command 'what'.
 * Returns EXIT_OK.
 */
int copy_left_out(const char *what, const char *path);

/*
 * copy_worse() returns the worse of two exit statuses: 3 (EXIT_TRANSPORT) is worse than 4
 * (EXIT_LOCAL), 4 is worse than 1 (EXIT_NFS), and 1 is worse than 0. copy_can_go_on() returns false
 * if the session has failed.
 */
int copy_worse(int a, int b);
bool copy_can_go_on(const struct session *session);

#endif
