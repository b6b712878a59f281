/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in files: chunks, their blocks, and holes. */
#include <stdlib.h>
#include <string.h>

#include "ram.h"

static uint32_t chunk_block(const struct ram_inode *inode, uint64_t chunk)
{
	return chunk < inode->nchunks ? inode->chunks[chunk] : RAM_NONE;
}

uint32_t ram_data_at(struct ram_fs *fs, const struct ram_inode *inode, uint64_t offset, uint32_t len_bytes,
		     uint32_t *block, const uint8_t **data)
{
	uint32_t inside = (uint32_t)(offset % RAM_CHUNK);

	if (len_bytes > RAM_CHUNK - inside)
		len_bytes = RAM_CHUNK - inside;
	*block = chunk_block(inode, offset / RAM_CHUNK);
	if (*block == RAM_NONE || inside >= ram_block_bytes(&fs->blocks, *block)) {
		*block = fs->zeros;
		inside = 0;
	}
	if (len_bytes > ram_block_bytes(&fs->blocks, *block) - inside)
		len_bytes = ram_block_bytes(&fs->blocks, *block) - inside;
	*data = ram_block_data(&fs->blocks, *block) + inside;
	return len_bytes;
}

/* A table up to the file's last chunk. All are bounded by the export's size: a byte at the end of each of many files would
 * otherwise take any amount of memory. */
static bool make_chunks(struct ram_fs *fs, struct ram_inode *inode, uint32_t n)
{
	uint32_t capacity = inode->nchunks ? inode->nchunks : 1;
	uint32_t *chunks;

	if (n <= inode->nchunks)
		return true;
	while (capacity < n)
		capacity *= 2;
	if (capacity - inode->nchunks > fs->nchunks_max - fs->nchunks)
		return false;
	chunks = realloc(inode->chunks, capacity * sizeof(chunks[0]));
	if (!chunks)
		return false;
	for (uint32_t i = inode->nchunks; i < capacity; i++)
		chunks[i] = RAM_NONE;
	fs->nchunks += capacity - inode->nchunks;
	inode->chunks = chunks;
	inode->nchunks = capacity;
	return true;
}

static void free_chunks(struct ram_fs *fs, struct ram_inode *inode)
{
	fs->nchunks -= inode->nchunks;
	free(inode->chunks);
	inode->chunks = NULL;
	inode->nchunks = 0;
}

static void set_block(struct ram_fs *fs, struct ram_inode *inode, uint32_t chunk, uint32_t block)
{
	uint32_t old = inode->chunks[chunk];

	if (old != RAM_NONE) {
		inode->attr.used -= ram_block_bytes(&fs->blocks, old);
		ram_block_unref(&fs->blocks, old);
	}
	if (block != RAM_NONE)
		inode->attr.used += ram_block_bytes(&fs->blocks, block);
	inode->chunks[chunk] = block;
}

/* A longer block for a chunk, with what the old one held and zeros behind it. A WRITE that is being pulled to the old
 * one has a reference to it, and will find that it is no longer the file's. */
static uint32_t grow_block(struct ram_fs *fs, struct ram_inode *inode, uint32_t chunk, uint32_t bytes)
{
	uint32_t old = inode->chunks[chunk], kept = 0;
	/* Files that are longer than a chunk fill it sooner or later. */
	uint32_t block = chunk > 0 ? ram_block_get(&fs->blocks, RAM_CHUNK) : RAM_NONE;

	if (block == RAM_NONE)
		block = ram_block_get(&fs->blocks, bytes);
	if (block == RAM_NONE)
		return RAM_NONE;
	if (old != RAM_NONE) {
		kept = ram_block_bytes(&fs->blocks, old);
		memcpy(ram_block_data(&fs->blocks, block), ram_block_data(&fs->blocks, old), kept);
		/* What lies behind the end may belong to a WRITE that is not done. */
		if ((uint64_t)chunk * RAM_CHUNK + kept > inode->attr.size) {
			uint64_t start = (uint64_t)chunk * RAM_CHUNK;
			uint32_t valid = inode->attr.size > start ? (uint32_t)(inode->attr.size - start) : 0;

			memset(ram_block_data(&fs->blocks, block) + valid, 0, kept - valid);
		}
	}
	memset(ram_block_data(&fs->blocks, block) + kept, 0, ram_block_bytes(&fs->blocks, block) - kept);
	set_block(fs, inode, chunk, block);
	return block;
}

