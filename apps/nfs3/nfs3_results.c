/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes the results of procedures (RFC 1813 section 3.3). */
#include "nfs3_codec.h"

static int get_status(struct weir_xdr_in *in, enum nfs3_status *status)
{
	uint32_t value;

	if (weir_xdr_get_u32(in, &value) != 0 || !nfs3_status_is_known(value))
		return -EBADMSG;
	*status = (enum nfs3_status)value;
	return 0;
}

/* Decodes the status, and the attributes that follow any status. */
static int get_status_attr(struct weir_xdr_in *in, enum nfs3_status *status,
			   struct nfs3_post_op_attr *attr)
{
	return nfs3_in_result(get_status(in, status) || nfs3_get_post_attr(in, attr));
}

static int put_status_attr(struct weir_xdr_out *out, enum nfs3_status status,
			   const struct nfs3_post_op_attr *attr)
{
	return nfs3_out_result(weir_xdr_put_u32(out, status) || nfs3_put_post_attr(out, attr));
}

int nfs3_get_getattr_res(struct weir_xdr_in *in, struct nfs3_getattr_res *res)
{
	if (get_status(in, &res->status) != 0)
		return -EBADMSG;
	return res->status == NFS3_OK ? nfs3_get_fattr(in, &res->attr) : 0;
}

int nfs3_put_getattr_res(struct weir_xdr_out *out, const struct nfs3_getattr_res *res)
{
	if (weir_xdr_put_u32(out, res->status) != 0)
		return -ENOSPC;
	return res->status == NFS3_OK ? nfs3_put_fattr(out, &res->attr) : 0;
}

int nfs3_get_wcc_res(struct weir_xdr_in *in, struct nfs3_wcc_res *res)
{
	return nfs3_in_result(get_status(in, &res->status) || nfs3_get_wcc(in, &res->wcc));
}

int nfs3_put_wcc_res(struct weir_xdr_out *out, const struct nfs3_wcc_res *res)
{
	return nfs3_out_result(weir_xdr_put_u32(out, res->status) || nfs3_put_wcc(out, &res->wcc));
}

int nfs3_get_lookup_res(struct weir_xdr_in *in, struct nfs3_lookup_res *res)
{
	if (get_status(in, &res->status) != 0)
		return -EBADMSG;
	if (res->status == NFS3_OK &&
	    (nfs3_get_fh(in, &res->fh) || nfs3_get_post_attr(in, &res->attr)))
		return -EBADMSG;
	return nfs3_get_post_attr(in, &res->dir_attr);
}

int nfs3_put_lookup_res(struct weir_xdr_out *out, const struct nfs3_lookup_res *res)
{
	if (weir_xdr_put_u32(out, res->status) != 0)
		return -ENOSPC;
	if (res->status == NFS3_OK &&
	    (nfs3_put_fh(out, &res->fh) || nfs3_put_post_attr(out, &res->attr)))
		return -ENOSPC;
	return nfs3_put_post_attr(out, &res->dir_attr);
}

int nfs3_get_access_res(struct weir_xdr_in *in, struct nfs3_access_res *res)
{
	if (get_status_attr(in, &res->status, &res->attr) != 0)
		return -EBADMSG;
	return res->status == NFS3_OK ? weir_xdr_get_u32(in, &res->access) : 0;
}

int nfs3_put_access_res(struct weir_xdr_out *out, const struct nfs3_access_res *res)
{
	if (put_status_attr(out, res->status, &res->attr) != 0)
		return -ENOSPC;
	return res->status == NFS3_OK ? weir_xdr_put_u32(out, res->access) : 0;
}

int nfs3_get_readlink_res(struct weir_xdr_in *in, struct nfs3_readlink_res *res)
{
	return get_status_attr(in, &res->status, &res->attr);
}

int nfs3_put_readlink_res(struct weir_xdr_out *out, const struct nfs3_readlink_res *res)
{
	return put_status_attr(out, res->status, &res->attr);
}

