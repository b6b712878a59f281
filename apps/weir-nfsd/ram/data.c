/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and changes the content of files, which consists of chunks with blocks, and of holes. */
#include <string.h>

#include "ram.h"

/* Returns the number of chunks that a file of this size has. */
static uint64_t chunks_of(uint64_t size)
{
	return size / RAM_CHUNK + (size % RAM_CHUNK != 0);
}

uint32_t ram_data_at(struct ram_fs *fs, const struct ram_inode *inode, uint64_t offset,
		     uint32_t len_bytes, uint32_t *block, const uint8_t **data)
{
	uint32_t inside = (uint32_t)(offset % RAM_CHUNK);

	if (len_bytes > RAM_CHUNK - inside)
		len_bytes = RAM_CHUNK - inside;
	*block = ram_map_get(&inode->map, offset / RAM_CHUNK);
	if (*block == BLOCK_POOL_NONE || inside >= block_pool_bytes(&fs->pool, *block)) {
		*block = fs->zeros;
		inside = 0;
	}
	if (len_bytes > block_pool_bytes(&fs->pool, *block) - inside)
		len_bytes = block_pool_bytes(&fs->pool, *block) - inside;
	*data = block_pool_data(&fs->pool, *block) + inside;
	return len_bytes;
}

/* The arguments of data_release(), which releases a block that is no longer part of a file. */
struct release {
	struct ram_fs *fs;
	struct ram_inode *inode;
};

static void data_release(void *arg, uint32_t block)
{
	const struct release *from = arg;

	from->inode->attr.used -= block_pool_bytes(&from->fs->pool, block);
	block_pool_unref(&from->fs->pool, block);
}

/* Makes a hole of all chunks from 'first' on. */
static void drop_chunks(struct ram_fs *fs, struct ram_inode *inode, uint64_t first)
{
	struct release from = {fs, inode};

	ram_map_cut(&fs->nodes, &inode->map, first, data_release, &from);
}

/*
 * Sets the block of a chunk, and releases the chunk's old block. The file takes over the caller's
 * reference to 'block'. Returns false if there is no memory, and then nothing has changed.
 */
static bool set_block(struct ram_fs *fs, struct ram_inode *inode, uint64_t chunk, uint32_t block)
{
	uint32_t old = ram_map_get(&inode->map, chunk);

	if (!ram_map_set(&fs->nodes, &inode->map, chunk, block))
		return false;
	inode->attr.used += block_pool_bytes(&fs->pool, block);
	if (old != BLOCK_POOL_NONE)
		data_release(&(struct release){fs, inode}, old);
	return true;
}

/*
 * Gives a chunk another block of at least 'bytes', with the content of the old block and zeros
 * after it. Returns the new block, or BLOCK_POOL_NONE if there is no memory. If a WRITE is being
 * pulled to the old block, it keeps a reference to that block. Its handler will find that this is
 * not the file's block any more.
 */
static uint32_t grow_block(struct ram_fs *fs, struct ram_inode *inode, uint64_t chunk,
			   uint32_t bytes)
{
	uint32_t old = ram_map_get(&inode->map, chunk), block = BLOCK_POOL_NONE, kept = 0;

	/*
	 * If the preceding chunk has a block, a block of the full size is tried first, because a
	 * file that is written in order also fills this chunk. If the preceding chunk is a hole,
	 * this chunk might never be filled.
	 */
	if (chunk > 0 && ram_map_get(&inode->map, chunk - 1) != BLOCK_POOL_NONE)
		block = block_pool_get(&fs->pool, RAM_CHUNK);
	if (block == BLOCK_POOL_NONE)
		block = block_pool_get(&fs->pool, bytes);
	if (block == BLOCK_POOL_NONE)
		return BLOCK_POOL_NONE;
	if (old != BLOCK_POOL_NONE) {
		kept = block_pool_bytes(&fs->pool, old);
		memcpy(block_pool_data(&fs->pool, block), block_pool_data(&fs->pool, old), kept);
		/*
		 * Bytes after the file's end are not copied. They might be data of a WRITE that has
		 * not been carried out.
		 */
		if (chunk * RAM_CHUNK + kept > inode->attr.size) {
			uint64_t start = chunk * RAM_CHUNK;
			uint32_t valid =
				inode->attr.size > start ? (uint32_t)(inode->attr.size - start) : 0;

			memset(block_pool_data(&fs->pool, block) + valid, 0, kept - valid);
		}
	}
	memset(block_pool_data(&fs->pool, block) + kept, 0,
	       block_pool_bytes(&fs->pool, block) - kept);
	if (!set_block(fs, inode, chunk, block)) {
		block_pool_unref(&fs->pool, block);
		return BLOCK_POOL_NONE;
	}
	return block;
}

