/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_CODEC_H
#define NFS3_CODEC_H

/* Parts that arguments and results share; for this library's own files. As in nfs3_xdr.h. */

#include "nfs3_xdr.h"

/* An enum whose values are 'low' to 'high'. */
int nfs3_get_enum(struct weir_xdr_in *in, uint32_t low, uint32_t high, uint32_t *value);
int nfs3_put_bool(struct weir_xdr_out *out, bool value);
int nfs3_get_time(struct weir_xdr_in *in, struct nfs3_time *time);
int nfs3_put_time(struct weir_xdr_out *out, const struct nfs3_time *time);
int nfs3_get_name(struct weir_xdr_in *in, struct nfs3_name *name);
int nfs3_put_name(struct weir_xdr_out *out, const struct nfs3_name *name);
int nfs3_get_fattr(struct weir_xdr_in *in, struct nfs3_fattr *attr);
int nfs3_put_fattr(struct weir_xdr_out *out, const struct nfs3_fattr *attr);
int nfs3_get_post_attr(struct weir_xdr_in *in, struct nfs3_post_op_attr *attr);
int nfs3_put_post_attr(struct weir_xdr_out *out, const struct nfs3_post_op_attr *attr);
int nfs3_get_post_fh(struct weir_xdr_in *in, struct nfs3_post_op_fh *fh);
int nfs3_put_post_fh(struct weir_xdr_out *out, const struct nfs3_post_op_fh *fh);
int nfs3_get_wcc(struct weir_xdr_in *in, struct nfs3_wcc *wcc);
int nfs3_put_wcc(struct weir_xdr_out *out, const struct nfs3_wcc *wcc);
int nfs3_get_sattr(struct weir_xdr_in *in, struct nfs3_sattr *attr);
int nfs3_put_sattr(struct weir_xdr_out *out, const struct nfs3_sattr *attr);

/* What a get that looked at a value of its own returns when there was a fault. */
static inline int nfs3_in_result(bool failed)
{
	return failed ? -EBADMSG : 0;
}

static inline int nfs3_out_result(bool failed)
{
	return failed ? -ENOSPC : 0;
}

#endif
