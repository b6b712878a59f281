/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_XDR_H
#define NFS3_XDR_H

/*
 * These functions encode and decode the types of nfs3_types.h.
 *
 * The functions nfs3_get_...() decode the bytes of a peer. They return 0, or -EBADMSG in these
 * cases:
 * - The stream is exhausted.
 * - A bool is above 1.
 * - RFC 1813 does not declare the value of an enum.
 * - A length is above its limit.
 *
 * After an error, a part of the output might be set. The functions nfs3_put_...() encode values of
 * the caller. They return 0, or -ENOSPC if the stream has too little space. They trust the caller,
 * but they limit lengths to their maximum.
 *
 * Bulk items are neither decoded nor encoded here. The caller handles the bulk item after the
 * arguments of WRITE and SYMLINK, and after the NFS3_OK results of READ and READLINK, with
 * weir_xdr_get_opaque_ref(), weir_call_arg_item(), weir_request_result_item() and
 * weir_result_opaque().
 */

#include <weir/xdr.h>

#include "nfs3_types.h"

/* Sizes of the encoded types, in bytes of XDR. A size ..._MAX is a maximum. */
#define NFS3_FH_XDR_MAX	   (4u + NFS3_FH_MAX)
#define NFS3_NAME_XDR_MAX  (4u + NFS3_NAME_MAX + 1u)
#define NFS3_FATTR_XDR	   84u
#define NFS3_POST_ATTR_MAX (4u + NFS3_FATTR_XDR)
#define NFS3_WCC_XDR_MAX   (4u + 24u + NFS3_POST_ATTR_MAX)
#define NFS3_SATTR_XDR_MAX 60u
#define NFS3_ARGS_XDR_MAX                                                                          \
	(2u * (NFS3_FH_XDR_MAX + NFS3_NAME_XDR_MAX) + NFS3_SATTR_XDR_MAX) /* of any procedure */
#define NFS3_RESULTS_XDR_MAX 512u /* of the results of any procedure, without directory entries */

/* ---- arguments ---- */

int nfs3_get_fh(struct weir_xdr_in *in, struct nfs3_fh *fh);
int nfs3_put_fh(struct weir_xdr_out *out, const struct nfs3_fh *fh);
int nfs3_get_dirop(struct weir_xdr_in *in, struct nfs3_dirop *dirop);
int nfs3_put_dirop(struct weir_xdr_out *out, const struct nfs3_dirop *dirop);
int nfs3_get_setattr_args(struct weir_xdr_in *in, struct nfs3_setattr_args *args);
int nfs3_put_setattr_args(struct weir_xdr_out *out, const struct nfs3_setattr_args *args);
int nfs3_get_access_args(struct weir_xdr_in *in, struct nfs3_access_args *args);
int nfs3_put_access_args(struct weir_xdr_out *out, const struct nfs3_access_args *args);
int nfs3_get_read_args(struct weir_xdr_in *in, struct nfs3_read_args *args);
int nfs3_put_read_args(struct weir_xdr_out *out, const struct nfs3_read_args *args);
int nfs3_get_write_args(struct weir_xdr_in *in, struct nfs3_write_args *args);
int nfs3_put_write_args(struct weir_xdr_out *out, const struct nfs3_write_args *args);
int nfs3_get_create_args(struct weir_xdr_in *in, struct nfs3_create_args *args);
int nfs3_put_create_args(struct weir_xdr_out *out, const struct nfs3_create_args *args);
int nfs3_get_mkdir_args(struct weir_xdr_in *in, struct nfs3_mkdir_args *args);
int nfs3_put_mkdir_args(struct weir_xdr_out *out, const struct nfs3_mkdir_args *args);
int nfs3_get_mknod_args(struct weir_xdr_in *in, struct nfs3_mknod_args *args);
int nfs3_put_mknod_args(struct weir_xdr_out *out, const struct nfs3_mknod_args *args);
int nfs3_get_rename_args(struct weir_xdr_in *in, struct nfs3_rename_args *args);
int nfs3_put_rename_args(struct weir_xdr_out *out, const struct nfs3_rename_args *args);
int nfs3_get_link_args(struct weir_xdr_in *in, struct nfs3_link_args *args);
int nfs3_put_link_args(struct weir_xdr_out *out, const struct nfs3_link_args *args);
/*
 * These functions encode and decode the arguments of READDIR, or those of READDIRPLUS if 'plus' is
 * set. For READDIR, 'dircount' is neither encoded nor set.
 */
