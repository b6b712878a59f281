/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO and PATHCONF, and checks rights to
 * attributes (RFC 1813 sections 3.3.1, 3.3.2, 3.3.4, 3.3.18 to 3.3.20).
 */
#include "ram.h"

enum nfs3_status ram_getattr(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *inode = ram_inode_of(fs, &op->id);

	if (!inode)
		return NFS3ERR_STALE;
	op->res.getattr.attr = inode->attr;
	return NFS3_OK;
}

static bool is_owner(const struct cred *cred, const struct ram_inode *inode)
{
	return cred->uid == 0 || cred->uid == inode->attr.uid;
}

/*
 * Checks the caller's right to set these attributes. Returns NFS3_OK, NFS3ERR_PERM or
 * NFS3ERR_ACCES.
 */
static enum nfs3_status ram_may_set(const struct op *op, const struct ram_inode *inode,
				    const struct nfs3_sattr *attr)
{
	const struct cred *cred = &op->cred;
	bool owner = is_owner(cred, inode);

	if (attr->set_mode && !owner)
		return NFS3ERR_PERM;
	if (attr->set_uid && cred->uid != 0 && (!owner || attr->uid != inode->attr.uid))
		return NFS3ERR_PERM;
	if (attr->set_gid && cred->uid != 0 && (!owner || !cred_in_group(cred, attr->gid)))
		return NFS3ERR_PERM;
	if (attr->atime_how == NFS3_SET_TO_CLIENT_TIME ||
	    attr->mtime_how == NFS3_SET_TO_CLIENT_TIME) {
		if (!owner)
			return NFS3ERR_PERM;
	} else if (attr->atime_how != NFS3_DONT_CHANGE || attr->mtime_how != NFS3_DONT_CHANGE) {
		if (!owner && !ram_may(op, inode, MAY_WRITE))
			return NFS3ERR_ACCES;
	}
	/*
	 * The owner is allowed to write, whatever the mode says, because the client checked the
	 * mode when it opened the file.
	 */
	if (attr->set_size && !owner && !ram_may(op, inode, MAY_WRITE))
		return NFS3ERR_ACCES;
	return NFS3_OK;
}

static bool is_valid_time(enum nfs3_time_how how, const struct nfs3_time *time)
{
	return how != NFS3_SET_TO_CLIENT_TIME || time->nseconds < 1000000000u;
}

static void set_time(struct nfs3_time *time, enum nfs3_time_how how, const struct nfs3_time *given)
{
	if (how == NFS3_SET_TO_SERVER_TIME)
		*time = time_now();
	else if (how == NFS3_SET_TO_CLIENT_TIME)
		*time = *given;
}

enum nfs3_status ram_apply(struct ram_fs *fs, struct ram_inode *inode, const struct cred *cred,
			   const struct nfs3_sattr *attr)
{
	struct nfs3_fattr *to = &inode->attr;
	enum nfs3_status status;

	if (!is_valid_time(attr->atime_how, &attr->atime) ||
	    !is_valid_time(attr->mtime_how, &attr->mtime))
		return NFS3ERR_INVAL;
	/*
	 * Data of WRITEs that are being pulled to the file could appear in it after these bits are
	 * set. Only the handlers of these WRITEs would clear the bits. Therefore the WRITEs are
	 * diverted from the file first.
	 */
	if (attr->set_mode && (attr->mode & RAM_SET_IDS) != 0 && !ram_placements_divert(fs, inode))
		return NFS3ERR_JUKEBOX;
	if (attr->set_size) {
		if (to->type == NFS3_DIR)
			return NFS3ERR_ISDIR;
		if (to->type != NFS3_REG)
			return NFS3ERR_INVAL;
		if (attr->size > RAM_FILE_MAX)
			return NFS3ERR_FBIG;
		status = ram_data_truncate(fs, inode, attr->size);
		if (status != NFS3_OK)
			return status;
		to->mtime = time_now();
	}
	/*
	 * The set-user-ID and set-group-ID bits are cleared when anybody sets the owner or the
	 * group, and when a user other than root sets the size.
	 */
	if (to->type != NFS3_DIR &&
	    (attr->set_uid || attr->set_gid || (attr->set_size && cred->uid != 0)))
		to->mode &= ~RAM_SET_IDS;
	if (attr->set_uid)
		to->uid = attr->uid;
	if (attr->set_gid)
		to->gid = attr->gid;
	if (attr->set_mode) {
		to->mode = attr->mode & 07777;
		if (cred->uid != 0 && !cred_in_group(cred, to->gid))
			to->mode &= ~02000u;
	}
	set_time(&to->atime, attr->atime_how, &attr->atime);
	set_time(&to->mtime, attr->mtime_how, &attr->mtime);
	ram_touch(inode, false);
	return NFS3_OK;
}

enum nfs3_status ram_setattr(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_setattr_args *args = &op->args.setattr;
	struct ram_inode *inode = ram_inode_of(fs, &op->id);
	enum nfs3_status status;

	if (!inode)
		return NFS3ERR_STALE;
	ram_before(inode, &op->res.wcc.wcc);
	if (args->is_guarded && (args->guard.seconds != inode->attr.ctime.seconds ||
				 args->guard.nseconds != inode->attr.ctime.nseconds))
		status = NFS3ERR_NOT_SYNC;
	else
		status = ram_may_set(op, inode, &args->attr);
	if (status == NFS3_OK)
		status = ram_apply(fs, inode, &op->cred, &args->attr);
	if (status == NFS3_OK)
		/*
		 * the verifier of the CREATE is not needed any more, because its client has
		 * received the reply
		 */
		inode->has_create_verf = false;
	ram_after(inode, &op->res.wcc.wcc);
	return status;
}

enum nfs3_status ram_access(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *inode = ram_inode_of(fs, &op->id);
	struct cred_rights rights;
	bool is_dir;

	if (!inode)
		return NFS3ERR_STALE;
	is_dir = inode->attr.type == NFS3_DIR;
	rights = (struct cred_rights){
		.can_read = ram_may(op, inode, MAY_READ),
		.can_exec = ram_may(op, inode, MAY_EXEC),
		.can_change = ram_may(op, inode, cred_change(is_dir)),
	};
	ram_post(inode, &op->res.access.attr);
	op->res.access.access =
		op->args.access.access & cred_access(&rights, is_dir, op->is_read_only);
	return NFS3_OK;
}

enum nfs3_status ram_fsstat(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *inode = ram_inode_of(fs, &op->id);
	struct nfs3_fsstat_res *res = &op->res.fsstat;

	if (!inode)
		return NFS3ERR_STALE;
	/*
	 * res->attr is also the attributes of FSINFO and PATHCONF, which are at the same offset in
	 * op->res.
	 */
	ram_post(inode, &res->attr);
	if (op->proc != NFS3_FSSTAT)
		return NFS3_OK;
	res->tbytes = fs->size_bytes;
	res->fbytes = res->abytes = (uint64_t)fs->pool.nfree * BLOCK_POOL_PAGE;
	res->tfiles = fs->ninodes_max;
	res->ffiles = res->afiles = fs->ninodes_max - fs->ninodes;
	return NFS3_OK;
}
