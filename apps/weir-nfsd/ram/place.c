/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pulls the data of a WRITE directly to their block. From then to the end of the request:
 *
 *   ram_place()            reserves the block, references it, and adds the WRITE to the list of its
 *                          inode
 *   the handler            finds the data in the file's block and makes them part of the file:
 *                          ram_placement_done()
 *   on_sent                removes the WRITE from the list and drops the reference
 *
 * A request can end without its handler if the connection ends or the call is refused. Then the
 * bytes after the file's end are cleared again, and blocks that are completely after the end are
 * released. Before the end, the data that came stay, because the old bytes are overwritten.
 *
 * The data can be read before the handler has run, and even if it never runs. Two rules follow:
 *
 * - A file keeps no set-user-ID or set-group-ID bit that the WRITE has to clear. While it has one,
 *   ram_place() refuses: the data go to a buffer, and the handler clears the bit in the same step
 *   in which it writes them. When SETATTR sets such a bit, WRITEs that are being pulled are
 *   diverted from the file.
 * - mtime and ctime change when no more data can come: in the handler, or otherwise in on_sent(). A
 *   change at the start would be wrong for two reasons. A client that reads between the start and
 *   the data would keep stale data with the final mtime. And the reply would lack the earlier
 *   times, by which its client distinguishes its own change from that of others (wcc_data, RFC 1813
 *   section 2.6).
 */
#include <string.h>

#include "ram.h"

/*
 * Clears the bytes after the file's end that a WRITE has left which was not carried out. Does not
 * do so if another WRITE is being pulled to these bytes.
 */
static void place_undo(struct ram_inode *inode, const struct ram_placement *p)
{
	struct block_pool *pool = &p->fs->pool;
	uint64_t from = p->offset > inode->attr.size ? p->offset : inode->attr.size;
	uint64_t to = p->offset + p->len_bytes;

	if (from >= to || ram_map_get(&inode->map, p->offset / RAM_CHUNK) != p->block ||
	    ram_placement_overlaps(inode, p->block, from, to, p))
		return;
	memset(block_pool_data(pool, p->block) + from % RAM_CHUNK, 0, to - from);
}

/* Handles the data of a WRITE that was not carried out, when its request ends. */
static void abandon(struct ram_inode *inode, const struct ram_placement *p)
{
	place_undo(inode, p);
	/*
	 * If another WRITE is being pulled to a block after the file's end, that WRITE keeps its
	 * reference to the block, and its handler reserves a block again.
	 */
	ram_data_trim(p->fs, inode);
	/*
	 * This function does not know whether a part of the peer's data arrived. The file might
	 * have got another block in the meantime, with a copy of these data. Therefore the file
	 * counts as changed.
	 */
	if (p->offset < inode->attr.size)
		ram_touch(inode, true);
}

static void on_sent(void *arg)
{
	struct ram_placement *p = arg;
	struct ram_inode *inode = &p->fs->inodes[p->slot];

	if (inode->is_used && inode->generation == p->generation) {
		LIST_REMOVE(p, entry);
		if (!p->is_done)
			abandon(inode, p);
	}
	block_pool_unref(&p->fs->pool, p->block);
	ram_placement_give_back(p);
}

bool ram_placements_divert(struct ram_fs *fs, struct ram_inode *inode)
{
	const struct ram_placement *p;

	LIST_FOREACH(p, &inode->placements, entry)
	if (ram_map_get(&inode->map, p->offset / RAM_CHUNK) == p->block &&
	    !ram_data_copy(fs, inode, p->offset / RAM_CHUNK))
		return false;
	return true;
}

/* Returns true if data are allowed to be in the file before the WRITE is carried out. */
static bool may_place(const struct ram_inode *inode, const struct cred *cred)
{
	if (inode->attr.type != NFS3_REG)
		return false;
	if (cred->uid != inode->attr.uid &&
	    !cred_may(cred, inode->attr.uid, inode->attr.gid, inode->attr.mode, false, MAY_WRITE))
		return false;
	return cred->uid == 0 || (inode->attr.mode & RAM_SET_IDS) == 0;
}

int ram_place(struct fs *fs_, struct weir_request *req, const struct handle_id *id,
	      const struct cred *cred, uint64_t offset, uint32_t len_bytes,
	      struct weir_arg_sink *sink)
{
	struct ram_fs *fs = (struct ram_fs *)fs_;
	struct ram_inode *inode = ram_inode_of(fs, id);
	struct ram_placement *p;
	uint8_t *data;

	if (!inode || !may_place(inode, cred))
		return -1;
	if (len_bytes == 0 || len_bytes > RAM_CHUNK || offset > RAM_FILE_MAX ||
	    len_bytes > RAM_FILE_MAX - offset || offset % RAM_CHUNK + len_bytes > RAM_CHUNK)
		return -1;
	p = ram_placement_take(fs);
	if (!p)
		return -1;
	*p = (struct ram_placement){
		.fs = fs,
		.slot = ram_slot(fs, inode),
		.generation = inode->generation,
		.offset = offset,
		.len_bytes = len_bytes,
	};
	data = ram_data_reserve(fs, inode, offset, len_bytes, &p->block);
	if (!data) {
		ram_placement_give_back(p);
		return -1;
	}
	block_pool_ref(&fs->pool, p->block);
	LIST_INSERT_HEAD(&inode->placements, p, entry);
	weir_request_set_user(req, p);
	weir_request_on_sent(req, on_sent, p);
	*sink = (struct weir_arg_sink){.region = fs->region, .data = data};
	return 0;
}
