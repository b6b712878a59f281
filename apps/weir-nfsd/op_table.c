/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of procedures: how their arguments are decoded and their results encoded, and which of
 * them change something or are not idempotent.
 */
#include "op_table.h"

#define GET(member, what)                                                                          \
	static int get_##member(struct weir_xdr_in *in, union nfs3_op_args *args)                  \
	{                                                                                          \
		return nfs3_get_##what(in, &args->member);                                         \
	}

#define PUT(member)                                                                                \
	static int put_##member(struct weir_xdr_out *out, const union nfs3_op_res *res)            \
	{                                                                                          \
		return nfs3_put_##member##_res(out, &res->member);                                 \
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
GET(mknod, mknod_args)
GET(rename, rename_args)
GET(link, link_args)

PUT(getattr)
PUT(wcc)
PUT(lookup)
PUT(access)
PUT(readlink)
PUT(read)
PUT(write)
PUT(create)
PUT(rename)
PUT(link)
PUT(readdir)
PUT(fsstat)
PUT(fsinfo)
PUT(pathconf)
PUT(commit)

static int get_readdir(struct weir_xdr_in *in, union nfs3_op_args *args)
{
	return nfs3_get_readdir_args(in, &args->readdir, false);
}

static int get_readdirplus(struct weir_xdr_in *in, union nfs3_op_args *args)
{
	return nfs3_get_readdir_args(in, &args->readdir, true);
}

/* NULL has no entry, because op_handle() answers it. */
const struct op_proc op_procs[NFS3_NPROCS] = {
	[NFS3_GETATTR] = {get_fh, put_getattr, false, false},
	[NFS3_SETATTR] = {get_setattr, put_wcc, true, false},
	[NFS3_LOOKUP] = {get_dirop, put_lookup, false, true},
	[NFS3_ACCESS] = {get_access, put_access, false, false},
	[NFS3_READLINK] = {get_fh, put_readlink, false, false},
	[NFS3_READ] = {get_read, put_read, false, false},
	[NFS3_WRITE] = {get_write, put_write, true, false},
	[NFS3_CREATE] = {get_create, put_create, true, true},
	[NFS3_MKDIR] = {get_mkdir, put_create, true, true},
	[NFS3_SYMLINK] = {get_mkdir, put_create, true, true},
	[NFS3_MKNOD] = {get_mknod, put_create, true, true},
	[NFS3_REMOVE] = {get_dirop, put_wcc, true, true},
	[NFS3_RMDIR] = {get_dirop, put_wcc, true, true},
	[NFS3_RENAME] = {get_rename, put_rename, true, true},
	[NFS3_LINK] = {get_link, put_link, true, false},
	[NFS3_READDIR] = {get_readdir, put_readdir, false, false},
	[NFS3_READDIRPLUS] = {get_readdirplus, put_readdir, false, false},
	[NFS3_FSSTAT] = {get_fh, put_fsstat, false, false},
	[NFS3_FSINFO] = {get_fh, put_fsinfo, false, false},
	[NFS3_PATHCONF] = {get_fh, put_pathconf, false, false},
	[NFS3_COMMIT] = {get_commit, put_commit, true, false},
};

/*
 * The procedures that are not idempotent. A second execution of one of them gives another answer,
 * or undoes a change that was made in between (RFC 1813 section 4.7). WRITE is not in the list,
 * because it writes the same data to the same offset.
 */
const bool op_non_idempotent[NFS3_NPROCS] = {
	[NFS3_SETATTR] = true, [NFS3_CREATE] = true, [NFS3_MKDIR] = true,
	[NFS3_SYMLINK] = true, [NFS3_MKNOD] = true,  [NFS3_REMOVE] = true,
	[NFS3_RMDIR] = true,   [NFS3_RENAME] = true, [NFS3_LINK] = true,
};
