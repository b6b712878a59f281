/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Syncs of one open file, one at a time: whoever wants one while one is under way gets the next,
 * with all others that do.
 *
 * Not for speed alone. The kernel tells each open file once that data were lost, by the first sync
 * that ends after it has noticed. Of two at a time either may be the one that is told, and the
 * other, whose data it was, would be taken for good. The same goes for data that were written while
 * a sync was under way, and had been written back when it failed: the next one is told nothing. So
 * a failure is one of all that began before it was known: they have taken down how many there were
 * at their start.
 */
#include <errno.h>

#include "dir.h"

void dir_sync_init(struct dir_fd *file)
{
	TAILQ_INIT(&file->syncing);
	TAILQ_INIT(&file->to_sync);
	TAILQ_INIT(&file->behind);
}

bool dir_sync_want(struct dir_io *io)
{
	struct dir_fd *file = io->file;
	bool is_first = TAILQ_EMPTY(&file->to_sync);

	TAILQ_INSERT_TAIL(&file->to_sync, io, sync);
	return is_first && TAILQ_EMPTY(&file->syncing);
}

/* DATA_SYNC leaves times out; all else is the data and what GETATTR says of them (RFC 1813
 * section 3.3.7). */
static bool is_of_data(const struct dir_io *io)
{
	return io->op && io->op->proc == NFS3_WRITE && io->op->args.write.stable == NFS3_DATA_SYNC;
}

bool dir_sync_begin(struct dir_fd *file)
{
	bool is_data = true;
	struct dir_io *io;

	TAILQ_FOREACH(io, &file->to_sync, sync)
	is_data &= is_of_data(io);
	TAILQ_CONCAT(&file->syncing, &file->to_sync, sync);
	file->is_dirty = false;
	return is_data;
}

void dir_sync_end(struct dir_fd *file, int result)
{
	file->nlost += result < 0;
	file->sync_result = result;
}

struct dir_io *dir_sync_next(struct dir_fd *file)
{
	struct dir_io *io = TAILQ_FIRST(&file->syncing);

	if (!io)
		return NULL;
	TAILQ_REMOVE(&file->syncing, io, sync);
	io->sync_result = file->sync_result;
	/* Others need not fail: COMMIT's verifier tells, and what SETATTR has set was set. */
	if (io->sync_result == 0 && io->nlost != file->nlost && io->op &&
	    io->op->proc == NFS3_WRITE)
		io->sync_result = -EIO;
	return io;
}
