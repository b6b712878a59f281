/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_LIST_H
#define NFS3_LIST_H

/*
 * READDIR and READDIRPLUS, with the same C types for both: 'plus' says which procedure it is. The
 * entries of a directory are encoded and decoded one at a time. They follow the structure
 * nfs3_readdir_head, if its status is NFS3_OK.
 *
 * The functions return 0, or -EBADMSG if malformed data are decoded, or -ENOSPC or -EINVAL like the
 * functions of nfs3_xdr.h if data are encoded.
 */

#include "nfs3_xdr.h"

/* For READDIR, 'dircount' is neither encoded nor set. */
int nfs3_list_get_args(struct weir_xdr_in *in, struct nfs3_readdirplus_args *args, bool plus);
int nfs3_list_put_args(struct weir_xdr_out *out, const struct nfs3_readdirplus_args *args,
		       bool plus);
/*
 * nfs3_list_get() sets *more to false if no further entry follows. Then it sets *eof to true if the
 * directory ends here. For READDIR, an entry has neither attributes nor a handle.
 */
int nfs3_list_get(struct weir_xdr_in *in, struct nfs3_entryplus *entry, bool plus, bool *more,
		  bool *eof);
int nfs3_list_put(struct weir_xdr_out *out, const struct nfs3_entryplus *entry, bool plus);
/* Ends the list. */
int nfs3_list_put_end(struct weir_xdr_out *out, bool eof);
/* Returns the number of bytes that nfs3_list_put() writes for the entry. */
uint32_t nfs3_list_entry_bytes(const struct nfs3_entryplus *entry, bool plus);

#endif
