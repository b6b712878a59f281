/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * READ, WRITE and COMMIT with io_uring.
 *
 *   dir_transfer()   uses the open file, or has a thread open it; checks rights; then has
 *                    dir/submit.c prepare an entry of the ring
 *   dir_io_poll()    passes the entries to the kernel, and handles their completions
 *
 *   READ             reads into a block of memory, from which the reply is sent; the block is freed
 *                    when the reply has been sent
 *   WRITE            writes from a block that the data were pulled to, or from the message; a
 *                    stable WRITE then asks for a sync, and its reply waits for that
 *   COMMIT           asks for a sync, see dir/sync.c
 *
 * A call waits if there is no memory, or if the client has its share of calls in the kernel. Each
 * poll retries one call of each client.
 *
 * The verifier is correct if it changes between the reply to a WRITE and the reply to a COMMIT
 * whenever data were lost since the WRITE began. Therefore a WRITE returns the verifier of its
 * start, and a COMMIT the one of its end. At the end of a COMMIT, all failures that its own sync
 * cannot report are known here: the file is open at most twice, once of these for reading, and only
 * this thread's ring syncs it.
 */
#include <sodium.h>
#include <string.h>

#include "submit.h"

#define CQES_PER_POLL 64u

/*
 * Puts the file's attributes into the reply. The kernel might not know the new times of a file
 * after a WRITE to a remote file system. The reply to such a WRITE or to a COMMIT therefore has no
 * attributes, and the client asks for them.
 */
static void post_attr(struct op *op, int fd, struct stat *st)
{
	struct dir_fs *fs = (struct dir_fs *)op->export->fs;

	if (dir_stat(fs, fd, st) == 0 && (!fs->is_remote || op->proc == NFS3_READ))
		dir_put_attr(op, st);
}

/* ---- rights ---- */

static enum nfs3_status io_check(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return NFS3ERR_ISDIR;
	if (!S_ISREG(st->st_mode))
		return NFS3ERR_INVAL;
	if (st->st_nlink == 0)
		return NFS3ERR_STALE;
	return NFS3_OK;
}

static enum nfs3_status check_range(const struct op *op)
{
	const struct nfs3_write_args *args = &op->args.write;
	uint64_t max = ((const struct dir_fs *)op->export->fs)->file_max;

	if (op->proc == NFS3_WRITE && (args->offset > max || op->data_bytes > max - args->offset))
		return NFS3ERR_FBIG;
	return NFS3_OK;
}

/* ---- ends of calls ---- */

static void end_read(struct op *op, struct dir_io *io, const struct stat *st)
{
	struct nfs3_read_res *res = &op->res.read;

	res->count = (uint32_t)io->result;
	res->eof = op->args.read.offset + res->count >= (uint64_t)st->st_size;
	op->region = io->fs->region;
	op->item = io->block != BLOCK_POOL_NONE ? block_pool_data(&io->fs->pool, io->block) : NULL;
	op->item_bytes = res->count;
}

const uint8_t *dir_verf(struct dir_fs *fs)
{
	if (atomic_load_explicit(&fs->has_lost, memory_order_acquire)) {
		/*
		 * The recorded loss is included in the new verifier. A later loss is recorded again
		 * and changes the verifier again.
		 */
		atomic_store_explicit(&fs->has_lost, false, memory_order_relaxed);
		randombytes_buf(fs->write_verf, sizeof(fs->write_verf));
	}
	return fs->write_verf;
}

static void end_write(struct op *op, struct dir_io *io)
{
	struct nfs3_write_res *res = &op->res.write;

	res->count = (uint32_t)io->result;
	res->committed = op->args.write.stable;
	if (io->result > 0 && res->committed == NFS3_UNSTABLE)
		io->file->is_dirty = true;
	memcpy(res->verf, io->verf, sizeof(res->verf));
}

void dir_io_let_go(struct op *op)
{
	struct dir_io *io = op->fs_data;

	/*
	 * The block to which the data were pulled is not released with the reply, because the
	 * kernel can still read the data.
	 */
	if (op->proc == NFS3_WRITE && weir_request_user(op->req) == io)
		weir_request_on_sent(op->req, NULL, NULL);
	io->file->noverdue += io->is_writing;
	io->op = NULL;
	op->fs_data = NULL;
}

