/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the user of a call from the credential, the client and the export's rules. */
#include "cred.h"

#include "nfs3_xdr.h"

/*
 * The ID of no user and of no group. chown() and setfsuid() take this number to mean "do not
 * change". If it were used as an ID, the present ID would stay in effect.
 */
#define ID_OF_NOBODY UINT32_MAX

_Static_assert(CRED_GIDS_MAX >= WEIR_RPC_GIDS_MAX, "all groups of a credential have room");

static void make_anonymous(const struct export_rules *rules, struct cred *cred)
{
	cred->uid = rules->anon_uid;
	cred->gid = rules->anon_gid;
	cred->ngids = 0;
}

static uint32_t gid_of(const struct export_rules *rules, uint32_t gid)
{
	bool is_squashed = gid == ID_OF_NOBODY || (gid == 0 && rules->squashes_root);

	return is_squashed ? rules->anon_gid : gid;
}

static void set_groups(const struct export_rules *rules, uint32_t gid, uint32_t ngids,
		       const uint32_t *gids, struct cred *cred)
{
	cred->gid = gid_of(rules, gid);
	cred->ngids = ngids;
	for (uint32_t i = 0; i < ngids; i++)
		cred->gids[i] = gid_of(rules, gids[i]);
}

enum weir_rpc_auth_stat cred_of(const struct weir_rpc_auth *auth, const struct client *client,
				const struct export_rules *rules, struct cred *cred)
{
	bool is_known = client->has_uid && client->uid != 0;
	struct weir_rpc_auth_sys sys;

	switch (auth->flavor) {
	case WEIR_RPC_AUTH_NONE:
		sys = (struct weir_rpc_auth_sys){.uid = ID_OF_NOBODY, .gid = ID_OF_NOBODY};
		break;
	case WEIR_RPC_AUTH_SYS:
		if (weir_rpc_auth_sys_decode(auth, &sys) != 0)
			return WEIR_RPC_AUTH_BADCRED;
		break;
	default:
		return WEIR_RPC_AUTH_REJECTEDCRED;
	}
	cred->reads_to_execute = !is_known;
	/*
	 * The credential of a user whom the kernel has reported is ignored. Such a user cannot
	 * become the anonymous user by AUTH_NONE.
	 */
	if (is_known)
		sys.uid = client->uid;
	if (rules->squashes_all || sys.uid == ID_OF_NOBODY ||
	    (sys.uid == 0 && rules->squashes_root)) {
		make_anonymous(rules, cred);
		return WEIR_RPC_AUTH_OK;
	}
	if (is_known && client->has_more_groups)
		return WEIR_RPC_AUTH_TOOWEAK;
	cred->uid = sys.uid;
	if (is_known)
		set_groups(rules, client->gid, client->ngroups, client->groups, cred);
	else
		set_groups(rules, sys.gid, sys.ngids, sys.gids, cred);
	return WEIR_RPC_AUTH_OK;
}

bool cred_in_group(const struct cred *cred, uint32_t gid)
{
	if (cred->gid == gid)
		return true;
	for (uint32_t i = 0; i < cred->ngids; i++)
		if (cred->gids[i] == gid)
			return true;
	return false;
}

bool cred_may(const struct cred *cred, uint32_t uid, uint32_t gid, uint32_t mode, bool is_dir,
	      uint32_t want)
{
	if (cred->uid == 0)
		return is_dir || !(want & MAY_EXEC) || (mode & 0111) != 0;
	if (cred->uid == uid)
		mode >>= 6;
	else if (cred_in_group(cred, gid))
		mode >>= 3;
	return (mode & want) == want;
}

uint32_t cred_change(bool is_dir)
{
	return is_dir ? MAY_WRITE | MAY_EXEC : MAY_WRITE;
}

uint32_t cred_access(const struct cred_rights *rights, bool is_dir, bool is_read_only)
{
	uint32_t grant = 0;

	if (rights->can_read)
		grant |= NFS3_ACCESS_READ;
	if (rights->can_exec)
		grant |= is_dir ? NFS3_ACCESS_LOOKUP : NFS3_ACCESS_EXECUTE;
	if (!is_read_only && rights->can_change)
		grant |=
			NFS3_ACCESS_MODIFY | NFS3_ACCESS_EXTEND | (is_dir ? NFS3_ACCESS_DELETE : 0);
	return grant;
}
