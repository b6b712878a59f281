/* SPDX-License-Identifier: BSD-3-Clause */
#include "cred.h"

static void make_anonymous(const struct export *export, struct cred *cred)
{
	cred->uid = export->anon_uid;
	cred->gid = export->anon_gid;
	cred->ngids = 0;
}

enum weir_rpc_auth_stat cred_of(const struct weir_rpc_auth *auth, const struct export *export,
				struct cred *cred)
{
	struct weir_rpc_auth_sys sys;

	switch (auth->flavor) {
	case WEIR_RPC_AUTH_NONE:
		make_anonymous(export, cred);
		return WEIR_RPC_AUTH_OK;
	case WEIR_RPC_AUTH_SYS:
		break;
	default:
		return WEIR_RPC_AUTH_REJECTEDCRED;
	}
	if (weir_rpc_auth_sys_decode(auth, &sys) != 0)
		return WEIR_RPC_AUTH_BADCRED;
	cred->uid = sys.uid;
	cred->gid = sys.gid;
	cred->ngids = sys.ngids;
	for (uint32_t i = 0; i < sys.ngids; i++)
		cred->gids[i] = export->squashes_root && sys.gids[i] == 0 ? export->anon_gid : sys.gids[i];
	if (export->squashes_root && cred->uid == 0)
		make_anonymous(export, cred);
	else if (export->squashes_root && cred->gid == 0)
		cred->gid = export->anon_gid;
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

bool cred_may(const struct cred *cred, uint32_t uid, uint32_t gid, uint32_t mode, bool is_dir, uint32_t want)
{
	if (cred->uid == 0)
		return is_dir || !(want & MAY_EXEC) || (mode & 0111) != 0;
	if (cred->uid == uid)
		mode >>= 6;
	else if (cred_in_group(cred, gid))
		mode >>= 3;
	return (mode & want) == want;
}