int nfs3_get_read_res(struct weir_xdr_in *in, struct nfs3_read_res *res)
{
	if (get_status_attr(in, &res->status, &res->attr) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_in_result(weir_xdr_get_u32(in, &res->count) ||
			      weir_xdr_get_bool(in, &res->eof));
}

int nfs3_put_read_res(struct weir_xdr_out *out, const struct nfs3_read_res *res)
{
	if (put_status_attr(out, res->status, &res->attr) != 0)
		return -ENOSPC;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_out_result(weir_xdr_put_u32(out, res->count) || nfs3_put_bool(out, res->eof));
}

int nfs3_get_write_res(struct weir_xdr_in *in, struct nfs3_write_res *res)
{
	uint32_t committed;

	if (get_status(in, &res->status) || nfs3_get_wcc(in, &res->wcc))
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	if (weir_xdr_get_u32(in, &res->count) ||
	    nfs3_get_enum(in, NFS3_UNSTABLE, NFS3_FILE_SYNC, &committed) ||
	    weir_xdr_get_opaque_fixed(in, res->verf, NFS3_VERF_BYTES))
		return -EBADMSG;
	res->committed = (enum nfs3_stable)committed;
	return 0;
}

int nfs3_put_write_res(struct weir_xdr_out *out, const struct nfs3_write_res *res)
{
	if (weir_xdr_put_u32(out, res->status) || nfs3_put_wcc(out, &res->wcc))
		return -ENOSPC;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_out_result(weir_xdr_put_u32(out, res->count) ||
			       weir_xdr_put_u32(out, res->committed) ||
			       weir_xdr_put_opaque_fixed(out, res->verf, NFS3_VERF_BYTES));
}

int nfs3_get_create_res(struct weir_xdr_in *in, struct nfs3_create_res *res)
{
	if (get_status(in, &res->status) != 0)
		return -EBADMSG;
	if (res->status == NFS3_OK &&
	    (nfs3_get_post_fh(in, &res->fh) || nfs3_get_post_attr(in, &res->attr)))
		return -EBADMSG;
	return nfs3_get_wcc(in, &res->dir_wcc);
}

int nfs3_put_create_res(struct weir_xdr_out *out, const struct nfs3_create_res *res)
{
	if (weir_xdr_put_u32(out, res->status) != 0)
		return -ENOSPC;
	if (res->status == NFS3_OK &&
	    (nfs3_put_post_fh(out, &res->fh) || nfs3_put_post_attr(out, &res->attr)))
		return -ENOSPC;
	return nfs3_put_wcc(out, &res->dir_wcc);
}

int nfs3_get_rename_res(struct weir_xdr_in *in, struct nfs3_rename_res *res)
{
	return nfs3_in_result(get_status(in, &res->status) || nfs3_get_wcc(in, &res->from_wcc) ||
			      nfs3_get_wcc(in, &res->to_wcc));
}

int nfs3_put_rename_res(struct weir_xdr_out *out, const struct nfs3_rename_res *res)
{
	return nfs3_out_result(weir_xdr_put_u32(out, res->status) ||
			       nfs3_put_wcc(out, &res->from_wcc) ||
			       nfs3_put_wcc(out, &res->to_wcc));
}

int nfs3_get_link_res(struct weir_xdr_in *in, struct nfs3_link_res *res)
{
	return nfs3_in_result(get_status_attr(in, &res->status, &res->attr) ||
			      nfs3_get_wcc(in, &res->dir_wcc));
}

int nfs3_put_link_res(struct weir_xdr_out *out, const struct nfs3_link_res *res)
{
	return nfs3_out_result(put_status_attr(out, res->status, &res->attr) ||
			       nfs3_put_wcc(out, &res->dir_wcc));
}

int nfs3_get_fsstat_res(struct weir_xdr_in *in, struct nfs3_fsstat_res *res)
{
	if (get_status_attr(in, &res->status, &res->attr) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_in_result(
		weir_xdr_get_u64(in, &res->tbytes) || weir_xdr_get_u64(in, &res->fbytes) ||
		weir_xdr_get_u64(in, &res->abytes) || weir_xdr_get_u64(in, &res->tfiles) ||
		weir_xdr_get_u64(in, &res->ffiles) || weir_xdr_get_u64(in, &res->afiles) ||
		weir_xdr_get_u32(in, &res->invarsec));
}

int nfs3_put_fsstat_res(struct weir_xdr_out *out, const struct nfs3_fsstat_res *res)
{
	if (put_status_attr(out, res->status, &res->attr) != 0)
		return -ENOSPC;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_out_result(
		weir_xdr_put_u64(out, res->tbytes) || weir_xdr_put_u64(out, res->fbytes) ||
		weir_xdr_put_u64(out, res->abytes) || weir_xdr_put_u64(out, res->tfiles) ||
		weir_xdr_put_u64(out, res->ffiles) || weir_xdr_put_u64(out, res->afiles) ||
		weir_xdr_put_u32(out, res->invarsec));
}

int nfs3_get_fsinfo_res(struct weir_xdr_in *in, struct nfs3_fsinfo_res *res)
{
	if (get_status_attr(in, &res->status, &res->attr) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_in_result(
		weir_xdr_get_u32(in, &res->rtmax) || weir_xdr_get_u32(in, &res->rtpref) ||
		weir_xdr_get_u32(in, &res->rtmult) || weir_xdr_get_u32(in, &res->wtmax) ||
		weir_xdr_get_u32(in, &res->wtpref) || weir_xdr_get_u32(in, &res->wtmult) ||
		weir_xdr_get_u32(in, &res->dtpref) || weir_xdr_get_u64(in, &res->maxfilesize) ||
		nfs3_get_time(in, &res->time_delta) || weir_xdr_get_u32(in, &res->properties));
}

int nfs3_put_fsinfo_res(struct weir_xdr_out *out, const struct nfs3_fsinfo_res *res)
{
	if (put_status_attr(out, res->status, &res->attr) != 0)
		return -ENOSPC;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_out_result(
		weir_xdr_put_u32(out, res->rtmax) || weir_xdr_put_u32(out, res->rtpref) ||
		weir_xdr_put_u32(out, res->rtmult) || weir_xdr_put_u32(out, res->wtmax) ||
		weir_xdr_put_u32(out, res->wtpref) || weir_xdr_put_u32(out, res->wtmult) ||
		weir_xdr_put_u32(out, res->dtpref) || weir_xdr_put_u64(out, res->maxfilesize) ||
		nfs3_put_time(out, &res->time_delta) || weir_xdr_put_u32(out, res->properties));
}

int nfs3_get_pathconf_res(struct weir_xdr_in *in, struct nfs3_pathconf_res *res)
{
	if (get_status_attr(in, &res->status, &res->attr) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_in_result(weir_xdr_get_u32(in, &res->linkmax) ||
			      weir_xdr_get_u32(in, &res->name_max) ||
			      weir_xdr_get_bool(in, &res->no_trunc) ||
			      weir_xdr_get_bool(in, &res->chown_restricted) ||
			      weir_xdr_get_bool(in, &res->case_insensitive) ||
			      weir_xdr_get_bool(in, &res->case_preserving));
}

int nfs3_put_pathconf_res(struct weir_xdr_out *out, const struct nfs3_pathconf_res *res)
{
	if (put_status_attr(out, res->status, &res->attr) != 0)
		return -ENOSPC;
	if (res->status != NFS3_OK)
		return 0;
	return nfs3_out_result(
		weir_xdr_put_u32(out, res->linkmax) || weir_xdr_put_u32(out, res->name_max) ||
		nfs3_put_bool(out, res->no_trunc) || nfs3_put_bool(out, res->chown_restricted) ||
		nfs3_put_bool(out, res->case_insensitive) ||
		nfs3_put_bool(out, res->case_preserving));
}

int nfs3_get_commit_res(struct weir_xdr_in *in, struct nfs3_commit_res *res)
{
	if (get_status(in, &res->status) || nfs3_get_wcc(in, &res->wcc))
		return -EBADMSG;
	return res->status == NFS3_OK ? weir_xdr_get_opaque_fixed(in, res->verf, NFS3_VERF_BYTES)
				      : 0;
}

int nfs3_put_commit_res(struct weir_xdr_out *out, const struct nfs3_commit_res *res)
{
	if (weir_xdr_put_u32(out, res->status) || nfs3_put_wcc(out, &res->wcc))
		return -ENOSPC;
	return res->status == NFS3_OK ? weir_xdr_put_opaque_fixed(out, res->verf, NFS3_VERF_BYTES)
				      : 0;
}

/* ---- directories (RFC 1813 sections 3.3.16 and 3.3.17) ---- */

int nfs3_get_readdir_res(struct weir_xdr_in *in, struct nfs3_readdir_res *res)
{
	if (get_status_attr(in, &res->status, &res->dir_attr) != 0)
		return -EBADMSG;
	return res->status == NFS3_OK ? weir_xdr_get_opaque_fixed(in, res->verf, NFS3_VERF_BYTES)
				      : 0;
}

int nfs3_put_readdir_res(struct weir_xdr_out *out, const struct nfs3_readdir_res *res)
{
	if (put_status_attr(out, res->status, &res->dir_attr) != 0)
		return -ENOSPC;
	return res->status == NFS3_OK ? weir_xdr_put_opaque_fixed(out, res->verf, NFS3_VERF_BYTES)
				      : 0;
}

int nfs3_get_entry(struct weir_xdr_in *in, struct nfs3_entry *entry, bool plus, bool *more,
		   bool *eof)
{
	if (weir_xdr_get_bool(in, more) != 0)
		return -EBADMSG;
	if (!*more)
		return weir_xdr_get_bool(in, eof);
	entry->attr.is_set = false;
	entry->fh.is_set = false;
	if (weir_xdr_get_u64(in, &entry->fileid) || nfs3_get_name(in, &entry->name) ||
	    weir_xdr_get_u64(in, &entry->cookie))
		return -EBADMSG;
	if (!plus)
		return 0;
	return nfs3_in_result(nfs3_get_post_attr(in, &entry->attr) ||
			      nfs3_get_post_fh(in, &entry->fh));
}

int nfs3_put_entry(struct weir_xdr_out *out, const struct nfs3_entry *entry, bool plus)
{
	if (nfs3_put_bool(out, true) || weir_xdr_put_u64(out, entry->fileid) ||
	    nfs3_put_name(out, &entry->name) || weir_xdr_put_u64(out, entry->cookie))
		return -ENOSPC;
	if (!plus)
		return 0;
	return nfs3_out_result(nfs3_put_post_attr(out, &entry->attr) ||
			       nfs3_put_post_fh(out, &entry->fh));
}

int nfs3_put_entries_end(struct weir_xdr_out *out, bool eof)
{
	return nfs3_out_result(nfs3_put_bool(out, false) || nfs3_put_bool(out, eof));
}

static uint32_t opaque_bytes(uint32_t len)
{
	return 4 + len + weir_xdr_pad(len);
}

uint32_t nfs3_entry_bytes(const struct nfs3_entry *entry, bool plus)
{
	uint32_t bytes = 4 + 8 + opaque_bytes(entry->name.len_bytes) + 8;

	if (plus) {
		bytes += entry->attr.is_set ? NFS3_POST_ATTR_MAX : 4;
		bytes += 4 + (entry->fh.is_set ? opaque_bytes(entry->fh.fh.len_bytes) : 0);
	}
	return bytes;
}
