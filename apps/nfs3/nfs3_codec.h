/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NFS3_CODEC_H
#define NFS3_CODEC_H

/*
 * Functions that encode and decode the types that arguments and results share. Only the files of
 * this library use them. Their return values are those of nfs3_xdr.h: a get returns 0 or -EBADMSG,
 * and a put returns 0 or -ENOSPC.
 */

#include "nfs3_xdr.h"

/* Decodes an enum. A value below 'low' or above 'high' is an error. */
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

/*
 * These two functions return the result of a get or a put that combines several steps. 'failed' is
 * true if any of the steps failed.
 */
static inline int nfs3_in_result(bool failed)
{
	return failed ? -EBADMSG : 0;
}

static inline int nfs3_out_result(bool failed)
{
	return failed ? -ENOSPC : 0;
}

#endif
