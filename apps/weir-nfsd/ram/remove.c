/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out the procedures that remove or move names: REMOVE, RMDIR and RENAME (RFC 1813 sections
 * 3.3.12 to 3.3.14).
 */
#include "ram.h"

enum nfs3_status ram_may_remove(const struct op *op, const struct ram_inode *dir,
				const struct ram_inode *victim)
{
	if (!ram_may(op, dir, MAY_WRITE | MAY_EXEC))
		return NFS3ERR_ACCES;
	/*
	 * In a sticky directory, a user is allowed to remove only the user's own objects, unless
	 * the user owns the directory.
	 */
	if ((dir->attr.mode & 01000) && op->cred.uid != 0 && op->cred.uid != victim->attr.uid &&
	    op->cred.uid != dir->attr.uid)
		return NFS3ERR_PERM;
	return NFS3_OK;
}

static enum nfs3_status check_remove(const struct op *op, const struct ram_inode *victim)
{
	if (op->proc == NFS3_REMOVE)
		return victim->attr.type == NFS3_DIR ? NFS3ERR_ISDIR : NFS3_OK;
	if (victim->attr.type != NFS3_DIR)
		return NFS3ERR_NOTDIR;
	return victim->dir.nlive > 0 ? NFS3ERR_NOTEMPTY : NFS3_OK;
}

enum nfs3_status ram_remove(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_name *name = &op->args.dirop.name;
	struct ram_inode *dir = ram_inode_of(fs, &op->id), *victim;
	struct ram_dirent *entry = NULL;
	enum nfs3_status status = NFS3_OK;

	if (!dir)
		return NFS3ERR_STALE;
	ram_before(dir, &op->res.wcc.wcc);
	if (dir->attr.type != NFS3_DIR)
		status = NFS3ERR_NOTDIR;
	else if (!ram_may(op, dir, MAY_EXEC))
		status = NFS3ERR_ACCES;
	else
		entry = ram_entry_find(fs, ram_slot(fs, dir), name->data, name->len_bytes);
	if (status == NFS3_OK && !entry)
		status = NFS3ERR_NOENT;
	if (status == NFS3_OK) {
		victim = &fs->inodes[entry->slot];
		status = ram_may_remove(op, dir, victim);
		if (status == NFS3_OK)
			status = check_remove(op, victim);
		if (status == NFS3_OK) {
			ram_entry_remove(fs, entry);
			ram_inode_unlink(fs, victim);
		}
	}
	ram_after(dir, &op->res.wcc.wcc);
	return status;
}

/*
 * Checks a move of the directory 'tree' to 'dir', which is not its parent. Returns NFS3ERR_INVAL if
 * 'dir' is within 'tree', which the walk from 'dir' up to the root finds out. Returns
 * NFS3ERR_NAMETOOLONG if the root is more than RAM_MOVE_LEVELS_MAX levels above. The walk is
 * limited, because it runs on the poller's thread. The levels below 'tree' are not counted, so
 * directories can be deeper than the limit. In these, all other procedures still work.
 */
static enum nfs3_status check_move(const struct ram_fs *fs, const struct ram_inode *tree,
				   const struct ram_inode *dir)
{
	for (uint32_t level = 0; level < RAM_MOVE_LEVELS_MAX; level++) {
		const struct ram_inode *parent = &fs->inodes[dir->dir.parent];

		if (dir == tree)
			return NFS3ERR_INVAL;
		if (parent == dir)
			return NFS3_OK; /* 'dir' is the root */
		dir = parent;
	}
	return NFS3ERR_NAMETOOLONG;
}

/*
 * Checks whether the object 'from' can replace the object 'to'. Returns NFS3_OK or the reason of
 * the failure.
 */
static enum nfs3_status check_replace(const struct ram_inode *from, const struct ram_inode *to)
{
	if (to->attr.type == NFS3_DIR) {
		if (from->attr.type != NFS3_DIR)
			return NFS3ERR_EXIST;
		return to->dir.nlive > 0 ? NFS3ERR_NOTEMPTY : NFS3_OK;
	}
	return from->attr.type == NFS3_DIR ? NFS3ERR_EXIST : NFS3_OK;
}

static enum nfs3_status do_rename(struct ram_fs *fs, struct op *op, struct ram_inode *from_dir,
				  struct ram_inode *to_dir)
{
	const struct nfs3_name *from = &op->args.rename.from.name, *to = &op->args.rename.to.name;
	struct ram_inode *moved, *victim = NULL;
	struct ram_dirent *entry, *old;
	enum nfs3_status status;

	if (from_dir->attr.type != NFS3_DIR || to_dir->attr.type != NFS3_DIR)
		return NFS3ERR_NOTDIR;
	if (!ram_may(op, from_dir, MAY_EXEC) || !ram_may(op, to_dir, MAY_EXEC))
		return NFS3ERR_ACCES;
	entry = ram_entry_find(fs, ram_slot(fs, from_dir), from->data, from->len_bytes);
	if (!entry)
		return NFS3ERR_NOENT;
	moved = &fs->inodes[entry->slot];
	status = ram_may_remove(op, from_dir, moved);
	if (status != NFS3_OK)
		return status;
	if (!ram_may(op, to_dir, MAY_WRITE))
		return NFS3ERR_ACCES;
	old = ram_entry_find(fs, ram_slot(fs, to_dir), to->data, to->len_bytes);
	if (old && old->slot == entry->slot)
		return NFS3_OK; /* both names refer to the same file, so there is nothing to do */
	/*
	 * If a directory is moved to another parent, the directory itself is changed, because its
	 * ".." changes.
	 */
	if (moved->attr.type == NFS3_DIR && from_dir != to_dir && !ram_may(op, moved, MAY_WRITE))
		return NFS3ERR_ACCES;
	if (old) {
		victim = &fs->inodes[old->slot];
		status = ram_may_remove(op, to_dir, victim);
		if (status == NFS3_OK)
			status = check_replace(moved, victim);
	}
	/* This check takes the longest, so it is the last one. */
	if (status == NFS3_OK && moved->attr.type == NFS3_DIR && from_dir != to_dir)
		status = check_move(fs, moved, to_dir);
	if (status != NFS3_OK)
		return status;
	/*
	 * The new name is added before the old one is removed, so that nothing is lost if there is
	 * no memory for it.
	 */
	if (victim)
		ram_entry_replace(fs, old, ram_slot(fs, moved));
	else
		status = ram_entry_add(fs, ram_slot(fs, to_dir), to->data, to->len_bytes,
				       ram_slot(fs, moved));
	if (status != NFS3_OK)
		return status;
	ram_entry_remove(fs, entry);
	if (victim)
		ram_inode_unlink(fs, victim);
	ram_touch(moved, false);
	return status;
}

enum nfs3_status ram_rename(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *from_dir = ram_inode_of(fs, &op->id);
	struct ram_inode *to_dir = ram_inode_of(fs, &op->id2);
	struct nfs3_rename_res *res = &op->res.rename;
	enum nfs3_status status;

	if (!from_dir || !to_dir)
		return NFS3ERR_STALE;
	ram_before(from_dir, &res->from_wcc);
	ram_before(to_dir, &res->to_wcc);
	status = do_rename(fs, op, from_dir, to_dir);
	ram_after(from_dir, &res->from_wcc);
	ram_after(to_dir, &res->to_wcc);
	return status;
}
