/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes the types that arguments and results share (RFC 1813 section 2.6). */
#include "nfs3_codec.h"

int nfs3_get_enum(struct weir_xdr_in *in, uint32_t low, uint32_t high, uint32_t *value)
{
	if (weir_xdr_get_u32(in, value) != 0 || *value < low || *value > high)
		return -EBADMSG;
	return 0;
}

int nfs3_put_bool(struct weir_xdr_out *out, bool value)
{
	return weir_xdr_put_u32(out, value);
}

int nfs3_get_fh(struct weir_xdr_in *in, struct nfs3_fh *fh)
{
	return weir_xdr_get_opaque(in, fh->data, NFS3_FH_MAX, &fh->len_bytes);
}

int nfs3_put_fh(struct weir_xdr_out *out, const struct nfs3_fh *fh)
{
	return weir_xdr_put_opaque(out, fh->data,
				   fh->len_bytes < NFS3_FH_MAX ? fh->len_bytes : NFS3_FH_MAX);
}

int nfs3_get_name(struct weir_xdr_in *in, struct nfs3_name *name)
{
	uint32_t len;

	if (weir_xdr_get_u32(in, &len) != 0 || len > NFS3_PATH_MAX)
		return -EBADMSG;
	name->len_bytes = len;
	return weir_xdr_get_opaque_fixed(in, len <= NFS3_NAME_MAX ? name->data : NULL, len);
}

int nfs3_put_name(struct weir_xdr_out *out, const struct nfs3_name *name)
{
	return weir_xdr_put_opaque(
		out, name->data, name->len_bytes < NFS3_NAME_MAX ? name->len_bytes : NFS3_NAME_MAX);
}

int nfs3_get_time(struct weir_xdr_in *in, struct nfs3_time *time)
{
	return nfs3_in_result(weir_xdr_get_u32(in, &time->seconds) ||
			      weir_xdr_get_u32(in, &time->nseconds));
}

int nfs3_put_time(struct weir_xdr_out *out, const struct nfs3_time *time)
{
	return nfs3_out_result(weir_xdr_put_u32(out, time->seconds) ||
			       weir_xdr_put_u32(out, time->nseconds));
}

int nfs3_get_fattr(struct weir_xdr_in *in, struct nfs3_fattr *attr)
{
	uint32_t type;

	if (nfs3_get_enum(in, NFS3_REG, NFS3_FIFO, &type) || weir_xdr_get_u32(in, &attr->mode) ||
	    weir_xdr_get_u32(in, &attr->nlink) || weir_xdr_get_u32(in, &attr->uid) ||
	    weir_xdr_get_u32(in, &attr->gid) || weir_xdr_get_u64(in, &attr->size) ||
	    weir_xdr_get_u64(in, &attr->used) || weir_xdr_get_u32(in, &attr->rdev.major) ||
	    weir_xdr_get_u32(in, &attr->rdev.minor) || weir_xdr_get_u64(in, &attr->fsid) ||
	    weir_xdr_get_u64(in, &attr->fileid) || nfs3_get_time(in, &attr->atime) ||
	    nfs3_get_time(in, &attr->mtime) || nfs3_get_time(in, &attr->ctime))
		return -EBADMSG;
	attr->type = (enum nfs3_ftype)type;
	return 0;
}

int nfs3_put_fattr(struct weir_xdr_out *out, const struct nfs3_fattr *attr)
{
	return nfs3_out_result(
		weir_xdr_put_u32(out, attr->type) || weir_xdr_put_u32(out, attr->mode) ||
		weir_xdr_put_u32(out, attr->nlink) || weir_xdr_put_u32(out, attr->uid) ||
		weir_xdr_put_u32(out, attr->gid) || weir_xdr_put_u64(out, attr->size) ||
		weir_xdr_put_u64(out, attr->used) || weir_xdr_put_u32(out, attr->rdev.major) ||
		weir_xdr_put_u32(out, attr->rdev.minor) || weir_xdr_put_u64(out, attr->fsid) ||
		weir_xdr_put_u64(out, attr->fileid) || nfs3_put_time(out, &attr->atime) ||
		nfs3_put_time(out, &attr->mtime) || nfs3_put_time(out, &attr->ctime));
}

int nfs3_get_post_attr(struct weir_xdr_in *in, struct nfs3_post_op_attr *attr)
{
	if (weir_xdr_get_bool(in, &attr->is_set) != 0)
		return -EBADMSG;
	return attr->is_set ? nfs3_get_fattr(in, &attr->attr) : 0;
}

int nfs3_put_post_attr(struct weir_xdr_out *out, const struct nfs3_post_op_attr *attr)
{
	if (nfs3_put_bool(out, attr->is_set) != 0)
		return -ENOSPC;
	return attr->is_set ? nfs3_put_fattr(out, &attr->attr) : 0;
}

