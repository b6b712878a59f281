/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17). An entry keeps its
 * cookie. A listing that continues at the cookie of a removed entry continues at the next entry.
 * The verifier identifies the directory that the cookies belong to.
 */
#include <string.h>

#include "ram.h"

/*
 * Returns true if the verifier is valid for the cookie: the cookie is 0, which means the start, or
 * the verifier is that of the directory.
 */
static bool ram_is_verf_good(const struct ram_inode *dir, const uint8_t *verf, uint64_t cookie)
{
	return cookie == 0 || memcmp(verf, &dir->attr.fileid, NFS3_VERF_BYTES) == 0;
}

static bool ram_list_put(struct ram_fs *fs, struct op *op, uint64_t cookie, uint32_t slot,
			 const char *name, uint32_t len_bytes, bool with_fh)
{
	const struct ram_inode *inode = &fs->inodes[slot];
	struct nfs3_entryplus entry;
	struct handle_id id;

	entry.fileid = inode->attr.fileid;
	entry.cookie = cookie;
	entry.name.len_bytes = len_bytes;
	memcpy(entry.name.data, name, len_bytes);
	entry.attr.is_set = entry.fh.is_set = with_fh;
	if (entry.fh.is_set) {
		entry.attr.attr = inode->attr;
		ram_id_of(fs, inode, &id);
		op_make_fh(op, &id, &entry.fh.fh);
	}
	return op_entry(op, &entry);
}

static void list(struct ram_fs *fs, struct op *op, struct ram_inode *dir)
{
	uint64_t cookie = op->args.readdir.cookie;
	struct ram_dir *entries = &dir->dir;
	/*
	 * A caller who has the right to list the directory, but not to search it, gets only names.
	 * Attributes and handles, which LOOKUP would refuse, are left out.
	 */
	bool with_fh = op->proc == NFS3_READDIRPLUS && ram_may(op, dir, MAY_EXEC);

	if (cookie < 1 && !ram_list_put(fs, op, 1, ram_slot(fs, dir), ".", 1, with_fh))
		return;
	if (cookie < 2 && !ram_list_put(fs, op, 2, dir->dir.parent, "..", 2, with_fh))
		return;
	for (uint32_t i = ram_dir_live(entries, ram_dir_seek(entries, cookie));
	     i < entries->ncookies; i = ram_dir_live(entries, i + 1)) {
		const struct ram_dirent *entry = entries->cookies[i].entry;

		if (!ram_list_put(fs, op, entry->cookie, entry->slot, entry->name, entry->len_bytes,
				  with_fh))
			return;
	}
	op->eof = true;
}

enum nfs3_status ram_readdir(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *dir = ram_inode_of(fs, &op->id);
	struct nfs3_readdir_head *res = &op->res.readdir;
	enum nfs3_status status;

	if (!dir)
		return NFS3ERR_STALE;
	ram_post(dir, &res->dir_attr);
	if (dir->attr.type != NFS3_DIR)
		return NFS3ERR_NOTDIR;
	if (!ram_may(op, dir, MAY_READ))
		return NFS3ERR_ACCES;
	if (!ram_is_verf_good(dir, op->args.readdir.verf, op->args.readdir.cookie))
		return NFS3ERR_BAD_COOKIE;
	status = op_entries_begin(op);
	if (status != NFS3_OK)
		return status;
	list(fs, op, dir);
	memcpy(res->verf, &dir->attr.fileid, NFS3_VERF_BYTES);
	return NFS3_OK;
}
