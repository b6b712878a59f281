/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of procedures: how nfs3.x's functions decode their arguments and send their results,
 * and which of them change something.
 */
#include "op_table.h"

#include "nfs3_list.h"

#define GET(member, what)                                                                          \
	static int get_##member(struct weir_xdr_in *in, union nfs3_op_args *args)                  \
	{                                                                                          \
		return nfs3_##what##_get(in, &args->member);                                       \
	}

#define REPLY(proc, member)                                                                        \
	static int reply_##proc(struct weir_request *req, const union nfs3_op_res *res)            \
	{                                                                                          \
		return nfs3_##proc##_3_reply(req, &res->member);                                   \
	}

GET(fh, fh)
GET(access, access_args)
GET(read, read_args)
GET(write, write_args)
GET(commit, commit_args)
GET(dirop, dirop)
GET(setattr, setattr_args)
GET(create, create_args)
GET(mkdir, mkdir_args)
GET(symlink, symlink_args)
GET(mknod, mknod_args)
GET(rename, rename_args)
GET(link, link_args)

REPLY(getattr, getattr)
REPLY(setattr, wcc)
REPLY(lookup, lookup)
REPLY(access, access)
REPLY(readlink, readlink)
REPLY(read, read)
REPLY(write, write)
REPLY(create, create)
REPLY(mkdir, create)
REPLY(symlink, create)
REPLY(mknod, create)
REPLY(remove, wcc)
REPLY(rmdir, wcc)
REPLY(rename, rename)
REPLY(link, link)
REPLY(fsstat, fsstat)
REPLY(fsinfo, fsinfo)
REPLY(pathconf, pathconf)
REPLY(commit, commit)

static int get_readdir(struct weir_xdr_in *in, union nfs3_op_args *args)
{
	return nfs3_list_get_args(in, &args->readdir, false);
}

static int get_readdirplus(struct weir_xdr_in *in, union nfs3_op_args *args)
{
	return nfs3_list_get_args(in, &args->readdir, true);
}

static int reply_list(struct weir_request *req, const union nfs3_op_res *res)
{
	struct weir_xdr_out *out = weir_request_results(req, NFS3_READDIR_HEAD_MAX_BYTES);

	if (!out)
		return -ENOBUFS;
	nfs3_readdir_head_put(out, &res->readdir);
	weir_request_reply(req);
	return 0;
}

/* NULL has no entry, because op_handle() answers it. */
const struct op_proc op_procs[NFS3_NPROCS] = {
	[NFS3_GETATTR] = {get_fh, reply_getattr, false, false},
	[NFS3_SETATTR] = {get_setattr, reply_setattr, true, false},
	[NFS3_LOOKUP] = {get_dirop, reply_lookup, false, true},
	[NFS3_ACCESS] = {get_access, reply_access, false, false},
	[NFS3_READLINK] = {get_fh, reply_readlink, false, false},
	[NFS3_READ] = {get_read, reply_read, false, false},
	[NFS3_WRITE] = {get_write, reply_write, true, false},
	[NFS3_CREATE] = {get_create, reply_create, true, true},
	[NFS3_MKDIR] = {get_mkdir, reply_mkdir, true, true},
	[NFS3_SYMLINK] = {get_symlink, reply_symlink, true, true},
	[NFS3_MKNOD] = {get_mknod, reply_mknod, true, true},
	[NFS3_REMOVE] = {get_dirop, reply_remove, true, true},
	[NFS3_RMDIR] = {get_dirop, reply_rmdir, true, true},
	[NFS3_RENAME] = {get_rename, reply_rename, true, true},
	[NFS3_LINK] = {get_link, reply_link, true, false},
	[NFS3_READDIR] = {get_readdir, reply_list, false, false},
	[NFS3_READDIRPLUS] = {get_readdirplus, reply_list, false, false},
	[NFS3_FSSTAT] = {get_fh, reply_fsstat, false, false},
	[NFS3_FSINFO] = {get_fh, reply_fsinfo, false, false},
	[NFS3_PATHCONF] = {get_fh, reply_pathconf, false, false},
	[NFS3_COMMIT] = {get_commit, reply_commit, true, false},
};