int nfs3_get_post_fh(struct weir_xdr_in *in, struct nfs3_post_op_fh *fh)
{
	if (weir_xdr_get_bool(in, &fh->is_set) != 0)
		return -EBADMSG;
	return fh->is_set ? nfs3_get_fh(in, &fh->fh) : 0;
}

int nfs3_put_post_fh(struct weir_xdr_out *out, const struct nfs3_post_op_fh *fh)
{
	if (nfs3_put_bool(out, fh->is_set) != 0)
		return -ENOSPC;
	return fh->is_set ? nfs3_put_fh(out, &fh->fh) : 0;
}

int nfs3_get_wcc(struct weir_xdr_in *in, struct nfs3_wcc *wcc)
{
	if (weir_xdr_get_bool(in, &wcc->has_before) != 0)
		return -EBADMSG;
	if (wcc->has_before &&
	    (weir_xdr_get_u64(in, &wcc->before.size) || nfs3_get_time(in, &wcc->before.mtime) ||
	     nfs3_get_time(in, &wcc->before.ctime)))
		return -EBADMSG;
	return nfs3_get_post_attr(in, &wcc->after);
}

int nfs3_put_wcc(struct weir_xdr_out *out, const struct nfs3_wcc *wcc)
{
	if (nfs3_put_bool(out, wcc->has_before) != 0)
		return -ENOSPC;
	if (wcc->has_before &&
	    (weir_xdr_put_u64(out, wcc->before.size) || nfs3_put_time(out, &wcc->before.mtime) ||
	     nfs3_put_time(out, &wcc->before.ctime)))
		return -ENOSPC;
	return nfs3_put_post_attr(out, &wcc->after);
}

static int get_optional_u32(struct weir_xdr_in *in, bool *is_set, uint32_t *value)
{
	if (weir_xdr_get_bool(in, is_set) != 0)
		return -EBADMSG;
	return *is_set ? weir_xdr_get_u32(in, value) : 0;
}

static int put_optional_u32(struct weir_xdr_out *out, bool is_set, uint32_t value)
{
	if (nfs3_put_bool(out, is_set) != 0)
		return -ENOSPC;
	return is_set ? weir_xdr_put_u32(out, value) : 0;
}

static int get_set_time(struct weir_xdr_in *in, enum nfs3_time_how *how, struct nfs3_time *time)
{
	uint32_t value;

	if (nfs3_get_enum(in, NFS3_DONT_CHANGE, NFS3_SET_TO_CLIENT_TIME, &value) != 0)
		return -EBADMSG;
	*how = (enum nfs3_time_how)value;
	return *how == NFS3_SET_TO_CLIENT_TIME ? nfs3_get_time(in, time) : 0;
}

static int put_set_time(struct weir_xdr_out *out, enum nfs3_time_how how,
			const struct nfs3_time *time)
{
	if (weir_xdr_put_u32(out, how) != 0)
		return -ENOSPC;
	return how == NFS3_SET_TO_CLIENT_TIME ? nfs3_put_time(out, time) : 0;
}

int nfs3_get_sattr(struct weir_xdr_in *in, struct nfs3_sattr *attr)
{
	if (get_optional_u32(in, &attr->set_mode, &attr->mode) ||
	    get_optional_u32(in, &attr->set_uid, &attr->uid) ||
	    get_optional_u32(in, &attr->set_gid, &attr->gid) ||
	    weir_xdr_get_bool(in, &attr->set_size) ||
	    (attr->set_size && weir_xdr_get_u64(in, &attr->size)) ||
	    get_set_time(in, &attr->atime_how, &attr->atime) ||
	    get_set_time(in, &attr->mtime_how, &attr->mtime))
		return -EBADMSG;
	return 0;
}

int nfs3_put_sattr(struct weir_xdr_out *out, const struct nfs3_sattr *attr)
{
	return nfs3_out_result(put_optional_u32(out, attr->set_mode, attr->mode) ||
			       put_optional_u32(out, attr->set_uid, attr->uid) ||
			       put_optional_u32(out, attr->set_gid, attr->gid) ||
			       nfs3_put_bool(out, attr->set_size) ||
			       (attr->set_size && weir_xdr_put_u64(out, attr->size)) ||
			       put_set_time(out, attr->atime_how, &attr->atime) ||
			       put_set_time(out, attr->mtime_how, &attr->mtime));
}

int nfs3_get_dirop(struct weir_xdr_in *in, struct nfs3_dirop *dirop)
{
	return nfs3_in_result(nfs3_get_fh(in, &dirop->dir) || nfs3_get_name(in, &dirop->name));
}

int nfs3_put_dirop(struct weir_xdr_out *out, const struct nfs3_dirop *dirop)
{
	return nfs3_out_result(nfs3_put_fh(out, &dirop->dir) || nfs3_put_name(out, &dirop->name));
}
