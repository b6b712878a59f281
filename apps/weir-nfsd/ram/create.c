/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out LOOKUP, and the procedures that make names: CREATE, MKDIR, SYMLINK, MKNOD and LINK
 * (RFC 1813 sections 3.3.3, 3.3.8 to 3.3.11, 3.3.15).
 */
#include <string.h>

#include "ram.h"

static enum nfs3_status may_search(const struct op *op, const struct ram_inode *dir)
{
	if (dir->attr.type != NFS3_DIR)
		return NFS3ERR_NOTDIR;
	return ram_may(op, dir, MAY_EXEC) ? NFS3_OK : NFS3ERR_ACCES;
}

static enum nfs3_status may_add(const struct op *op, const struct ram_inode *dir)
{
	enum nfs3_status status = may_search(op, dir);

	if (status == NFS3_OK && !ram_may(op, dir, MAY_WRITE))
		status = NFS3ERR_ACCES;
	return status;
}

/*
 * Returns the slot of the inode that a name in a directory refers to, also for "." and "..".
 * Returns RAM_NO_SLOT if there is no such name.
 */
static uint32_t ram_create_find(struct ram_fs *fs, const struct ram_inode *dir,
				const struct nfs3_name *name)
{
	struct ram_dirent *entry;

	if (name->len_bytes == 1 && name->data[0] == '.')
		return ram_slot(fs, dir);
	if (name->len_bytes == 2 && name->data[0] == '.' && name->data[1] == '.')
		return dir->dir.parent;
	entry = ram_entry_find(fs, ram_slot(fs, dir), name->data, name->len_bytes);
	return entry ? entry->slot : RAM_NO_SLOT;
}

static void make_fh(struct ram_fs *fs, struct op *op, const struct ram_inode *inode,
		    struct nfs3_fh *fh)
{
	struct handle_id id;

	ram_id_of(fs, inode, &id);
	op_make_fh(op, &id, fh);
}

enum nfs3_status ram_lookup(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *dir = ram_inode_of(fs, &op->id);
	struct nfs3_lookup_res *res = &op->res.lookup;
	enum nfs3_status status;
	uint32_t slot;

	if (!dir)
		return NFS3ERR_STALE;
	ram_post(dir, &res->dir_attr);
	status = may_search(op, dir);
	if (status != NFS3_OK)
		return status;
	slot = ram_create_find(fs, dir, &op->args.dirop.name);
	if (slot == RAM_NO_SLOT)
		return NFS3ERR_NOENT;
	make_fh(fs, op, &fs->inodes[slot], &res->fh);
	ram_post(&fs->inodes[slot], &res->attr);
	return NFS3_OK;
}

static void ram_create_made(struct ram_fs *fs, struct op *op, const struct ram_inode *inode)
{
	struct nfs3_create_res *res = &op->res.create;

	res->fh.is_set = true;
	make_fh(fs, op, inode, &res->fh.fh);
	ram_post(inode, &res->attr);
}

/*
 * Makes an inode for the user of the call, and its name in 'dir'. If the directory is set-group-ID,
 * the inode gets the directory's group. Returns NULL with *status set on failure.
 */