int nfs3_get_readdir_args(struct weir_xdr_in *in, struct nfs3_readdir_args *args, bool plus);
int nfs3_put_readdir_args(struct weir_xdr_out *out, const struct nfs3_readdir_args *args,
			  bool plus);
int nfs3_get_commit_args(struct weir_xdr_in *in, struct nfs3_commit_args *args);
int nfs3_put_commit_args(struct weir_xdr_out *out, const struct nfs3_commit_args *args);

/* ---- results ---- */

int nfs3_get_getattr_res(struct weir_xdr_in *in, struct nfs3_getattr_res *res);
int nfs3_put_getattr_res(struct weir_xdr_out *out, const struct nfs3_getattr_res *res);
int nfs3_get_wcc_res(struct weir_xdr_in *in, struct nfs3_wcc_res *res);
int nfs3_put_wcc_res(struct weir_xdr_out *out, const struct nfs3_wcc_res *res);
int nfs3_get_lookup_res(struct weir_xdr_in *in, struct nfs3_lookup_res *res);
int nfs3_put_lookup_res(struct weir_xdr_out *out, const struct nfs3_lookup_res *res);
int nfs3_get_access_res(struct weir_xdr_in *in, struct nfs3_access_res *res);
int nfs3_put_access_res(struct weir_xdr_out *out, const struct nfs3_access_res *res);
int nfs3_get_readlink_res(struct weir_xdr_in *in, struct nfs3_readlink_res *res);
int nfs3_put_readlink_res(struct weir_xdr_out *out, const struct nfs3_readlink_res *res);
int nfs3_get_read_res(struct weir_xdr_in *in, struct nfs3_read_res *res);
int nfs3_put_read_res(struct weir_xdr_out *out, const struct nfs3_read_res *res);
int nfs3_get_write_res(struct weir_xdr_in *in, struct nfs3_write_res *res);
int nfs3_put_write_res(struct weir_xdr_out *out, const struct nfs3_write_res *res);
int nfs3_get_create_res(struct weir_xdr_in *in, struct nfs3_create_res *res);
int nfs3_put_create_res(struct weir_xdr_out *out, const struct nfs3_create_res *res);
int nfs3_get_rename_res(struct weir_xdr_in *in, struct nfs3_rename_res *res);
int nfs3_put_rename_res(struct weir_xdr_out *out, const struct nfs3_rename_res *res);
int nfs3_get_link_res(struct weir_xdr_in *in, struct nfs3_link_res *res);
int nfs3_put_link_res(struct weir_xdr_out *out, const struct nfs3_link_res *res);
int nfs3_get_readdir_res(struct weir_xdr_in *in, struct nfs3_readdir_res *res);
int nfs3_put_readdir_res(struct weir_xdr_out *out, const struct nfs3_readdir_res *res);
int nfs3_get_fsstat_res(struct weir_xdr_in *in, struct nfs3_fsstat_res *res);
int nfs3_put_fsstat_res(struct weir_xdr_out *out, const struct nfs3_fsstat_res *res);
int nfs3_get_fsinfo_res(struct weir_xdr_in *in, struct nfs3_fsinfo_res *res);
int nfs3_put_fsinfo_res(struct weir_xdr_out *out, const struct nfs3_fsinfo_res *res);
int nfs3_get_pathconf_res(struct weir_xdr_in *in, struct nfs3_pathconf_res *res);
int nfs3_put_pathconf_res(struct weir_xdr_out *out, const struct nfs3_pathconf_res *res);
int nfs3_get_commit_res(struct weir_xdr_in *in, struct nfs3_commit_res *res);
int nfs3_put_commit_res(struct weir_xdr_out *out, const struct nfs3_commit_res *res);

/*
 * These functions decode and encode the entries of a directory one at a time. The entries follow
 * the NFS3_OK results of READDIR or READDIRPLUS. nfs3_get_entry() sets *more to false if no further
 * entry follows. Then it sets *eof to true if the directory ends here. nfs3_put_entries_end() ends
 * the list.
 */
int nfs3_get_entry(struct weir_xdr_in *in, struct nfs3_entry *entry, bool plus, bool *more,
		   bool *eof);
int nfs3_put_entry(struct weir_xdr_out *out, const struct nfs3_entry *entry, bool plus);
int nfs3_put_entries_end(struct weir_xdr_out *out, bool eof);
/* Returns the number of bytes that nfs3_put_entry() writes for the entry. */
uint32_t nfs3_entry_bytes(const struct nfs3_entry *entry, bool plus);

#endif