void dir_io_give_up(struct dir_fs *fs, struct op *op)
{
	struct dir_fd *file = op->fs_data;

	TAILQ_REMOVE(&file->behind, op, entry);
	op->fs_data = NULL;
	dir_fd_put(fs, file);
}

/*
 * Ends an operation that has no call, because its call was answered earlier, or because it is the
 * sync of a file that will be closed.
 */
static void end_silently(struct dir_io *io)
{
	if (io->is_writing) {
		io->file->noverdue--;
		io->file->is_dirty |= io->result > 0;
	}
	dir_fd_put(io->fs, io->file);
	dir_submit_remove(io);
	dir_io_release(io);
}

/* Replies to a call whose operation is done, or that had nothing to do. */
static void finish(struct dir_io *io)
{
	struct op *op = io->op;
	int error = io->result < 0 ? io->result : io->sync_result;
	struct stat st = {0};

	/* SETATTR and CREATE have filled in their attributes already. */
	if (op->proc == NFS3_READ || op->proc == NFS3_WRITE || op->proc == NFS3_COMMIT)
		post_attr(op, io->file->fd, &st);
	if (error == 0 && op->proc == NFS3_READ)
		end_read(op, io, &st);
	else if (error == 0 && op->proc == NFS3_WRITE)
		end_write(op, io);
	else if (error == 0 && op->proc == NFS3_COMMIT)
		memcpy(op->res.commit.verf, dir_verf(io->fs), NFS3_VERF_BYTES);
	op->res.status = dir_status(error < 0 ? error : 0);
	dir_fd_put(io->fs, io->file);
	dir_submit_remove(io);
	io->file = NULL;
	io->op = NULL;
	/*
	 * 'io' is released when the reply has been sent. If the data of a WRITE were pulled to a
	 * block, dir_place() has already set this callback.
	 */
	op->on_sent = dir_io_release;
	op->on_sent_mail = dir_io_mail;
	op->on_sent_arg = io;
	op->fs_data = NULL;
	dir_done(io->fs, op);
}

/* ---- starts of calls ---- */

/*
 * Returns the number of bytes to read, or 0 if the READ begins at or after the end of the file, or
 * has a count of 0.
 */
static uint32_t read_bytes(const struct op *op, const struct stat *st)
{
	const struct nfs3_read_args *args = &op->args.read;
	uint64_t left =
		args->offset < (uint64_t)st->st_size ? (uint64_t)st->st_size - args->offset : 0;
	uint32_t count = args->count;

	if (count > op->server->transfer_max)
		count = op->server->transfer_max;
	return count > left ? (uint32_t)left : count;
}

static void put_off(struct dir_fs *fs, struct op *op, struct dir_fd *file)
{
	if (file)
		dir_fd_put(fs, file);
	dir_wait(fs, op);
}

static void io_refuse(struct dir_fs *fs, struct op *op, struct dir_fd *file,
		      enum nfs3_status status)
{
	struct stat st;

	post_attr(op, file->fd, &st);
	op->res.status = status;
	if (status == NFS3ERR_STALE)
		dir_fd_forget(fs, &op->holder, &op->id);
	dir_fd_put(fs, file);
	dir_done(fs, op);
}

/*
 * Returns true if a worker thread has to examine the file before the call can continue. This is so
 * if nobody has decided yet whether the caller may access the file, or if a remote file's
 * attributes are older than DIR_FRESH_NS.
 */
static bool needs_thread(struct dir_fs *fs, struct op *op, struct dir_fd *file,
			 const struct stat *st)
{
	if (fs->is_remote && fs->now_ns - file->fresh_ns > DIR_FRESH_NS)
		return true;
	if (dir_is_exempt(op, st) || dir_is_granted(file, op, st))
		return false;
	if (op->is_decided)
		dir_grant(file, op);
	return !op->is_decided;
}

/*
 * Starts a call whose file is open. The call owns a reference to 'file', which this function passes
 * on or releases.
 */
