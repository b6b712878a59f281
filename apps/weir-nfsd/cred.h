/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRED_H
#define CRED_H

/* Determines the user of a call, and the rights that mode bits give to this user. */

#include <weir/rpc.h>

#include "client_rules.h"

#define CRED_GIDS_MAX WEIR_PEER_GROUPS_MAX /* at least WEIR_RPC_GIDS_MAX */

struct cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[CRED_GIDS_MAX];
	bool reads_to_execute; /* the user may read every file that the user may execute, see
				  cred_of() */
};

enum { MAY_EXEC = 1, MAY_WRITE = 2, MAY_READ = 4 };

/*
 * Determines the user as whom a call is carried out. The user depends on:
 *
 * - the call's RPC credential
 * - the client's user, if the kernel has reported it
 * - the export's rules for that client
 *
 * If the kernel has reported the user of a client on this host, and the user is not root, the call
 * is carried out as that user with that user's groups. The RPC credential has no effect then, even
 * if it is AUTH_NONE. If that user has more groups than the kernel reported here, the call is
 * denied with WEIR_RPC_AUTH_TOOWEAK, because a mode can take rights from the members of a group.
 *
 * Any other client becomes the anonymous user if it sends AUTH_NONE or the ID 2^32 - 1, which is
 * not the ID of any user. A user whom the rules squash becomes the anonymous user, too.
 *
 * A client has to read a program in order to run it. Therefore a user who may execute a file may
 * also read it (RFC 1813 section 4.4). A user whom the kernel has reported gets no such right. Over
 * shm the client is a process and not a kernel that runs programs, so the process would get
 * contents that the host denies to it.
 *
 * Returns WEIR_RPC_AUTH_OK with *cred filled in, or the reason for which the call is denied.
 */
enum weir_rpc_auth_stat cred_of(const struct weir_rpc_auth *auth, const struct client *client,
				const struct export_rules *rules, struct cred *cred);

/* Returns true if 'gid' is the group of the user or one of the supplementary groups. */
bool cred_in_group(const struct cred *cred, uint32_t gid);

/*
 * Returns true if the mode bits permit all of 'want' (bits MAY_...) to a caller. The object has the
 * owner 'uid', the group 'gid' and the mode 'mode'. Root is permitted everything, except to execute
 * a file that nobody is permitted to execute.
 */
bool cred_may(const struct cred *cred, uint32_t uid, uint32_t gid, uint32_t mode, bool is_dir,
	      uint32_t want);

/* The rights of a caller to an object. 'can_change' means all of cred_change(). */
struct cred_rights {
	bool can_read, can_exec, can_change;
};

/*
 * Returns the rights (bits MAY_...) that a change of an object needs. A change of a directory's
 * entries also needs the right to search the directory.
 */
uint32_t cred_change(bool is_dir);

/* Returns the bits of the results of ACCESS (RFC 1813 section 3.3.4) that these rights grant. */
uint32_t cred_access(const struct cred_rights *rights, bool is_dir, bool is_read_only);

#endif
