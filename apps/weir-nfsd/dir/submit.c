/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepares entries of the ring. dir/io.c passes them to the kernel and handles completions. */
#include "submit.h"

/*
 * Counts a call in the kernel, and charges the client of 'op' for it, if there is an 'op'. Sets the
 * call and the file of 'io'.
 */
void dir_submit_add(struct dir_io *io, struct op *op, struct dir_fd *file)
{
	io->op = op;
	io->file = file;
	io->fs->nios++;
	if (op)
		holds_add(&io->fs->client_calls, &io->call_hold, &op->holder, 1);
}

void dir_submit_remove(struct dir_io *io)
{
	io->fs->nios--;
	if (io->call_hold.n > 0)
		holds_remove(&io->call_hold);
	io->call_hold.n = 0;
}

bool dir_submit_may_add(const struct dir_fs *fs, const struct op *op)
{
	return io_uring_sq_space_left(&fs->ring) > 0 && fs->nios < DIR_CALLS_MAX &&
	       holds_allow(&fs->client_calls, &op->holder, DIR_CALLS_MAX, DIR_CALLS_MAX - fs->nios,
			   1);
}

/*
 * Prepares a sync that serves all requests in the file's 'to_sync'. If the ring is full, the file
 * is put in 'pending_syncs' instead.
 */
void dir_submit_sync(struct dir_fs *fs, struct dir_fd *file)
{
	struct io_uring_sqe *sqe;

	if (io_uring_sq_space_left(&fs->ring) == 0) {
		TAILQ_INSERT_TAIL(&fs->pending_syncs, file, pending_syncs);
		return;
	}
	sqe = io_uring_get_sqe(&fs->ring);
	io_uring_prep_fsync(sqe, file->fd, dir_sync_begin(file) ? IORING_FSYNC_DATASYNC : 0);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)file | DIR_CQE_SYNC);
}

void dir_submit_sync_for(struct dir_io *io)
{
	if (dir_sync_want(io))
		dir_submit_sync(io->fs, io->file);
}

/*
 * Returns an entry of the ring for 'io'. The ring is not full, because dir_submit_may_add() has
 * checked that.
 */
static struct io_uring_sqe *next_sqe(struct dir_io *io)
{
	return io_uring_get_sqe(&io->fs->ring);
}

/*
 * Prepares a WRITE, which a thread of the kernel always carries out. Without IOSQE_ASYNC the kernel
 * would try it on the poller's thread first. If it then passed the WRITE to a thread, it would put
 * the WRITE in one of 64 queues, which it chooses by the file's inode. Each queue is processed in
 * order, for all exports, so a file that stays locked would delay WRITEs of other files.
 */
void dir_submit_write(struct dir_io *io)
{
	const struct nfs3_write_args *args = &io->op->args.write;
	struct io_uring_sqe *sqe = next_sqe(io);
	uint32_t count = io->op->data_bytes;

	if (io->block != BLOCK_POOL_NONE)
		io_uring_prep_write_fixed(sqe, io->file->fd, io->op->data, count, args->offset, 0);
	else
		io_uring_prep_write(sqe, io->file->fd, io->op->data, count, args->offset);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io);
	io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	if (io->op->cred.uid != 0)
		sqe->personality = io->fs->personality;
	io->is_writing = true;
	io->file->nwriting++;
}

/*
 * Prepares a READ. Returns false if there is no memory at present. Usually the kernel first tries
 * the READ on the poller's thread, without waiting for data. But if the data are not in memory, the
 * kernel reads their metadata from the disk, and a disk that hangs then blocks the poller.
 * IOSQE_ASYNC prevents this first try. It is set if calls might hang, see dir_is_careful().
 */
bool dir_submit_read(struct dir_io *io, uint32_t count)
{
	struct io_uring_sqe *sqe;

	if (!dir_take_block(io, &io->op->holder, count))
		return false;
	sqe = next_sqe(io);
	io_uring_prep_read_fixed(sqe, io->file->fd, block_pool_data(&io->fs->pool, io->block),
				 count, io->op->args.read.offset, 0);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io);
	if (dir_is_careful(io->fs))
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	return true;
}

void dir_submit_pending_syncs(struct dir_fs *fs)
{
	struct dir_fd *file;

	while ((file = TAILQ_FIRST(&fs->pending_syncs)) && io_uring_sq_space_left(&fs->ring) > 0) {
		TAILQ_REMOVE(&fs->pending_syncs, file, pending_syncs);
		dir_submit_sync(fs, file);
	}
}

bool dir_submit_sync_and_close(struct dir_fs *fs, struct dir_fd *file)
{
	struct dir_io *io = dir_io_take(fs);

	if (!io)
		return false;
	file->is_forgotten = true;
	file->refs++;
	dir_submit_add(io, NULL, file);
	dir_submit_sync_for(io);
	return true;
}
