/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT_H
#define MOUNT_H

/* The MOUNT protocol, version 3 (RFC 1813 appendix I), over TCP: from an export's name to its
 * root's handle. */

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
	uint32_t ngids; /* the user's other groups, as far as AUTH_SYS has room for them */
	gid_t gids[WEIR_RPC_GIDS_MAX];
	uint32_t timeout_ms;
};

/* Find MOUNT's port when options->port is 0. 0 and *port; or -errno with 'why' set. */
int mount_find_port(const struct mount_options *options, uint16_t *port,
		    char why[ONCRPC_CLIENT_TEXT]);

/* MNT 'path', at options->port. 0 with *res, whose status may be the server's refusal; or -errno
 * with 'why' set. */
int mount_mnt(const struct mount_options *options, const char *path, struct mount3_mnt_res *res,
	      char why[ONCRPC_CLIENT_TEXT]);

/* UMNT: the server may forget us. It is advice only (RFC 1813 section 5.2.3), so that failing is no
 * error. */
void mount_umnt(const struct mount_options *options, const char *path);

/* What the server exports. 0, or -errno with 'why' set. */
int mount_exports(const struct mount_options *options, struct mount3_export_res *res,
		  char why[ONCRPC_CLIENT_TEXT]);

/* What a mount3_status means, for people. */
const char *mount_status_text(uint32_t status);

#endif