uint8_t *ram_data_reserve(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset, uint32_t len_bytes,
			  uint32_t *block)
{
	uint32_t inside = (uint32_t)(offset % RAM_CHUNK);
	uint32_t chunk = (uint32_t)(offset / RAM_CHUNK);

	if (!make_chunks(fs, inode, chunk + 1))
		return NULL;
	*block = inode->chunks[chunk];
	if (*block == RAM_NONE || ram_block_bytes(&fs->blocks, *block) < inside + len_bytes)
		*block = grow_block(fs, inode, chunk, inside + len_bytes);
	return *block == RAM_NONE ? NULL : ram_block_data(&fs->blocks, *block) + inside;
}

uint32_t ram_data_write(struct ram_fs *fs, struct ram_inode *inode, uint64_t offset, const uint8_t *data,
			uint32_t len_bytes)
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
		/* The same where it was pulled to its place. */
		if (to != data + done)
			memcpy(to, data + done, n);
		done += n;
	}
	if (done > 0 && offset + done > inode->attr.size)
		inode->attr.size = offset + done;
	return done;
}

/* Zero what follows the new end in its chunk. */
static enum nfs3_status cut_chunk(struct ram_fs *fs, struct ram_inode *inode, uint32_t chunk, uint32_t keep)
{
	uint32_t block = chunk_block(inode, chunk), copy;
	uint64_t start = (uint64_t)chunk * RAM_CHUNK;
	uint32_t bytes;

	if (block == RAM_NONE || keep >= ram_block_bytes(&fs->blocks, block))
		return NFS3_OK;
	bytes = ram_block_bytes(&fs->blocks, block);
	if (!ram_placement_overlaps(inode, block, start + keep, start + bytes, NULL)) {
		memset(ram_block_data(&fs->blocks, block) + keep, 0, bytes - keep);
		return NFS3_OK;
	}
	/* A WRITE is being pulled there: it must find its data when it is its turn, behind this call. */
	copy = ram_block_get(&fs->blocks, bytes);
	if (copy == RAM_NONE)
		return NFS3ERR_JUKEBOX;
	memcpy(ram_block_data(&fs->blocks, copy), ram_block_data(&fs->blocks, block), keep);
	memset(ram_block_data(&fs->blocks, copy) + keep, 0, ram_block_bytes(&fs->blocks, copy) - keep);
	set_block(fs, inode, chunk, copy);
	return NFS3_OK;
}

enum nfs3_status ram_data_truncate(struct ram_fs *fs, struct ram_inode *inode, uint64_t size)
{
	uint64_t first = (size + RAM_CHUNK - 1) / RAM_CHUNK; /* chunk that goes in full */

	if (size < inode->attr.size) {
		if (size % RAM_CHUNK != 0) {
			enum nfs3_status status = cut_chunk(fs, inode, (uint32_t)(size / RAM_CHUNK),
							    (uint32_t)(size % RAM_CHUNK));

			if (status != NFS3_OK)
				return status;
		}
		for (uint64_t i = first; i < inode->nchunks; i++)
			set_block(fs, inode, (uint32_t)i, RAM_NONE);
		if (first == 0)
			free_chunks(fs, inode);
	}
	inode->attr.size = size;
	return NFS3_OK;
}

void ram_data_free(struct ram_fs *fs, struct ram_inode *inode)
{
	for (uint32_t i = 0; i < inode->nchunks; i++)
		set_block(fs, inode, i, RAM_NONE);
	free_chunks(fs, inode);
	if (inode->block != RAM_NONE)
		ram_block_unref(&fs->blocks, inode->block);
	inode->block = RAM_NONE;
}
