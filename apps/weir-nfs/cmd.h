/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CMD_H
#define CMD_H

/* What commands share. */

#include "tree.h"

/* A session for metadata, or with memory for transfers as the options say. EXIT_OK and *session;
 * else it was said. */
int cmd_open(const struct nfs_options *options, struct session **session);
int cmd_open_transfer(const struct nfs_options *options, uint32_t block_bytes,
		      struct session **session);
/* End it; returns 'status', or what a signal makes of it. */
int cmd_close(struct session *session, int status);

/* The exit status that goes with a result of session_call(). */
int cmd_status(int rc);

/* Parse and walk 'text'. EXIT_OK; else it was said for 'what'. */
int cmd_walk(struct session *session, const char *what, const char *text, struct node *node);
/* The same for the directory of its last name, which is left in 'path'. The root has none:
 * EXIT_NFS. */
int cmd_walk_parent(struct session *session, const char *what, const char *text, struct path *path,
		    struct node *dir);
/* Its last name; "" for the root. */
const char *cmd_last_name(const struct path *path);

#endif
