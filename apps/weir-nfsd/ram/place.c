/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WRITE's data are pulled straight to their block. From then to the end of the request:
 *
 *   ram_place()            reserves the block, references it, lists the WRITE with its inode
 *   the handler            finds data in place, makes them part of the file: ram_placement_done()
 *   on_sent                takes it off the list, drops the reference
 *
 * A request can end without its handler when the connection ends or the call is refused. Then what
 * lies behind the file's end is zeroed again, and blocks that lie there entirely are given back.
 * What lies before the end stays as far as it came, because the old bytes are gone.
 *
 * The data can be read before the handler has run, if it ever does. Hence:
 *
 * - A file keeps no set-user-ID or set-group-ID bit that the WRITE has to clear. While it has one,
 *   ram_place() names no place: the data wait in a buffer, and the handler clears the bit in the
 *   step that writes them. When SETATTR sets one, data that are on their way lose their place.
 * - mtime and ctime change when nothing can come any more: in the handler, or else in on_sent().
 *   At the start they would be wrong twice. Who reads between the start and the data would keep
 *   stale data with the final mtime, and the reply would lack the times of before, by which its
 *   client tells its own change from that of others (wcc_data, RFC 1813 section 2.6).
 */
#include <string.h>

#include "ram.h"

/* Zero what a WRITE that never was has left behind the file's end, unless another is on its way
 * there. */
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

/* A WRITE that never was: what has come of its data? */
static void abandon(struct ram_inode *inode, const struct ram_placement *p)
{
	place_undo(inode, p);
	/* Another WRITE that is on its way behind the end keeps its reference, and reserves again.
	 */
	ram_data_trim(p->fs, inode);
	/*
	 * Whether anything came is not known here. The file may have another block by now, with a
	 * copy of what was there.
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

/* May data come to the file before the WRITE is carried out? */
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
	      struct weir_arg_sink *place)
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
	*place = (struct weir_arg_sink){.region = fs->region, .data = data};
	return 0;
}