static struct ram_inode *ram_create_make(struct ram_fs *fs, struct op *op, struct ram_inode *dir,
					 const struct nfs3_name *name, enum nfs3_ftype type,
					 const struct nfs3_sattr *attr, enum nfs3_status *status)
{
	bool inherits = (dir->attr.mode & 02000) != 0;
	uint32_t mode = type == NFS3_DIR ? 0755 : type == NFS3_LNK ? 0777 : 0644;
	struct ram_inode *inode;

	/* ram_inode_make() does not move inodes, so 'dir' stays valid. */
	inode = ram_inode_make(fs, type, mode, op->cred.uid,
			       inherits ? dir->attr.gid : op->cred.gid);
	if (!inode) {
		*status = NFS3ERR_NOSPC;
		return NULL;
	}
	if (attr) {
		struct nfs3_sattr set = *attr;

		/*
		 * Only root is allowed to give a new object to another user. For other callers, the
		 * caller stays the owner, and only a group of the caller can be set.
		 */
		if (op->cred.uid != 0) {
			set.set_uid = false;
			set.set_gid = set.set_gid && cred_in_group(&op->cred, set.gid);
		}
		/* Objects other than files have a size that clients cannot set. */
		set.set_size = set.set_size && type == NFS3_REG;
		set.set_mode = set.set_mode && type != NFS3_LNK;
		*status = ram_apply(fs, inode, &op->cred, &set);
	}
	if (inherits && type == NFS3_DIR)
		inode->attr.mode |= 02000;
	if (*status == NFS3_OK)
		*status = ram_entry_add(fs, ram_slot(fs, dir), name->data, name->len_bytes,
					ram_slot(fs, inode));
	if (*status != NFS3_OK) {
		ram_inode_free(fs, inode);
		return NULL;
	}
	return inode;
}

/* Carries out a CREATE of a name that exists. Returns its status. */
static enum nfs3_status ram_create_existing(struct ram_fs *fs, struct op *op,
					    struct ram_inode *inode)
{
	const struct nfs3_create_args *args = &op->args.create;
	enum nfs3_status status = NFS3_OK;

	if (args->mode == NFS3_GUARDED)
		return NFS3ERR_EXIST;
	if (args->mode == NFS3_EXCLUSIVE) {
		/*
		 * If the verifier is the same, the call is a retransmission by the client that
		 * created the file and missed the reply.
		 */
		if (inode->attr.type != NFS3_REG || !inode->has_create_verf ||
		    memcmp(inode->create_verf, args->verf, NFS3_VERF_BYTES) != 0)
			return NFS3ERR_EXIST;
	} else if (inode->attr.type != NFS3_REG) {
		return NFS3ERR_EXIST;
	} else if (args->attr.set_size) {
		/* Only the size of an existing file is set, as by open() with O_TRUNC. */
		struct nfs3_sattr set = {.set_size = true, .size = args->attr.size};

		if (op->cred.uid != inode->attr.uid && !ram_may(op, inode, MAY_WRITE))
			return NFS3ERR_ACCES;
		status = ram_apply(fs, inode, &op->cred, &set);
	}
	if (status == NFS3_OK)
		ram_create_made(fs, op, inode);
	return status;
}

enum nfs3_status ram_create(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_create_args *args = &op->args.create;
	struct ram_inode *dir = ram_inode_of(fs, &op->id), *inode;
	enum nfs3_status status;
	uint32_t slot;

	if (!dir)
		return NFS3ERR_STALE;
	ram_before(dir, &op->res.create.dir_wcc);
	status = may_search(op, dir);
	slot = status == NFS3_OK ? ram_create_find(fs, dir, &args->where.name) : RAM_NO_SLOT;
	if (slot != RAM_NO_SLOT) {
		status = ram_create_existing(fs, op, &fs->inodes[slot]);
	} else if (status == NFS3_OK) {
		status = may_add(op, dir);
		inode = status != NFS3_OK
				? NULL
				: ram_create_make(fs, op, dir, &args->where.name, NFS3_REG,
						  args->mode == NFS3_EXCLUSIVE ? NULL : &args->attr,
						  &status);
		if (inode) {
			inode->has_create_verf = args->mode == NFS3_EXCLUSIVE;
			memcpy(inode->create_verf, args->verf, NFS3_VERF_BYTES);
			ram_create_made(fs, op, inode);
		}
	}
	ram_after(dir, &op->res.create.dir_wcc);
	return status;
}

/* Stores the path of a new symbolic link. Returns NFS3_OK or NFS3ERR_NOSPC. */
static enum nfs3_status set_path(struct ram_fs *fs, struct ram_inode *inode, const struct op *op)
{
	inode->block = block_pool_get(&fs->pool, op->data_bytes);
	if (inode->block == BLOCK_POOL_NONE)
		return NFS3ERR_NOSPC;
	memcpy(block_pool_data(&fs->pool, inode->block), op->data, op->data_bytes);
	inode->attr.size = op->data_bytes;
	inode->attr.used = block_pool_bytes(&fs->pool, inode->block);
	return NFS3_OK;
}

