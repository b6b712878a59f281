/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CMD_H
#define CMD_H

/* Common parts of the commands. */

#include "tree.h"

/*
 * These open a session for metadata, or one with memory for transfers as the options require. They
 * return EXIT_OK with *session set, or another exit status after they have printed the reason.
 */
int cmd_open(const struct nfs_options *options, struct session **session);
int cmd_open_transfer(const struct nfs_options *options, uint32_t block_bytes,
		      struct session **session);
/* Ends a session. Returns 'status'. */
int cmd_close(struct session *session, int status);

/* Returns the exit status for a result of session_call(). */
int cmd_status(int rc);

/*
 * Parses 'text' and walks to it. Returns EXIT_OK, or another exit status after it has printed the
 * reason for the command 'what'.
 */
int cmd_walk(struct session *session, const char *what, const char *text, struct node *node);
/*
 * Does the same for the directory of the path's last name. The caller finds that name in 'path'.
 * The root has no such directory, so the result is EXIT_NFS.
 */
int cmd_walk_parent(struct session *session, const char *what, const char *text, struct path *path,
		    struct node *dir);
/* Returns the last name of a path, or "" for the root. */
const char *cmd_last_name(const struct path *path);

#endif