static void io_begin_op(struct dir_fs *fs, struct op *op, struct dir_fd *file)
{
	struct dir_io *placed = op->proc == NFS3_WRITE ? weir_request_user(op->req) : NULL;
	enum nfs3_status status;
	struct dir_io *io;
	struct stat st;

	status = dir_stat(fs, file->fd, &st) != 0 ? NFS3ERR_IO : io_check(&st);
	if (status == NFS3_OK)
		status = check_range(op);
	/*
	 * The kernel might still carry out an older WRITE that was answered early with
	 * NFS3ERR_JUKEBOX. A new WRITE of this file is refused until the older one has ended, so
	 * that the older one does not overwrite the new data.
	 */
	if (status == NFS3_OK && op->proc == NFS3_WRITE && file->noverdue > 0)
		status = NFS3ERR_JUKEBOX;
	if (status != NFS3_OK) {
		io_refuse(fs, op, file, status);
		return;
	}
	if (needs_thread(fs, op, file, &st)) {
		op->fs_data = file;
		dir_work(fs, op);
		return;
	}
	/*
	 * Each further WRITE would occupy a kernel thread while the kernel has the file locked, so
	 * the call waits in 'behind'.
	 */
	if (op->proc == NFS3_WRITE && op->data_bytes > 0 && file->nwriting >= DIR_FILE_WRITES) {
		op->fs_data = file;
		op->fs_state = DIR_BEHIND;
		TAILQ_INSERT_TAIL(&file->behind, op, entry);
		return;
	}
	io = !dir_submit_may_add(fs, op) ? NULL : placed ? placed : dir_io_take(fs);
	if (!io) {
		put_off(fs, op, file);
		return;
	}
	/*
	 * The data are copied to memory of the export. A WRITE can be answered before the kernel
	 * has carried it out, and the memory of its message is then no longer valid.
	 */
	if (op->proc == NFS3_WRITE && op->data_bytes > 0 && io->block == BLOCK_POOL_NONE &&
	    !dir_keep_data(io, op)) {
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		put_off(fs, op, file);
		return;
	}
	dir_submit_add(io, op, file);
	io->nlost = file->nlost;
	memcpy(io->verf, dir_verf(fs), sizeof(io->verf));
	op->fs_data = io;
	op->fs_state = DIR_IN_RING;
	if (op->proc == NFS3_COMMIT) {
		dir_submit_sync_for(io);
	} else if (op->proc == NFS3_WRITE && op->data_bytes > 0) {
		dir_submit_write(io);
	} else if (op->proc == NFS3_WRITE || read_bytes(op, &st) == 0) {
		finish(io);
	} else if (!dir_submit_read(io, read_bytes(op, &st))) {
		dir_submit_remove(io);
		op->fs_data = NULL;
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		put_off(fs, op, file);
	}
}

void dir_transfer(struct dir_fs *fs, struct op *op)
{
	struct dir_fd *file;

	if (op->data_bytes > op->server->transfer_max)
		op->data_bytes =
			/* the count in the reply is the number of bytes that were written */
			op->server->transfer_max;
	/*
	 * COMMIT can use either descriptor of the file, because a sync covers the whole file. It
	 * prefers the descriptor for writing, because the kernel reports errors of written data on
	 * that descriptor first.
	 */
	file = dir_fd_get(fs, &op->id, op->proc != NFS3_READ);
	if (!file && op->proc == NFS3_COMMIT)
		file = dir_fd_get(fs, &op->id, false);
	if (file)
		dir_fd_used_by(fs, file, &op->holder);
	if (file)
		io_begin_op(fs, op, file);
	else if (dir_slot_take(fs, op))
		dir_work(fs, op);
	else
		put_off(fs, op, NULL);
}

void dir_opened(struct dir_fs *fs, struct op *op)
{
	enum nfs3_status status = op->res.status;
	struct dir_fd *file = op->fs_data;

	op->fs_data = NULL;
	if (file && status != NFS3_OK) {
		io_refuse(fs, op, file, status);
		return;
	}
	if (file) {
		/* A file that the thread has just opened for this call has no references. */
		file = file->refs > 0 ? file : dir_fd_add(fs, dir_slot_use(fs, op), file);
		file->fresh_ns = fs->now_ns;
		io_begin_op(fs, op, file);
		return;
	}
	dir_slot_release(op);
	/*
	 * The likely reason is that too many files are open. Some are closed, so that the call can
	 * succeed when the client sends it again.
	 */
	if (status == NFS3ERR_JUKEBOX)
		dir_fds_shrink(fs, DIR_FDS_PER_TICK);
	dir_done(fs, op);
}

