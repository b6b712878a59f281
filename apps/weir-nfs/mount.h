/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT_H
#define MOUNT_H

/*
 * Calls the MOUNT protocol, version 3 (RFC 1813 appendix I), over TCP. MOUNT returns the root
 * handle of an export for the export's name.
 */

#include <sys/types.h>

#include <weir/rpc.h>

#include "mount3_rpc.h"
#include "oncrpc_client.h"

struct mount_options {
	const char *host;
	uint16_t port; /* MOUNT's TCP port; 0: ask rpcbind */
	uint16_t rpcbind_port;
	uint32_t uid; /* user of the calls, in AUTH_SYS */
	uint32_t gid; /* group of the calls, in AUTH_SYS */
	/* number of the user's supplementary groups, as many as AUTH_SYS can hold */
	uint32_t ngids;
	gid_t gids[WEIR_RPC_GIDS_MAX];
	uint32_t timeout_ms; /* limit for the wait for a connection and for each reply */
};

/*
 * Sets the supplementary groups to those of this process, if the calls are made as the user of this
 * process. Otherwise there are none.
 */
void mount_find_groups(struct mount_options *options);

/*
 * Finds MOUNT's port: options->port or, if that is 0, the port that rpcbind knows. Returns 0 with
 * *port set, or -errno with an error message in 'why'.
 */
int mount_find_port(const struct mount_options *options, uint16_t *port,
		    char why[ONCRPC_CLIENT_TEXT]);

/*
 * Calls MNT for the export 'path' at options->port. Returns 0 with *res set, or -errno with an
 * error message in 'why'. If the server refuses, the function returns 0 and the reason is
 * res->status.
 */
int mount_mnt(const struct mount_options *options, const char *path, struct mount3_mnt_res *res,
	      char why[ONCRPC_CLIENT_TEXT]);

/*
 * Calls UMNT, so that the server can delete its entry of this client. A failure is ignored, because
 * the call is only a hint (RFC 1813 section 5.2.3).
 */
void mount_umnt(const struct mount_options *options, const char *path);

/* A server's exports, and the memory in which they are. */
struct mount_exports {
	mount3_exports first; /* NULL: there are none */
	uint64_t arena[MOUNT3_EXPORTS_ARENA_BYTES / sizeof(uint64_t)];
	uint8_t message[MOUNT3_EXPORT_3_RESULTS_MAX_BYTES];
};

/* Lists the server's exports. Returns 0 with *res set, or -errno with an error message in 'why'. */
int mount_exports(const struct mount_options *options, struct mount_exports *res,
		  char why[ONCRPC_CLIENT_TEXT]);

/* Returns the text of a mount3_status for messages. */
const char *mount_status_text(uint32_t status);

#endif
