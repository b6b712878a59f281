/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRED_H
#define CRED_H

/* Who makes a call, and what mode bits let them do. */

#include <weir/rpc.h>

#include "client_rules.h"

#define CRED_GIDS_MAX WEIR_PEER_GROUPS_MAX /* not less than WEIR_RPC_GIDS_MAX */

struct cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[CRED_GIDS_MAX];
	bool reads_to_execute; /* may read what it may execute; cred_of() */
};

enum { MAY_EXEC = 1, MAY_WRITE = 2, MAY_READ = 4 };

/*
 * Decide as whom a call is carried out, by its RPC credential, by what the kernel knows of the
 * client, and by the export's rules for that client.
 *
 * If the kernel has named the user of a client on this host, and it is not root, the call is
 * carried out as that user and its groups, whatever the credential says, AUTH_NONE included. A user
 * who has more groups than the kernel named here is denied with WEIR_RPC_AUTH_TOOWEAK, because a
 * mode can take rights from the members of a group. Any other client is anonymous with AUTH_NONE,
 * and if it claims the ID 2^32 - 1, which is no ID. Whoever is squashed is anonymous.
 *
 * A client has to read a program in order to run it, so whoever may execute a file may read it (RFC
 * 1813 section 4.4). A user whom the kernel has named gets no such right: no kernel runs programs
 * over shm, and the process would get the contents that the host denies it.
 *
 * Returns WEIR_RPC_AUTH_OK with *cred filled in, or what the call is to be denied with.
 */
enum weir_rpc_auth_stat cred_of(const struct weir_rpc_auth *auth, const struct client *client,
				const struct export_rules *rules, struct cred *cred);

bool cred_in_group(const struct cred *cred, uint32_t gid);

/* May they do all of 'want' to an object of this owner and mode? Root may, but execute only what
 * someone may. */
bool cred_may(const struct cred *cred, uint32_t uid, uint32_t gid, uint32_t mode, bool is_dir,
	      uint32_t want);

/* Whether a caller has MAY_READ, MAY_EXEC, and all of cred_change(). */
struct cred_rights {
	bool can_read, can_exec, can_change;
};

/* The rights that a change takes. To change a directory's entries takes the right to search it. */
uint32_t cred_change(bool is_dir);

/* ACCESS (RFC 1813 section 3.3.4): all that may be asked for and that these rights grant. */
uint32_t cred_access(const struct cred_rights *rights, bool is_dir, bool is_read_only);

#endif
