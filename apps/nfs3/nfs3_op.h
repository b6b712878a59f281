/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_OP_H
#define NFS3_OP_H

/*
 * The decoded arguments, and the results, of any procedure of NFS version 3, as unions of the types
 * of all procedures. C allows a program to read 'write_head' after it has set 'write'.
 *
 * The files of this folder:
 *
 *   nfs3.x            defines NFS; weirgen makes nfs3_xdr.[ch] and nfs3_rpc.[ch] from it
 *   nfs3_op.h         the arguments and the results of any procedure
 *   nfs3_list.[ch]    READDIR and READDIRPLUS with the same types
 *   nfs3_names.[ch]   names of procedures, and texts and errnos of statuses
 *   mount3.x          MOUNT version 3, from which weirgen makes its code, too
 *   mount3_text.[ch]  strings of MOUNT
 *   handle_text.[ch]  reads a file handle that a user gives to a program
 */

#include "nfs3_rpc.h"

/* Maximum bytes of the results of any procedure, without directory entries. */
#define NFS3_RESULTS_XDR_MAX 512u

union nfs3_op_args {
	struct nfs3_fh fh; /* each member of the union starts with the procedure's first handle */
	struct nfs3_dirop dirop;
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_args write;
	struct nfs3_write_head write_head; /* the same without the data */
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir; /* of MKDIR, and of SYMLINK without the path */
	struct nfs3_symlink_args symlink;
	struct nfs3_mknod_args mknod;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdirplus_args readdir; /* of READDIR and READDIRPLUS */
	struct nfs3_commit_args commit;
};

union nfs3_op_res {
	enum nfs3_status status; /* each member of the union starts with the status */
	struct nfs3_getattr_res getattr;
	struct nfs3_wcc_res wcc; /* of SETATTR, REMOVE and RMDIR */
	struct nfs3_lookup_res lookup;
	struct nfs3_access_res access;
	struct nfs3_readlink_res readlink;
	struct nfs3_read_res read;
	struct nfs3_write_res write;
	struct nfs3_create_res create; /* of CREATE, MKDIR, SYMLINK and MKNOD */
	struct nfs3_rename_res rename;
	struct nfs3_link_res link;
	struct nfs3_readdir_head readdir; /* of READDIR and READDIRPLUS */
	struct nfs3_fsstat_res fsstat;
	struct nfs3_fsinfo_res fsinfo;
	struct nfs3_pathconf_res pathconf;
	struct nfs3_commit_res commit;
};

#endif
