/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes the arguments of procedures (RFC 1813 section 3.3). */
#include "nfs3_codec.h"

int nfs3_get_setattr_args(struct weir_xdr_in *in, struct nfs3_setattr_args *args)
{
	if (nfs3_get_fh(in, &args->fh) || nfs3_get_sattr(in, &args->attr) ||
	    weir_xdr_get_bool(in, &args->is_guarded))
		return -EBADMSG;
	return args->is_guarded ? nfs3_get_time(in, &args->guard) : 0;
}

int nfs3_put_setattr_args(struct weir_xdr_out *out, const struct nfs3_setattr_args *args)
{
	if (nfs3_put_fh(out, &args->fh) || nfs3_put_sattr(out, &args->attr) ||
	    nfs3_put_bool(out, args->is_guarded))
		return -ENOSPC;
	return args->is_guarded ? nfs3_put_time(out, &args->guard) : 0;
}

int nfs3_get_access_args(struct weir_xdr_in *in, struct nfs3_access_args *args)
{
	return nfs3_in_result(nfs3_get_fh(in, &args->fh) || weir_xdr_get_u32(in, &args->access));
}

int nfs3_put_access_args(struct weir_xdr_out *out, const struct nfs3_access_args *args)
{
	return nfs3_out_result(nfs3_put_fh(out, &args->fh) || weir_xdr_put_u32(out, args->access));
}

int nfs3_get_read_args(struct weir_xdr_in *in, struct nfs3_read_args *args)
{
	return nfs3_in_result(nfs3_get_fh(in, &args->fh) || weir_xdr_get_u64(in, &args->offset) ||
			      weir_xdr_get_u32(in, &args->count));
}

int nfs3_put_read_args(struct weir_xdr_out *out, const struct nfs3_read_args *args)
{
	return nfs3_out_result(nfs3_put_fh(out, &args->fh) || weir_xdr_put_u64(out, args->offset) ||
			       weir_xdr_put_u32(out, args->count));
}

int nfs3_get_write_args(struct weir_xdr_in *in, struct nfs3_write_args *args)
{
	uint32_t stable;

	if (nfs3_get_fh(in, &args->fh) || weir_xdr_get_u64(in, &args->offset) ||
	    weir_xdr_get_u32(in, &args->count) ||
	    nfs3_get_enum(in, NFS3_UNSTABLE, NFS3_FILE_SYNC, &stable))
		return -EBADMSG;
	args->stable = (enum nfs3_stable)stable;
	return 0;
}

int nfs3_put_write_args(struct weir_xdr_out *out, const struct nfs3_write_args *args)
{
	return nfs3_out_result(nfs3_put_fh(out, &args->fh) || weir_xdr_put_u64(out, args->offset) ||
			       weir_xdr_put_u32(out, args->count) ||
			       weir_xdr_put_u32(out, args->stable));
}

int nfs3_get_create_args(struct weir_xdr_in *in, struct nfs3_create_args *args)
{
	uint32_t mode;

	if (nfs3_get_dirop(in, &args->where) ||
	    nfs3_get_enum(in, NFS3_UNCHECKED, NFS3_EXCLUSIVE, &mode))
		return -EBADMSG;
	args->mode = (enum nfs3_createmode)mode;
	if (args->mode == NFS3_EXCLUSIVE)
		return weir_xdr_get_opaque_fixed(in, args->verf, NFS3_VERF_BYTES);
	return nfs3_get_sattr(in, &args->attr);
}

int nfs3_put_create_args(struct weir_xdr_out *out, const struct nfs3_create_args *args)
{
	if (nfs3_put_dirop(out, &args->where) || weir_xdr_put_u32(out, args->mode))
		return -ENOSPC;
	if (args->mode == NFS3_EXCLUSIVE)
		return weir_xdr_put_opaque_fixed(out, args->verf, NFS3_VERF_BYTES);
	return nfs3_put_sattr(out, &args->attr);
}

int nfs3_get_mkdir_args(struct weir_xdr_in *in, struct nfs3_mkdir_args *args)
{
	return nfs3_in_result(nfs3_get_dirop(in, &args->where) || nfs3_get_sattr(in, &args->attr));
}

int nfs3_put_mkdir_args(struct weir_xdr_out *out, const struct nfs3_mkdir_args *args)
{
	return nfs3_out_result(nfs3_put_dirop(out, &args->where) ||
			       nfs3_put_sattr(out, &args->attr));
}

