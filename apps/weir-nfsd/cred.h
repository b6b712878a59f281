/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRED_H
#define CRED_H

/* The user of a call, and what mode bits permit that user. */

#include <weir/rpc.h>

#include "client_rules.h"

#define CRED_GIDS_MAX WEIR_PEER_GROUPS_MAX /* at least WEIR_RPC_GIDS_MAX */

struct cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[CRED_GIDS_MAX];
	bool reads_to_execute; /* may read every file that it may execute, see cred_of() */
};

enum { MAY_EXEC = 1, MAY_WRITE = 2, MAY_READ = 4 };

/*
 * Decides as which user a call is carried out. The decision depends on:
 *
 * - the call's RPC credential
 * - what the kernel knows of the client
 * - the export's rules for that client
 *
 * If the kernel has named the user of a client on this host, and the user is not root, the call is
 * carried out as that user and its groups. The credential has no effect then, even if it is
 * AUTH_NONE. If that user has more groups than the kernel named here, the call is denied with
 * WEIR_RPC_AUTH_TOOWEAK, because a mode can take rights from the members of a group.
 *
 * Any other client is anonymous if it sends AUTH_NONE or the ID 2^32 - 1, which is no ID. A
 * squashed user is anonymous, too.
 *
 * A client has to read a program in order to run it, so a user who may execute a file may read it
 * (RFC 1813 section 4.4). A user whom the kernel has named gets no such right: no kernel runs
 * programs over shm, and the process would get contents that the host denies it.
 *
 * Returns WEIR_RPC_AUTH_OK with *cred filled in, or the reason to deny the call with.
 */
enum weir_rpc_auth_stat cred_of(const struct weir_rpc_auth *auth, const struct client *client,
				const struct export_rules *rules, struct cred *cred);

bool cred_in_group(const struct cred *cred, uint32_t gid);

/*
 * Returns true if a caller may do all of 'want' to an object of this owner and mode. Root may do
 * everything, except execute a file that nobody may execute.
 */
bool cred_may(const struct cred *cred, uint32_t uid, uint32_t gid, uint32_t mode, bool is_dir,
	      uint32_t want);

/* The rights of a caller: MAY_READ, MAY_EXEC, and all of cred_change(). */
struct cred_rights {
	bool can_read, can_exec, can_change;
};

/*
 * Returns the rights that a change needs. A change of a directory's entries needs the right to
 * search the directory.
 */
uint32_t cred_change(bool is_dir);

/* Returns the bits of ACCESS (RFC 1813 section 3.3.4) that these rights grant. */
uint32_t cred_access(const struct cred_rights *rights, bool is_dir, bool is_read_only);

#endif
