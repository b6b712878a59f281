/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * READ, WRITE and COMMIT by io_uring.
 *
 *   dir_transfer()   the file is open, or a thread opens it; rights; then the ring
 *   READ             into a block of memory, from which the reply is sent; freed when it was
 *   WRITE            from a block that the data were pulled to, or from the message. When it is to
 *                    be stable, it wants a sync when it is done, and the reply waits for that
 *   COMMIT           a sync, see dir/sync.c
 *
 * A call that finds no memory or no place in the ring waits; each poll tries one of each client
 * again.
 *
 * The verifier is honest when it changes between the reply to a WRITE and that to a COMMIT if data
 * were lost since the WRITE began. So a WRITE is told the one of its start, a COMMIT that of its
 * end, when all failures that its own sync can't know of are known here: the file is open twice at
 * most, once for reading, and is synced by this thread's ring only.
 */
#include <sodium.h>
#include <string.h>

#include "submit.h"

#define CQES_PER_POLL 64u

/*
 * Put the file's attributes into the reply. The kernel may not yet know the times that a remote
 * file system gave to a WRITE. That reply carries no attributes, and the client asks for them.
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

/* ---- ends ---- */

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
		/* Another loss from now on changes it again. */
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

	/* Data that were pulled to a block stay there, as the kernel may take them later. */
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

/* The end of a call without a client: it was answered before, or it never had one. */
static void end_silently(struct dir_io *io)
{
	if (io->is_writing) {
		io->file->noverdue--;
		io->file->is_dirty |= io->result > 0;
	}
	dir_fd_put(io->fs, io->file);
	dir_submit_release_place(io);
	dir_io_release(io);
}

/* It is done, or there was nothing to do. */
static void finish(struct dir_io *io)
{
	struct op *op = io->op;
	int error = io->result < 0 ? io->result : io->sync_result;
	struct stat st = {0};

	/* Other procedures have said theirs. */
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
	dir_submit_release_place(io);
	io->file = NULL;
	io->op = NULL;
	/* One that came placed has its on_sent since then; the others give their memory back now.
	 */
	op->on_sent = dir_io_release;
	op->on_sent_mail = dir_io_mail;
	op->on_sent_arg = io;
	op->fs_data = NULL;
	dir_done(io->fs, op);
}

/* ---- begins ---- */

/* How much of a READ there is to do; 0: nothing. */
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
 * Returns true if a worker thread has to look at the file before the call can continue. Either the
 * caller's right is undecided, or a remote file's attributes are older than DIR_FRESH_NS.
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

/* The file is open, with a reference of this call. */
static void io_begin_op(struct dir_fs *fs, struct op *op, struct dir_fd *file)
{
	struct dir_io *placed = op->proc == NFS3_WRITE ? weir_request_user(op->req) : NULL;
	enum nfs3_status status;
	struct dir_io *io;
	struct stat st;

	status = dir_stat(fs, file->fd, &st) != 0 ? NFS3ERR_IO : io_check(&st);
	if (status == NFS3_OK)
		status = check_range(op);
	/* An older WRITE, which was answered, must not come after this one. */
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
	/* Each would hold a thread of the kernel's while the file is locked. */
	if (op->proc == NFS3_WRITE && op->data_bytes > 0 && file->nwriting >= DIR_FILE_WRITES) {
		op->fs_data = file;
		op->fs_state = DIR_BEHIND;
		TAILQ_INSERT_TAIL(&file->behind, op, entry);
		return;
	}
	io = !dir_submit_has_place(fs, op) ? NULL : placed ? placed : dir_io_take(fs);
	if (!io) {
		put_off(fs, op, file);
		return;
	}
	/* Only what is in memory of the export's own can be written after the reply. */
	if (op->proc == NFS3_WRITE && op->data_bytes > 0 && io->block == BLOCK_POOL_NONE &&
	    !dir_keep_data(io, op)) {
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		put_off(fs, op, file);
		return;
	}
	dir_submit_take_place(io, op, file);
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
		dir_submit_release_place(io);
		op->fs_data = NULL;
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		put_off(fs, op, file);
	}
}

void dir_transfer(struct dir_fs *fs, struct op *op)
{
	struct dir_fd *file;

	if (op->data_bytes > op->server->transfer_max)
		op->data_bytes = op->server->transfer_max; /* the reply says how much was written */
	/* A sync is one of the file, however it was opened; what went wrong with its data, who
	 * wrote them is told first. */
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
		/* A file that has just been opened has no references yet. */
		file = file->refs > 0 ? file : dir_fd_add(fs, dir_slot_use(fs, op), file);
		file->fresh_ns = fs->now_ns;
		io_begin_op(fs, op, file);
		return;
	}
	dir_slot_release(op);
	/* Too many may be open: there will be room when the client comes back. */
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
	dir_submit_take_place(io, op, file);
	dir_submit_sync_for(io);
}

/* COMMIT: what this file's sync can't know of, as it was opened later, one of the other that is
 * under way may. */
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

/* The kernel has carried out a READ or a WRITE. */
static void on_transferred(struct dir_io *io)
{
	if (!io->op) {
		end_silently(io);
		return;
	}
	io->is_writing = false;
	/* One that was cut short, too: what was written is to be stable. */
	if (io->op->proc == NFS3_WRITE && io->op->args.write.stable != NFS3_UNSTABLE &&
	    io->result > 0)
		dir_submit_sync_for(io);
	else
		finish(io);
}

/* The kernel has fewer WRITEs of the file. Each that begins here is counted, waits elsewhere, or is
 * refused. */
static void begin_behind(struct dir_fs *fs, struct dir_fd *file)
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
		begin_behind(fs, file);
		dir_fd_put(fs, file);
	}
}

uint32_t dir_io_poll(struct dir_fs *fs)
{
	struct io_uring_cqe *cqes[CQES_PER_POLL];
	uint32_t n;

	/* What the kernel did not take, for want of memory, is still there at the next poll. */
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
