/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CMD_H
#define CMD_H

/* Parts that several commands use: open and close a session, and walk to a path. */

#include "tree.h"

/*
 * Both functions open a session. cmd_open() opens one for metadata only. cmd_open_transfer() opens
 * one with memory for transfers: --depth slots of 'block_bytes' each, or of a default size if
 * 'block_bytes' is 0. They return EXIT_OK with *session set, or another exit status after they have
 * printed the reason.
 */
int cmd_open(const struct nfs_options *options, struct session **session);
int cmd_open_transfer(const struct nfs_options *options, uint32_t block_bytes,
		      struct session **session);
/* Closes a session. Returns 'status'. */
int cmd_close(struct session *session, int status);

/*
 * Returns the exit status for a result of session_open(): EXIT_OK, EXIT_NFS for an error of the
 * server, or EXIT_TRANSPORT.
 */
int cmd_status(int rc);

/*
 * Parses the path 'text' and looks up its names from the export's root. Returns EXIT_OK with *node
 * set. After an error, prints the reason with the name of the command, 'what', and returns another
 * exit status.
 */
int cmd_walk(struct session *session, const char *what, const char *text, struct node *node);
/*
 * Does the same as cmd_walk() for the directory that contains the path's last name. Returns EXIT_OK
 * with *dir set, and the last name is in *path. The root has no such directory, so the result for
 * the root is EXIT_NFS.
 */
int cmd_walk_parent(struct session *session, const char *what, const char *text, struct path *path,
		    struct node *dir);
/* Returns the last name of a path, or "" if the path is the export's root. */
const char *cmd_last_name(const struct path *path);

#endif
