/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates the memory for the data of reads and writes. The memory is divided among clients. */
#include <stdlib.h>
#include <string.h>

#include "dir.h"

struct dir_io *dir_io_take(struct dir_fs *fs)
{
	struct dir_io *io = LIST_FIRST(&fs->free_ios);

	if (io)
		LIST_REMOVE(io, entry);
	else
		io = malloc(sizeof(*io));
	if (io)
		*io = (struct dir_io){.fs = fs, .block = BLOCK_POOL_NONE};
	return io;
}

/*
 * Releases 'io' and its block when its operation has ended and no reply refers to the block.
 * weir_request_on_sent() calls this function.
 */
void dir_io_release(void *arg)
{
	struct dir_io *io = arg;

	if (io->block != BLOCK_POOL_NONE) {
		block_pool_unref(&io->fs->pool, io->block);
		holds_remove(&io->hold);
		io->fs->has_room = true;
	}
	LIST_INSERT_HEAD(&io->fs->free_ios, io, entry);
}

bool dir_take_block(struct dir_io *io, const struct holder *holder, uint32_t bytes)
{
	struct dir_fs *fs = io->fs;
	struct block_pool *pool = &fs->pool;
	uint32_t pages = block_pool_pages(bytes);

	if (!holds_allow(&fs->holds, holder, pool->npages, pool->nfree, pages))
		return false;
	io->block = block_pool_get(pool, bytes);
	if (io->block == BLOCK_POOL_NONE)
		return false;
	holds_add(&fs->holds, &io->hold, holder, pages);
	return true;
}

void dir_io_mail(struct weir_engine *engine, void *arg)
{
	(void)engine;
	dir_io_release(arg);
}

bool dir_keep_data(struct dir_io *io, struct op *op)
{
	uint8_t *to;

	if (!dir_take_block(io, &op->holder, op->data_bytes))
		return false;
	to = block_pool_data(&io->fs->pool, io->block);
	memcpy(to, op->data, op->data_bytes);
	op->data = to;
	return true;
}

int dir_place(struct fs *fs_, struct weir_request *req, const struct handle_id *id,
	      const struct cred *cred, uint64_t offset, uint32_t len_bytes,
	      struct weir_arg_sink *sink)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;
	struct dir_io *io;

	(void)id;
	(void)cred;
	(void)offset;
	/*
	 * The data are pulled to a block. The file itself is not changed before the call has
	 * arrived and has been checked.
	 */
	if (len_bytes == 0 || len_bytes > BLOCK_POOL_MAX)
		return -1;
	io = dir_io_take(fs);
	if (!io)
		return -1;
	if (!dir_take_block(io, caller_holder(req), len_bytes)) {
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		return -1;
	}
	weir_request_set_user(req, io);
	weir_request_on_sent(req, dir_io_release, io);
	*sink = (struct weir_arg_sink){.region = fs->region,
				       .data = block_pool_data(&fs->pool, io->block)};
	return 0;
}

bool dir_link_begin(struct dir_fs *fs, struct op *op)
{
	struct dir_io *io = dir_io_take(fs);

	if (!io)
		return false;
	if (!dir_take_block(io, &op->holder, BLOCK_POOL_PAGE)) {
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		return false;
	}
	op->region = fs->region;
	op->item = block_pool_data(&fs->pool, io->block);
	op->on_sent = dir_io_release;
	op->on_sent_mail = dir_io_mail;
	op->on_sent_arg = io;
	return true;
}
