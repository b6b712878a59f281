/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out any procedure on a worker thread, by a table. */
#include "proc.h"

typedef enum nfs3_status (*dir_proc)(struct dir_fs *fs, struct op *op);

static const dir_proc procs[NFS3_NPROCS] = {
	[NFS3_GETATTR] = dir_getattr,	  [NFS3_SETATTR] = dir_setattr,
	[NFS3_LOOKUP] = dir_lookup,	  [NFS3_ACCESS] = dir_access,
	[NFS3_READLINK] = dir_readlink,	  [NFS3_CREATE] = dir_create,
	[NFS3_MKDIR] = dir_make_node,	  [NFS3_SYMLINK] = dir_make_node,
	[NFS3_MKNOD] = dir_make_node,	  [NFS3_REMOVE] = dir_remove,
	[NFS3_RMDIR] = dir_remove,	  [NFS3_RENAME] = dir_rename,
	[NFS3_LINK] = dir_link,		  [NFS3_READDIR] = dir_readdir,
	[NFS3_READDIRPLUS] = dir_readdir, [NFS3_FSSTAT] = dir_fsstat,
	[NFS3_FSINFO] = dir_fsstat,	  [NFS3_PATHCONF] = dir_fsstat,
};

void dir_carry_out(struct dir_fs *fs, struct op *op)
{
	if (dir_is_transfer(op))
		dir_open_data(fs, op);
	else
		op->res.status = procs[op->proc](fs, op);
}
