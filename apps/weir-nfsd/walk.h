/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WALK_H
#define WALK_H

/* A walk to a directory that MOUNT names. The directory is an export or is below one. */

#include "cred.h"
#include "mount3.h"
#include "server.h"

struct walk {
	struct export *export;
	struct cred cred; /* the user who walks, squashed by the export's rules */
	uint32_t below;	  /* offset in 'path' of the part below the export */
	char path[MOUNT3_PATH_MAX + 1];
};

/*
 * Returns true if the client may mount the export that contains 'path'. Returns false if there is
 * no such export.
 */
bool walk_may_mount(struct server *server, const struct client *client, const char *path);
/*
 * Finds the export that contains 'path', without any wait. Returns NFS3_OK with *walk set, or the
 * reason of the failure. The reason is NFS3ERR_ACCES if the client may not mount the export.
 */
enum nfs3_status walk_begin(struct walk *walk, struct server *server, const struct client *client,
			    const struct weir_rpc_auth *auth, const char *path);
/*
 * Returns true if the walk leads to the root of the export, whose handle server_root() returns
 * without a wait.
 */
bool walk_is_to_root(const struct walk *walk);
/*
 * Walks to the directory. Returns NFS3_OK with *fh set, or the reason of the failure. The reason is
 * NFS3ERR_ACCES if the user may not search a directory on the way. May run on any thread that is
 * not a poller's, and waits until the file system, or the poller that owns the export, answers.
 */
enum nfs3_status walk_run(const struct walk *walk, struct server *server, struct nfs3_fh *fh);

#endif
