/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT_H
#define MOUNT_H

/*
 * The MOUNT protocol, version 3 (RFC 1813 appendix I), over TCP. It returns the root handle for an
 * export's name.
 */

#include <sys/types.h>

#include <weir/rpc.h>

#include "mount3.h"
#include "oncrpc_client.h"

struct mount_options {
	const char *host;
	uint16_t port; /* 0: ask rpcbind */
	uint16_t rpcbind_port;
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids; /* the user's supplementary groups, as many as AUTH_SYS can hold */
	gid_t gids[WEIR_RPC_GIDS_MAX];
	uint32_t timeout_ms;
};

/* Finds MOUNT's port if options->port is 0. Returns 0 with *port set, or -errno with 'why' set. */
int mount_find_port(const struct mount_options *options, uint16_t *port,
		    char why[ONCRPC_CLIENT_TEXT]);

/*
 * Calls MNT for 'path' at options->port. Returns 0 with *res set, or -errno with 'why' set. The
 * server's refusal is the status in *res.
 */
int mount_mnt(const struct mount_options *options, const char *path, struct mount3_mnt_res *res,
	      char why[ONCRPC_CLIENT_TEXT]);

/*
 * Calls UMNT, so that the server can forget this client. Its failure is no error, because the call
 * is only a hint (RFC 1813 section 5.2.3).
 */
void mount_umnt(const struct mount_options *options, const char *path);

/* Lists the server's exports. Returns 0, or -errno with 'why' set. */
int mount_exports(const struct mount_options *options, struct mount3_export_res *res,
		  char why[ONCRPC_CLIENT_TEXT]);

/* Returns the text for a mount3_status. */
const char *mount_status_text(uint32_t status);

#endif
