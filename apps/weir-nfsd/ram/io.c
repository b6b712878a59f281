/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out READ, WRITE, COMMIT and READLINK (RFC 1813 sections 3.3.5 to 3.3.7, 3.3.21). */
#include "ram.h"

/*
 * Checks the caller's right to read or write the file. 'how' is MAY_READ or MAY_WRITE. The owner
 * always has the right, because the client checked the mode when it opened the file. Returns
 * NFS3_OK, NFS3ERR_ACCES, or another status if the object is not a file.
 */
static enum nfs3_status may_transfer(const struct op *op, const struct ram_inode *inode,
				     uint32_t how)
{
	if (inode->attr.type == NFS3_DIR)
		return NFS3ERR_ISDIR;
	if (inode->attr.type != NFS3_REG)
		return NFS3ERR_INVAL;
	if (op->cred.uid == inode->attr.uid || ram_may(op, inode, how))
		return NFS3_OK;
	return how == MAY_READ && op->cred.reads_to_execute && ram_may(op, inode, MAY_EXEC)
		       ? NFS3_OK
		       : NFS3ERR_ACCES;
}

/*
 * Makes 'data', which are in 'block', the item of the reply. References the block until the reply
 * has been sent.
 */
static void reply_from(struct ram_fs *fs, struct op *op, uint32_t block, const void *data,
		       uint32_t len_bytes)
{
	op->region = fs->region;
	op->item = data;
	op->item_bytes = len_bytes;
	block_pool_ref(&fs->pool, block);
	op->on_sent = block_pool_release;
	op->on_sent_mail = block_pool_mail;
	op->on_sent_arg = &fs->pool.blocks[block];
}

enum nfs3_status ram_read(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_read_args *args = &op->args.read;
	struct ram_inode *inode = ram_inode_of(fs, &op->id);
	struct nfs3_read_res *res = &op->res.read;
	uint32_t count = args->count, block;
	enum nfs3_status status;
	const uint8_t *data;

	if (!inode)
		return NFS3ERR_STALE;
	status = may_transfer(op, inode, MAY_READ);
	if (status == NFS3_OK && args->offset < inode->attr.size) {
		if (count > inode->attr.size - args->offset)
			count = (uint32_t)(inode->attr.size - args->offset);
		if (count > op->server->transfer_max)
			count = op->server->transfer_max;
		count = ram_data_at(fs, inode, args->offset, count, &block, &data);
		if (count > 0)
			reply_from(fs, op, block, data, count);
		inode->attr.atime = time_now();
	} else {
		count = 0;
	}
	ram_post(inode, &res->attr);
	res->count = count;
	res->eof = args->offset >= inode->attr.size || count == inode->attr.size - args->offset;
	return status;
}

enum nfs3_status ram_readlink(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *inode = ram_inode_of(fs, &op->id);

	if (!inode)
		return NFS3ERR_STALE;
	ram_post(inode, &op->res.readlink.attr);
	if (inode->attr.type != NFS3_LNK)
		return NFS3ERR_INVAL;
	reply_from(fs, op, inode->block, block_pool_data(&fs->pool, inode->block),
		   (uint32_t)inode->attr.size);
	return NFS3_OK;
}

enum nfs3_status ram_write(struct ram_fs *fs, struct op *op)
{
	const struct nfs3_write_args *args = &op->args.write;
	struct ram_inode *inode = ram_inode_of(fs, &op->id);
	struct nfs3_write_res *res = &op->res.write;
	uint32_t count = op->data_bytes;
	enum nfs3_status status;

	if (!inode)
		return NFS3ERR_STALE;
	ram_before(inode, &res->wcc);
	status = may_transfer(op, inode, MAY_WRITE);
	if (status == NFS3_OK &&
	    (args->offset > RAM_FILE_MAX || count > RAM_FILE_MAX - args->offset))
		status = NFS3ERR_FBIG;
	if (status == NFS3_OK && count > 0) {
		struct ram_placement *placement = weir_request_user(op->req);

		if (count > op->server->transfer_max)
			count = op->server->transfer_max;
		count = ram_data_write(fs, inode, args->offset, op->data, count);
		if (count == 0)
			status = NFS3ERR_NOSPC;
		else if (placement && count == op->data_bytes)
			ram_placement_done(placement);
		if (count > 0) {
			if (op->cred.uid != 0)
				inode->attr.mode &= ~RAM_SET_IDS;
			ram_touch(inode, true);
			inode->has_create_verf = false;
		}
	}
	ram_after(inode, &res->wcc);
	res->count = count;
	/*
	 * The data are stable at once. Memory is the only storage, and it exists for as long as the
	 * file's handle is valid.
	 */
	res->committed = NFS3_FILE_SYNC;
	memcpy(res->verf, op->server->write_verf, sizeof(res->verf));
	return status;
}

enum nfs3_status ram_commit(struct ram_fs *fs, struct op *op)
{
	struct ram_inode *inode = ram_inode_of(fs, &op->id);

	if (!inode)
		return NFS3ERR_STALE;
	ram_before(inode, &op->res.commit.wcc);
	ram_after(inode, &op->res.commit.wcc);
	memcpy(op->res.commit.verf, op->server->write_verf, sizeof(op->res.commit.verf));
	return may_transfer(op, inode, MAY_WRITE);
}
