/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WALK_H
#define WALK_H

/*
 * Finds the directory that a call of MNT names, and makes its handle. The directory is an export or
 * is below one.
 */

#include "cred.h"
#include "mount3_xdr.h"
#include "server.h"

struct walk {
	struct export *export;
	struct cred cred; /* the user as whom the walk is carried out, after the export's rules were
			     applied */
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
 * Returns true if the walk leads to the root of the export, whose handle server_root() makes
 * without a wait.
 */
bool walk_is_to_root(const struct walk *walk);
/*
 * Walks to the directory and makes its handle. Returns NFS3_OK with *fh set, or the reason of the
 * failure. The reason is NFS3ERR_ACCES if the user may not search a directory on the way. Any
 * thread that is not a poller's is allowed to call this function. The function waits until the file
 * system, or the poller that owns the export, answers.
 */
enum nfs3_status walk_run(const struct walk *walk, struct server *server, struct nfs3_fh *fh);

#endif