/* Checks the arguments of SYMLINK and MKNOD before anything is made. */
static enum nfs3_status check_make(const struct op *op, enum nfs3_ftype type)
{
	if (type == NFS3_LNK) {
		if (op->data_bytes == 0 || memchr(op->data, '\0', op->data_bytes))
			return NFS3ERR_INVAL;
	} else if (op->proc == NFS3_MKNOD) {
		if (type == NFS3_REG || type == NFS3_DIR)
			return NFS3ERR_BADTYPE;
		if ((type == NFS3_CHR || type == NFS3_BLK) && op->cred.uid != 0)
			return NFS3ERR_PERM;
	}
	return NFS3_OK;
}

enum nfs3_status ram_make(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_mkdir_args *args = &op->args.mkdir;
	const struct nfs3_sattr *attr = op->proc == NFS3_MKNOD ? &op->args.mknod.attr : &args->attr;
	struct ram_inode *dir = ram_inode_of(fs, &op->id), *inode = NULL;
	enum nfs3_ftype type = op->proc == NFS3_MKDIR	? NFS3_DIR
			       : op->proc == NFS3_MKNOD ? op->args.mknod.type
							: NFS3_LNK;
	enum nfs3_status status;

	if (!dir)
		return NFS3ERR_STALE;
	ram_before(dir, &op->res.create.dir_wcc);
	status =
		op->proc == NFS3_MKNOD && type == NFS3_LNK ? NFS3ERR_BADTYPE : check_make(op, type);
	if (status == NFS3_OK)
		status = may_search(op, dir);
	if (status == NFS3_OK && ram_create_find(fs, dir, &args->where.name) != RAM_NO_SLOT)
		status = NFS3ERR_EXIST;
	if (status == NFS3_OK)
		status = may_add(op, dir);
	if (status == NFS3_OK)
		inode = ram_create_make(fs, op, dir, &args->where.name, type, attr, &status);
	if (inode && type == NFS3_LNK) {
		status = set_path(fs, inode, op);
		if (status != NFS3_OK) {
			ram_entry_remove(fs, ram_entry_find(fs, ram_slot(fs, dir),
							    args->where.name.data,
							    args->where.name.len_bytes));
			ram_inode_free(fs, inode);
			inode = NULL;
		}
	}
	if (inode && (type == NFS3_CHR || type == NFS3_BLK))
		inode->attr.rdev = op->args.mknod.rdev;
	if (inode)
		ram_create_made(fs, op, inode);
	ram_after(dir, &op->res.create.dir_wcc);
	return status;
}

enum nfs3_status ram_link(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_name *name = &op->args.link.link.name;
	struct ram_inode *inode = ram_inode_of(fs, &op->id);
	struct ram_inode *dir = ram_inode_of(fs, &op->id2);
	enum nfs3_status status;

	if (!inode || !dir)
		return NFS3ERR_STALE;
	ram_before(dir, &op->res.link.dir_wcc);
	status = may_search(op, dir);
	if (status == NFS3_OK && inode->attr.type == NFS3_DIR)
		status = NFS3ERR_ISDIR;
	if (status == NFS3_OK && ram_create_find(fs, dir, name) != RAM_NO_SLOT)
		status = NFS3ERR_EXIST;
	if (status == NFS3_OK)
		status = may_add(op, dir);
	if (status == NFS3_OK && inode->attr.nlink >= RAM_LINKS_MAX)
		status = NFS3ERR_MLINK;
	if (status == NFS3_OK)
		status = ram_entry_add(fs, ram_slot(fs, dir), name->data, name->len_bytes,
				       ram_slot(fs, inode));
	if (status == NFS3_OK) {
		inode->attr.nlink++;
		ram_touch(inode, false);
	}
	ram_post(inode, &op->res.link.attr);
	ram_after(dir, &op->res.link.dir_wcc);
	return status;
}
