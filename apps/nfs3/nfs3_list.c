/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts between the types of READDIR and those of READDIRPLUS. */
#include "nfs3_list.h"

int nfs3_list_get_args(struct weir_xdr_in *in, struct nfs3_readdirplus_args *args, bool plus)
{
	struct nfs3_readdir_args plain;
	int rc;

	if (plus)
		return nfs3_readdirplus_args_get(in, args);
	rc = nfs3_readdir_args_get(in, &plain);
	if (rc != 0)
		return rc;
	args->dir = plain.dir;
	args->cookie = plain.cookie;
	memcpy(args->verf, plain.verf, sizeof(args->verf));
	args->maxcount = plain.maxcount;
	return 0;
}

int nfs3_list_put_args(struct weir_xdr_out *out, const struct nfs3_readdirplus_args *args,
		       bool plus)
{
	struct nfs3_readdir_args plain = {
		.dir = args->dir,
		.cookie = args->cookie,
		.maxcount = args->maxcount,
	};

	if (plus)
		return nfs3_readdirplus_args_put(out, args);
	memcpy(plain.verf, args->verf, sizeof(plain.verf));
	return nfs3_readdir_args_put(out, &plain);
}

int nfs3_list_get(struct weir_xdr_in *in, struct nfs3_entryplus *entry, bool plus, bool *more,
		  bool *eof)
{
	struct weir_xdr_arena none;
	struct nfs3_entry plain;
	int rc;

	/* The next entry is not decoded, so that no memory is necessary. */
	weir_xdr_arena_init(&none, NULL, 0);
	rc = plus ? nfs3_entryplus_get_next(in, &none, entry, more)
		  : nfs3_entry_get_next(in, &none, &plain, more);
	if (rc != 0)
		return rc;
	if (!*more)
		return weir_xdr_get_bool(in, eof);
	if (!plus) {
		entry->fileid = plain.fileid;
		entry->name = plain.name;
		entry->cookie = plain.cookie;
		entry->attr.is_set = false;
		entry->fh.is_set = false;
	}
	return 0;
}

int nfs3_list_put(struct weir_xdr_out *out, const struct nfs3_entryplus *entry, bool plus)
{
	struct nfs3_entry plain;

	if (plus)
		return nfs3_entryplus_put_next(out, entry);
	plain.fileid = entry->fileid;
	plain.name = entry->name;
	plain.cookie = entry->cookie;
	return nfs3_entry_put_next(out, &plain);
}

int nfs3_list_put_end(struct weir_xdr_out *out, bool eof)
{
	if (weir_xdr_put_bool(out, false) != 0)
		return -ENOSPC;
	return weir_xdr_put_bool(out, eof);
}

uint32_t nfs3_list_entry_bytes(const struct nfs3_entryplus *entry, bool plus)
{
	/* the bool before the entry, 'fileid', the name and 'cookie' */
	size_t bytes = 4 + 8 + nfs3_name_bytes(&entry->name) + 8;

	if (plus)
		bytes += nfs3_post_op_attr_bytes(&entry->attr) + nfs3_post_op_fh_bytes(&entry->fh);
	return (uint32_t)bytes;
}