bool ram_data_copy(struct ram_fs *fs, struct ram_inode *inode, uint64_t chunk)
{
	uint32_t bytes = block_pool_bytes(&fs->pool, ram_map_get(&inode->map, chunk));

	return grow_block(fs, inode, chunk, bytes) != BLOCK_POOL_NONE;
}

uint8_t *ram_data_reserve(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset,
			  uint32_t len_bytes, uint32_t *block)
{
	uint32_t inside = (uint32_t)(offset % RAM_CHUNK);
	uint64_t chunk = offset / RAM_CHUNK;

	*block = ram_map_get(&inode->map, chunk);
	if (*block == BLOCK_POOL_NONE || block_pool_bytes(&fs->pool, *block) < inside + len_bytes)
		*block = grow_block(fs, inode, chunk, inside + len_bytes);
	return *block == BLOCK_POOL_NONE ? NULL : block_pool_data(&fs->pool, *block) + inside;
}

uint32_t ram_data_write(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset,
			const uint8_t *data, uint32_t len_bytes)
{
	uint32_t done = 0;

	while (done < len_bytes) {
		uint32_t n = RAM_CHUNK - (uint32_t)((offset + done) % RAM_CHUNK);
		uint32_t block;
		uint8_t *to;

		if (n > len_bytes - done)
			n = len_bytes - done;
		to = ram_data_reserve(fs, inode, offset + done, n, &block);
		if (!to)
			break;
		/* Data that were pulled directly to the file's block are already there. */
		if (to != data + done)
			memcpy(to, data + done, n);
		done += n;
	}
	if (done > 0 && offset + done > inode->attr.size)
		inode->attr.size = offset + done;
	return done;
}

/*
 * Clears the bytes of a chunk from 'keep' on, which are after the new end of the file. Returns
 * NFS3_OK, or NFS3ERR_JUKEBOX if there is no memory.
 */
static enum nfs3_status cut_chunk(struct ram_fs *fs, struct ram_inode *inode, uint64_t chunk,
				  uint32_t keep)
{
	uint32_t block = ram_map_get(&inode->map, chunk), copy;
	uint64_t start = chunk * RAM_CHUNK;
	uint32_t bytes;

	if (block == BLOCK_POOL_NONE || keep >= block_pool_bytes(&fs->pool, block))
		return NFS3_OK;
	bytes = block_pool_bytes(&fs->pool, block);
	if (!ram_placement_overlaps(inode, block, start + keep, start + bytes, NULL)) {
		memset(block_pool_data(&fs->pool, block) + keep, 0, bytes - keep);
		return NFS3_OK;
	}
	/*
	 * A WRITE is being pulled to these bytes. Its data must be intact when its handler runs
	 * later, so the file gets another block.
	 */
	copy = block_pool_get(&fs->pool, bytes);
	if (copy == BLOCK_POOL_NONE)
		return NFS3ERR_JUKEBOX;
	memcpy(block_pool_data(&fs->pool, copy), block_pool_data(&fs->pool, block), keep);
	memset(block_pool_data(&fs->pool, copy) + keep, 0,
	       block_pool_bytes(&fs->pool, copy) - keep);
	if (!set_block(fs, inode, chunk, copy)) {
		block_pool_unref(&fs->pool, copy);
		return NFS3ERR_JUKEBOX;
	}
	return NFS3_OK;
}

enum nfs3_status ram_data_truncate(struct ram_fs *fs, struct ram_inode *inode, uint64_t size)
{
	if (size < inode->attr.size) {
		if (size % RAM_CHUNK != 0) {
			enum nfs3_status status = cut_chunk(fs, inode, size / RAM_CHUNK,
							    (uint32_t)(size % RAM_CHUNK));

			if (status != NFS3_OK)
				return status;
		}
		drop_chunks(fs, inode, chunks_of(size));
	}
	inode->attr.size = size;
	return NFS3_OK;
}

void ram_data_trim(struct ram_fs *fs, struct ram_inode *inode)
{
	drop_chunks(fs, inode, chunks_of(inode->attr.size));
}

void ram_data_free(struct ram_fs *fs, struct ram_inode *inode)
{
	drop_chunks(fs, inode, 0);
	if (inode->block != BLOCK_POOL_NONE)
		block_pool_unref(&fs->pool, inode->block);
	inode->block = BLOCK_POOL_NONE;
}
