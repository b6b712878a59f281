/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes the arguments of NFS procedures, and decodes and checks their results. */
#include "op.h"

uint32_t op_reply_count(const struct op *op)
{
	return op->proc == NFS3_READDIR || op->proc == NFS3_READDIRPLUS ? op->args.readdir.maxcount
									: 0;
}

static int put_args(const struct op *op, struct weir_xdr_out *out)
{
	switch (op->proc) {
	case NFS3_NULL:
		return 0;
	case NFS3_GETATTR:
	case NFS3_READLINK:
	case NFS3_FSSTAT:
	case NFS3_FSINFO:
		return nfs3_fh_put(out, &op->args.fh);
	case NFS3_LOOKUP:
	case NFS3_REMOVE:
	case NFS3_RMDIR:
		return nfs3_dirop_put(out, &op->args.dirop);
	case NFS3_SETATTR:
		return nfs3_setattr_args_put(out, &op->args.setattr);
	case NFS3_READ:
		return nfs3_read_args_put(out, &op->args.read);
	case NFS3_WRITE:
		return nfs3_write_head_put(out, &op->args.write_head);
	case NFS3_CREATE:
		return nfs3_create_args_put(out, &op->args.create);
	case NFS3_MKDIR:
	case NFS3_SYMLINK:
		return nfs3_mkdir_args_put(out, &op->args.mkdir);
	case NFS3_RENAME:
		return nfs3_rename_args_put(out, &op->args.rename);
	case NFS3_LINK:
		return nfs3_link_args_put(out, &op->args.link);
	case NFS3_READDIR:
	case NFS3_READDIRPLUS:
		return nfs3_list_put_args(out, &op->args.readdir, op->proc == NFS3_READDIRPLUS);
	case NFS3_COMMIT:
		return nfs3_commit_args_put(out, &op->args.commit);
	default:
		return -EINVAL;
	}
}

int op_put_args(const struct op *op, struct weir_call *call, const struct weir_region *region)
{
	int rc = put_args(op, weir_call_args(call));

	if (rc != 0)
		return rc;
	if (op->proc == NFS3_READ || op->proc == NFS3_READLINK)
		return weir_call_result_item(call, region, op->item, op->item_bytes);
	if (op->proc == NFS3_WRITE || op->proc == NFS3_SYMLINK)
		return weir_call_arg_item(call, region, op->item, op->item_bytes);
	return 0;
}

/*
 * Takes the item of the results. If the server did not write it into op->item with the Write chunk,
 * it is copied to op->item. Returns 0, or -EBADMSG if it is too long.
 */
static int take_item(const struct op *op, const struct weir_xdr_item *item)
{
	if (item->len_bytes > op->item_bytes)
		return -EBADMSG;
	if (item->data != op->item)
		memcpy(op->item, item->data, item->len_bytes);
	return 0;
}

static int get_read(struct op *op, const struct weir_call *call, const struct weir_result *result)
{
	struct nfs3_read_res *res = &op->res.read;

	if (nfs3_read_3_results(call, result, res) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	if (take_item(op, &res->data) != 0 || res->data.len_bytes != res->count)
		return -EBADMSG;
	/*
	 * An empty READ before the end of the file is an error, because the caller would repeat it
	 * forever.
	 */
	return res->count == 0 && !res->eof && op->args.read.count > 0 ? -EBADMSG : 0;
}

static int get_readlink(struct op *op, const struct weir_call *call,
			const struct weir_result *result)
{
	struct nfs3_readlink_res *res = &op->res.readlink;

	if (nfs3_readlink_3_results(call, result, res) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	if (take_item(op, &res->path) != 0)
		return -EBADMSG;
	op->item_bytes = res->path.len_bytes;
	return 0;
}

static int get_write(struct op *op, struct weir_xdr_in *in)
{
	struct nfs3_write_res *res = &op->res.write;

	if (nfs3_write_res_get(in, res) != 0)
		return -EBADMSG;
	if (res->status != NFS3_OK)
		return 0;
	/*
	 * RFC 1813 section 3.3.7 requires that the server writes at least one byte and at most as
	 * many as requested, and with at least the requested stability.
	 */
	if (res->count > op->args.write.count || (res->count == 0 && op->args.write.count > 0) ||
	    res->committed < op->args.write.stable)
		return -EBADMSG;
	return 0;
}

static int get_readdir(struct op *op, struct weir_xdr_in *in)
{
	if (nfs3_readdir_head_get(in, &op->res.readdir) != 0)
		return -EBADMSG;
	return op->res.status == NFS3_OK ? op->take_entries(op, in) : 0;
}

int op_get_results(struct op *op, const struct weir_call *call, const struct weir_result *result)
{
	struct weir_xdr_in *in = result->results;

	switch (op->proc) {
	case NFS3_NULL:
		op->res.status = NFS3_OK;
		return 0;
	case NFS3_GETATTR:
		return nfs3_getattr_res_get(in, &op->res.getattr);
	case NFS3_SETATTR:
	case NFS3_REMOVE:
	case NFS3_RMDIR:
		return nfs3_wcc_res_get(in, &op->res.wcc);
	case NFS3_LOOKUP:
		return nfs3_lookup_res_get(in, &op->res.lookup);
	case NFS3_READLINK:
		return get_readlink(op, call, result);
	case NFS3_READ:
		return get_read(op, call, result);
	case NFS3_WRITE:
		return get_write(op, in);
	case NFS3_CREATE:
	case NFS3_MKDIR:
	case NFS3_SYMLINK:
		return nfs3_create_res_get(in, &op->res.create);
	case NFS3_RENAME:
		return nfs3_rename_res_get(in, &op->res.rename);
	case NFS3_LINK:
		return nfs3_link_res_get(in, &op->res.link);
	case NFS3_READDIR:
	case NFS3_READDIRPLUS:
		return get_readdir(op, in);
	case NFS3_FSSTAT:
		return nfs3_fsstat_res_get(in, &op->res.fsstat);
	case NFS3_FSINFO:
		return nfs3_fsinfo_res_get(in, &op->res.fsinfo);
	case NFS3_COMMIT:
		return nfs3_commit_res_get(in, &op->res.commit);
	default:
		return -EBADMSG;
	}
}

bool op_is_own_echo(const struct op *op)
{
	switch (op->proc) {
	case NFS3_MKDIR:
	case NFS3_SYMLINK:
	case NFS3_LINK:
		return op->res.status == NFS3ERR_EXIST;
	case NFS3_REMOVE:
	case NFS3_RMDIR:
	case NFS3_RENAME:
		return op->res.status == NFS3ERR_NOENT;
	default:
		return false;
	}
}
