/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combines requests for syncs of one open file. Only one sync of the file is under way at a time.
 * Requests that arrive while a sync is under way are all served together by the next sync.
 *
 * Two syncs at a time would be wrong, not only slower. The kernel reports a loss of data once per
 * open file, to the first sync that ends after the kernel has noticed the loss. If two syncs were
 * under way, either of them could get the report. The other sync would count as a success, even if
 * its own data were lost.
 *
 * There is a similar case: data are written while a sync is under way, the kernel writes them back,
 * and the sync fails. The next sync, which is the one for these data, reports nothing. Therefore a
 * failure counts for all requests that began before the failure was known. Each request records the
 * number of failures at its start.
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

/*
 * Returns true if a sync of the data alone is enough. A WRITE with DATA_SYNC does not require that
 * times are stable. All other requests require stable data and stable attributes of GETATTR (RFC
 * 1813 section 3.3.7).
 */
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
	/*
	 * Other calls do not have to fail. The result of a COMMIT is a changed verifier. The
	 * attributes of a SETATTR were set.
	 */
	if (io->sync_result == 0 && io->nlost != file->nlost && io->op &&
	    io->op->proc == NFS3_WRITE)
		io->sync_result = -EIO;
	return io;
}
