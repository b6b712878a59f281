/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes, finds and frees inodes, which are slots of a table. When a slot is reused, the new inode
 * gets the next generation, so that the handles of the old inode are stale.
 */
#include <endian.h>
#include <string.h>

#include "ram.h"

void ram_id_of(const struct ram_fs *fs, const struct ram_inode *inode, struct handle_id *id)
{
	uint32_t words[2] = {htobe32(ram_slot(fs, inode)), htobe32(inode->generation)};

	memcpy(id->data, words, sizeof(words));
	id->len_bytes = sizeof(words);
}

struct ram_inode *ram_inode_of(struct ram_fs *fs, const struct handle_id *id)
{
	uint32_t words[2];
	struct ram_inode *inode;

	if (id->len_bytes != sizeof(words))
		return NULL;
	memcpy(words, id->data, sizeof(words));
	words[0] = be32toh(words[0]);
	if (words[0] >= fs->nslots)
		return NULL;
	inode = &fs->inodes[words[0]];
	return inode->is_used && inode->generation == be32toh(words[1]) ? inode : NULL;
}

struct ram_inode *ram_inode_make(struct ram_fs *fs, enum nfs3_ftype type, uint32_t mode,
				 uint32_t uid, uint32_t gid)
{
	uint32_t slot = fs->free_slot, generation;
	struct ram_inode *inode;

	if (slot != RAM_NO_SLOT)
		fs->free_slot = fs->inodes[slot].next_free;
	else if (fs->nslots < fs->ninodes_max)
		slot = fs->nslots++;
	else
		return NULL;
	inode = &fs->inodes[slot];
	generation = inode->generation + 1;
	*inode = (struct ram_inode){
		.is_used = true, .generation = generation, .block = BLOCK_POOL_NONE};
	LIST_INIT(&inode->placements);
	inode->attr = (struct nfs3_fattr){
		.type = type,
		.mode = mode & 07777,
		.nlink = type == NFS3_DIR ? 2 : 1,
		.uid = uid,
		.gid = gid,
		.fsid = fs->export->id,
		.fileid = (uint64_t)generation << 32 | (slot + 1),
		.atime = time_now(),
	};
	inode->attr.mtime = inode->attr.ctime = inode->attr.atime;
	if (type == NFS3_DIR) {
		inode->dir.next_cookie = 3; /* 1 and 2 belong to "." and ".." */
		inode->attr.size = inode->attr.used = BLOCK_POOL_PAGE;
	}
	fs->ninodes++;
	return inode;
}

void ram_inode_free(struct ram_fs *fs, struct ram_inode *inode)
{
	ram_placements_forget(inode);
	ram_data_free(fs, inode);
	ram_dir_fini(&inode->dir);
	inode->is_used = false;
	inode->next_free = fs->free_slot;
	fs->free_slot = ram_slot(fs, inode);
	fs->ninodes--;
}

void ram_inode_unlink(struct ram_fs *fs, struct ram_inode *inode)
{
	ram_touch(inode, false);
	if (inode->attr.type == NFS3_DIR || --inode->attr.nlink == 0)
		ram_inode_free(fs, inode);
}