static bool is_device(enum nfs3_ftype type)
{
	return type == NFS3_CHR || type == NFS3_BLK;
}

static bool is_special(enum nfs3_ftype type)
{
	return is_device(type) || type == NFS3_SOCK || type == NFS3_FIFO;
}

int nfs3_get_mknod_args(struct weir_xdr_in *in, struct nfs3_mknod_args *args)
{
	uint32_t type;

	/*
	 * The type can also be one that MKNOD cannot create, because the default arm of the union
	 * in RFC 1813 includes all other types. The procedure answers NFS3ERR_BADTYPE for them.
	 */
	if (nfs3_get_dirop(in, &args->where) || nfs3_get_enum(in, NFS3_REG, NFS3_FIFO, &type))
		return -EBADMSG;
	args->type = (enum nfs3_ftype)type;
	if (is_special(args->type) && nfs3_get_sattr(in, &args->attr))
		return -EBADMSG;
	if (is_device(args->type) &&
	    (weir_xdr_get_u32(in, &args->rdev.major) || weir_xdr_get_u32(in, &args->rdev.minor)))
		return -EBADMSG;
	return 0;
}

int nfs3_put_mknod_args(struct weir_xdr_out *out, const struct nfs3_mknod_args *args)
{
	if (nfs3_put_dirop(out, &args->where) || weir_xdr_put_u32(out, args->type))
		return -ENOSPC;
	if (is_special(args->type) && nfs3_put_sattr(out, &args->attr))
		return -ENOSPC;
	if (is_device(args->type) &&
	    (weir_xdr_put_u32(out, args->rdev.major) || weir_xdr_put_u32(out, args->rdev.minor)))
		return -ENOSPC;
	return 0;
}

int nfs3_get_rename_args(struct weir_xdr_in *in, struct nfs3_rename_args *args)
{
	return nfs3_in_result(nfs3_get_dirop(in, &args->from) || nfs3_get_dirop(in, &args->to));
}

int nfs3_put_rename_args(struct weir_xdr_out *out, const struct nfs3_rename_args *args)
{
	return nfs3_out_result(nfs3_put_dirop(out, &args->from) || nfs3_put_dirop(out, &args->to));
}

int nfs3_get_link_args(struct weir_xdr_in *in, struct nfs3_link_args *args)
{
	return nfs3_in_result(nfs3_get_fh(in, &args->fh) || nfs3_get_dirop(in, &args->link));
}

int nfs3_put_link_args(struct weir_xdr_out *out, const struct nfs3_link_args *args)
{
	return nfs3_out_result(nfs3_put_fh(out, &args->fh) || nfs3_put_dirop(out, &args->link));
}

int nfs3_get_readdir_args(struct weir_xdr_in *in, struct nfs3_readdir_args *args, bool plus)
{
	return nfs3_in_result(nfs3_get_fh(in, &args->dir) || weir_xdr_get_u64(in, &args->cookie) ||
			      weir_xdr_get_opaque_fixed(in, args->verf, NFS3_VERF_BYTES) ||
			      (plus && weir_xdr_get_u32(in, &args->dircount)) ||
			      weir_xdr_get_u32(in, &args->maxcount));
}

int nfs3_put_readdir_args(struct weir_xdr_out *out, const struct nfs3_readdir_args *args, bool plus)
{
	return nfs3_out_result(nfs3_put_fh(out, &args->dir) ||
			       weir_xdr_put_u64(out, args->cookie) ||
			       weir_xdr_put_opaque_fixed(out, args->verf, NFS3_VERF_BYTES) ||
			       (plus && weir_xdr_put_u32(out, args->dircount)) ||
			       weir_xdr_put_u32(out, args->maxcount));
}

int nfs3_get_commit_args(struct weir_xdr_in *in, struct nfs3_commit_args *args)
{
	return nfs3_in_result(nfs3_get_fh(in, &args->fh) || weir_xdr_get_u64(in, &args->offset) ||
			      weir_xdr_get_u32(in, &args->count));
}

int nfs3_put_commit_args(struct weir_xdr_out *out, const struct nfs3_commit_args *args)
{
	return nfs3_out_result(nfs3_put_fh(out, &args->fh) || weir_xdr_put_u64(out, args->offset) ||
			       weir_xdr_put_u32(out, args->count));
}