void dir_sync_then_reply(struct dir_fs *fs, struct op *op)
{
	struct dir_fd *file = dir_fd_add(fs, dir_slot_use(fs, op), op->fs_data);
	struct dir_io *io = dir_io_take(fs);

	if (!io) {
		dir_fd_put(fs, file);
		op->res.status = NFS3ERR_JUKEBOX;
		dir_done(fs, op);
		return;
	}
	dir_submit_add(io, op, file);
	dir_submit_sync_for(io);
}

/*
 * Returns true if a COMMIT also has to wait for a sync of the file's other descriptor, because such
 * a sync is under way. Then switches 'io' to that descriptor. The other sync might report a loss of
 * data that the first sync cannot report, because the first descriptor was opened after the loss.
 */
static bool needs_second(struct dir_io *io)
{
	struct dir_fd *other;

	if (io->op->proc != NFS3_COMMIT || io->is_second || io->sync_result != 0)
		return false;
	other = dir_fd_other(io->fs, io->file);
	if (!other || TAILQ_EMPTY(&other->syncing))
		return false;
	io->is_second = true;
	other->refs++;
	dir_fd_put(io->fs, io->file);
	io->file = other;
	return true;
}

static void on_synced(struct dir_fs *fs, struct dir_fd *file, int result)
{
	struct dir_io *io;

	dir_sync_end(file, result < 0 ? result : 0);
	if (result < 0)
		dir_mark_data_loss(fs);
	file->refs++;
	while ((io = dir_sync_next(file))) {
		if (!io->op) {
			end_silently(io);
		} else if (needs_second(io)) {
			dir_submit_sync_for(io);
		} else {
			finish(io);
		}
	}
	if (!TAILQ_EMPTY(&file->to_sync))
		dir_submit_sync(fs, file);
	dir_fd_put(fs, file);
}

/* Continues after the kernel has carried out a READ or a WRITE. */
static void on_transferred(struct dir_io *io)
{
	if (!io->op) {
		end_silently(io);
		return;
	}
	io->is_writing = false;
	/* A short WRITE needs a sync, too, because the part that was written must be stable. */
	if (io->op->proc == NFS3_WRITE && io->op->args.write.stable != NFS3_UNSTABLE &&
	    io->result > 0)
		dir_submit_sync_for(io);
	else
		finish(io);
}

/*
 * Starts WRITEs that wait in 'behind' until the kernel has fewer WRITEs of their file. The loop
 * ends, because each WRITE that starts is counted in 'nwriting', waits elsewhere, or is refused.
 */
static void begin_deferred(struct dir_fs *fs, struct dir_fd *file)
{
	struct op *op;

	while (file->nwriting < DIR_FILE_WRITES && (op = TAILQ_FIRST(&file->behind))) {
		TAILQ_REMOVE(&file->behind, op, entry);
		op->fs_data = NULL;
		io_begin_op(fs, op, file);
	}
}

static void on_cqe(struct dir_fs *fs, uint64_t data, int result)
{
	struct dir_io *io = (struct dir_io *)(uintptr_t)data;
	struct dir_fd *file;

	if (data & DIR_CQE_SYNC) {
		on_synced(fs, (struct dir_fd *)(uintptr_t)(data & ~(uint64_t)DIR_CQE_SYNC), result);
		return;
	}
	io->result = result;
	file = io->is_writing ? io->file : NULL;
	if (file) {
		file->nwriting--;
		file->refs++;
	}
	on_transferred(io);
	if (file) {
		begin_deferred(fs, file);
		dir_fd_put(fs, file);
	}
}

uint32_t dir_io_poll(struct dir_fs *fs)
{
	struct io_uring_cqe *cqes[CQES_PER_POLL];
	uint32_t n;

	/*
	 * If the kernel lacked the memory to take an entry at the last poll, the entry is submitted
	 * here.
	 */
	if (io_uring_sq_ready(&fs->ring) > 0)
		io_uring_submit(&fs->ring);
	if (fs->nios == 0)
		return 0;
	if (!TAILQ_EMPTY(&fs->pending_syncs))
		dir_submit_pending_syncs(fs);
	n = io_uring_peek_batch_cqe(&fs->ring, cqes, CQES_PER_POLL);
	for (uint32_t i = 0; i < n; i++)
		on_cqe(fs, cqes[i]->user_data, cqes[i]->res);
	io_uring_cq_advance(&fs->ring, n);
	fs->has_room |= n > 0;
	return n;
}
