/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WALK_H
#define WALK_H

/* The way to a directory that MOUNT names, which is an export or below one. */

#include "cred.h"
#include "mount3.h"
#include "server.h"

struct walk {
	struct export *export;
	struct cred cred; /* of the user who walks, squashed by the export's rules */
	uint32_t below;	  /* where in 'path' what is below the export begins */
	char path[MOUNT3_PATH_MAX + 1];
};

/* Whether the client may mount what MOUNT calls 'path': false if that is no export, or one of
 * others. */
bool walk_may_mount(struct server *server, const struct client *client, const char *path);
/*
 * Find the export that 'path' is in. Returns NFS3_OK with *walk set, or the reason. NFS3ERR_ACCES:
 * the client may not mount the export. Waits for nothing.
 */
enum nfs3_status walk_begin(struct walk *walk, struct server *server, const struct client *client,
			    const struct weir_rpc_auth *auth, const char *path);
/* Whether it leads to the root of the export, whose handle server_root() returns without a wait. */
bool walk_is_to_root(const struct walk *walk);
/*
 * Walk to the directory. Returns NFS3_OK with *fh set, or the reason. NFS3ERR_ACCES: the user may
 * not search a directory on the way. Runs on any thread but a poller's, and waits until the file
 * system, or the poller that owns the export, answers.
 */
enum nfs3_status walk_run(const struct walk *walk, struct server *server, struct nfs3_fh *fh);

#endif
