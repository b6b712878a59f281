/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * READ, WRITE and COMMIT by io_uring.
 *
 *   dir_transfer()   the file is open, or a thread opens it; rights; then the ring
 *   READ             into a block of memory, from which the reply is sent; freed when it was
 *   WRITE            from a block that the data were pulled to, or from the message. When it is to be stable, a sync is
 *                    linked behind it, and the reply waits for both
 *   COMMIT           a sync
 *
 * A call that finds no memory or no place in the ring waits; each poll tries the first of them again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dir.h"

#define CQES_PER_POLL 64u

/* Completions say which call, and in the lowest bit whether it was its sync. */
#define CQE_SYNC 1u

static struct dir_io *io_take(struct dir_fs *fs)
{
	struct dir_io *io = LIST_FIRST(&fs->free_ios);

	if (io)
		LIST_REMOVE(io, entry);
	else
		io = malloc(sizeof(*io));
	if (io)
		*io = (struct dir_io){.fs = fs, .block = RAM_NONE};
	return io;
}

/* When the request is over, memory is no longer named by a reply: weir_request_on_sent(). */
static void io_release(void *arg)
{
	struct dir_io *io = arg;

	if (io->block != RAM_NONE)
		ram_block_unref(&io->fs->blocks, io->block);
	LIST_INSERT_HEAD(&io->fs->free_ios, io, entry);
}

static void io_mail(struct weir_engine *engine, void *arg)
{
	(void)engine;
	io_release(arg);
}

/* ---- rights ---- */

static enum nfs3_status check(const struct op *op, const struct stat *st)
{
	uint32_t want = op->proc == NFS3_READ ? MAY_READ : MAY_WRITE;

	if (S_ISDIR(st->st_mode))
		return NFS3ERR_ISDIR;
	if (!S_ISREG(st->st_mode))
		return NFS3ERR_INVAL;
	if (st->st_nlink == 0)
		return NFS3ERR_STALE;
	if (op->cred.uid == st->st_uid || dir_may(&op->cred, st, want) ||
	    (want == MAY_READ && dir_may(&op->cred, st, MAY_EXEC)))
		return NFS3_OK;
	return NFS3ERR_ACCES;
}

static enum nfs3_status check_range(const struct op *op)
{
	const struct nfs3_write_args *args = &op->args.write;

	if (op->proc == NFS3_WRITE && (args->offset > INT64_MAX || op->data_bytes > INT64_MAX - args->offset))
		return NFS3ERR_FBIG;
	return NFS3_OK;
}

/* On a thread: as ourselves, as rights are looked at for each call. Not what is no file: opening might wait. */
int dir_open_data(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	close(fd);
	if (rc != 0)
		return rc;
	fd = dir_open_id(fs, &op->id, O_RDWR);
	return fd == -EROFS || fd == -EACCES || fd == -ETXTBSY ? dir_open_id(fs, &op->id, O_RDONLY) : fd;
}

/* ---- ends ---- */

static void post_attr(struct op *op, int fd, struct stat *st)
{
	struct dir_fs *fs = (struct dir_fs *)op->export->fs;
	struct nfs3_post_op_attr *post = op->proc == NFS3_READ	  ? &op->res.read.attr
					 : op->proc == NFS3_WRITE ? &op->res.write.wcc.after
								  : &op->res.commit.wcc.after;

	if (fstat(fd, st) != 0)
		return;
	post->is_set = true;
	dir_fattr(fs, st, &post->attr);
}

static void end_read(struct op *op, struct dir_io *io, const struct stat *st)
{
	struct nfs3_read_res *res = &op->res.read;

	res->count = (uint32_t)io->result;
	res->eof = op->args.read.offset + res->count >= (uint64_t)st->st_size;
	op->region = io->fs->region;
	op->item = io->block != RAM_NONE ? ram_block_data(&io->fs->blocks, io->block) : NULL;
	op->item_bytes = res->count;
}

static void end_write(struct op *op, struct dir_io *io)
{
	struct nfs3_write_res *res = &op->res.write;

	res->count = (uint32_t)io->result;
	res->committed = op->args.write.stable == NFS3_UNSTABLE ? NFS3_UNSTABLE : NFS3_FILE_SYNC;
	memcpy(res->verf, op->server->write_verf, sizeof(res->verf));
}

/* All completions are here, or there was nothing to do. */
static void finish(struct dir_io *io)
{
	struct op *op = io->op;
	int error = io->result < 0 ? io->result : io->sync_result;
	struct stat st = {0};

	post_attr(op, io->file->fd, &st);
	if (error == 0 && op->proc == NFS3_READ)
		end_read(op, io, &st);
	else if (error == 0 && op->proc == NFS3_WRITE)
		end_write(op, io);
	else if (error == 0)
		memcpy(op->res.commit.verf, op->server->write_verf, NFS3_VERF_BYTES);
	op->res.status = dir_status(error < 0 ? error : 0);
	dir_fd_put(io->fs, io->file);
	io->file = NULL;
	io->op = NULL;
	/* One that came placed has its on_sent since then; the others give their memory back now. */
	op->on_sent = io_release;
	op->on_sent_mail = io_mail;
	op->on_sent_arg = io;
	op_done(op);
}

/* ---- the ring ---- */

static struct io_uring_sqe *next_sqe(struct dir_io *io, uint64_t kind)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&io->fs->ring);

	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io | kind);
	io->ncqes++;
	io->fs->nqueued++;
	return sqe;
}

static void queue_sync(struct dir_io *io, unsigned flags)
{
	struct io_uring_sqe *sqe = next_sqe(io, CQE_SYNC);
	void *data = (void *)(uintptr_t)sqe->user_data;

	io_uring_prep_fsync(sqe, io->file->fd, flags);
	io_uring_sqe_set_data(sqe, data);
}

static void queue_write(struct dir_io *io)
{
	const struct nfs3_write_args *args = &io->op->args.write;
	struct io_uring_sqe *sqe = next_sqe(io, 0);
	uint32_t count = io->op->data_bytes;

	if (io->block != RAM_NONE)
		io_uring_prep_write_fixed(sqe, io->file->fd, io->op->data, count, args->offset, 0);
	else
		io_uring_prep_write(sqe, io->file->fd, io->op->data, count, args->offset);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io);
	if (args->stable != NFS3_UNSTABLE) {
		sqe->flags |= IOSQE_IO_LINK;
		queue_sync(io, IORING_FSYNC_DATASYNC);
	}
}

/* false: no memory now. */
static bool queue_read(struct dir_io *io, const struct stat *st)
{
	const struct nfs3_read_args *args = &io->op->args.read;
	uint64_t left = args->offset < (uint64_t)st->st_size ? (uint64_t)st->st_size - args->offset : 0;
	uint32_t count = args->count;
	struct io_uring_sqe *sqe;

	if (count > io->op->server->transfer_max)
		count = io->op->server->transfer_max;
	if (count > left)
		count = (uint32_t)left;
	if (count == 0)
		return true;
	io->block = ram_block_get(&io->fs->blocks, count);
	if (io->block == RAM_NONE)
		return false;
	sqe = next_sqe(io, 0);
	io_uring_prep_read_fixed(sqe, io->file->fd, ram_block_data(&io->fs->blocks, io->block), count,
				 args->offset, 0);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io);
	return true;
}

/* The file is open, with a reference of this call. */
static void begin(struct dir_fs *fs, struct op *op, struct dir_fd *file)
{
	struct dir_io *placed = op->proc == NFS3_WRITE ? weir_request_user(op->req) : NULL;
	enum nfs3_status status;
	struct dir_io *io;
	struct stat st;

	status = fstat(file->fd, &st) != 0 ? NFS3ERR_IO : check(op, &st);
	if (status == NFS3_OK)
		status = check_range(op);
	if (status != NFS3_OK) {
		post_attr(op, file->fd, &st);
		op->res.status = status;
		dir_fd_put(fs, file);
		op_done(op);
		return;
	}
	io = placed ? placed : io_uring_sq_space_left(&fs->ring) >= 2 ? io_take(fs) : NULL;
	if (!io || io_uring_sq_space_left(&fs->ring) < 2)
		goto wait;
	io->op = op;
	io->file = file;
	if (op->proc == NFS3_COMMIT)
		queue_sync(io, 0);
	else if (op->proc == NFS3_WRITE && op->data_bytes > 0)
		queue_write(io);
	else if (op->proc == NFS3_READ && !queue_read(io, &st)) {
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		goto wait;
	}
	if (io->ncqes == 0)
		finish(io);
	else
		fs->nios++;
	return;
wait:
	dir_fd_put(fs, file);
	TAILQ_INSERT_TAIL(&fs->waiting, op, entry);
}

void dir_transfer(struct dir_fs *fs, struct op *op)
{
	struct dir_fd *file;

	if (op->data_bytes > op->server->transfer_max)
		op->data_bytes = op->server->transfer_max; /* the reply says how much was written */
	file = dir_fd_get(fs, &op->id);
	if (file)
		begin(fs, op, file);
	else
		dir_work(fs, op);
}

void dir_opened(struct dir_fs *fs, struct op *op, int fd)
{
	struct dir_fd *file = fd >= 0 ? dir_fd_add(fs, &op->id, fd) : NULL;

	if (file)
		begin(fs, op, file);
	else
		op_fail(op, fd < 0 ? dir_status(fd) : NFS3ERR_JUKEBOX);
}

static void on_cqe(struct dir_fs *fs, uint64_t data, int result)
{
	struct dir_io *io = (struct dir_io *)(uintptr_t)(data & ~(uint64_t)CQE_SYNC);

	if (!(data & CQE_SYNC))
		io->result = result;
	else if (result < 0)
		io->sync_result = result;
	if (--io->ncqes > 0)
		return;
	/* A write that was cut short breaks the link: what was written is made stable all the same. */
	if (io->sync_result == -ECANCELED && io->result > 0) {
		io->sync_result = 0;
		if (io_uring_sq_space_left(&fs->ring) > 0) {
			queue_sync(io, IORING_FSYNC_DATASYNC);
			return;
		}
		io->sync_result = -EAGAIN;
	}
	fs->nios--;
	finish(io);
}

static uint32_t retry_waiting(struct dir_fs *fs)
{
	struct op *op = TAILQ_FIRST(&fs->waiting);

	if (!op)
		return 0;
	TAILQ_REMOVE(&fs->waiting, op, entry);
	dir_transfer(fs, op);
	return op != TAILQ_LAST(&fs->waiting, op_list);
}

uint32_t dir_poll(struct fs *fs_)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;
	struct io_uring_cqe *cqes[CQES_PER_POLL];
	uint32_t n;

	if (fs->nqueued > 0 && io_uring_submit(&fs->ring) >= 0)
		fs->nqueued = 0;
	if (fs->nios == 0)
		return retry_waiting(fs);
	n = io_uring_peek_batch_cqe(&fs->ring, cqes, CQES_PER_POLL);
	for (uint32_t i = 0; i < n; i++)
		on_cqe(fs, cqes[i]->user_data, cqes[i]->res);
	io_uring_cq_advance(&fs->ring, n);
	return n + retry_waiting(fs);
}

/* ---- memory ---- */

int dir_place(struct fs *fs_, struct weir_request *req, const struct handle_id *id, const struct cred *cred,
	      uint64_t offset, uint32_t len_bytes, struct weir_place *place)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;
	struct dir_io *io;

	(void)id;
	(void)cred;
	(void)offset;
	/* Nothing of the file is touched before the call itself is here, and looked at. */
	if (len_bytes == 0 || len_bytes > RAM_CHUNK)
		return -1;
	io = io_take(fs);
	if (!io)
		return -1;
	io->block = ram_block_get(&fs->blocks, len_bytes);
	if (io->block == RAM_NONE) {
		LIST_INSERT_HEAD(&fs->free_ios, io, entry);
		return -1;
	}
	weir_request_set_user(req, io);
	weir_request_on_sent(req, io_release, io);
	*place = (struct weir_place){.region = fs->region, .data = ram_block_data(&fs->blocks, io->block)};
	return 0;
}

bool dir_link_begin(struct dir_fs *fs, struct op *op)
{
	uint32_t block = ram_block_get(&fs->blocks, RAM_PAGE);

	if (block == RAM_NONE)
		return false;
	op->region = fs->region;
	op->item = ram_block_data(&fs->blocks, block);
	op->on_sent = ram_block_release;
	op->on_sent_mail = ram_block_mail;
	op->on_sent_arg = &fs->blocks.blocks[block];
	return true;
}

int dir_io_start(struct dir_fs *fs)
{
	struct weir_region_options options = {
		.len_bytes = DIR_MEMORY,
		.page_bytes = fs->server->profile.page_bytes,
		.flags = WEIR_REGION_PRIVATE,
		.numa_node = -1,
	};
	struct weir_region_info info;
	struct iovec memory;
	int rc = weir_region_create(&options, &fs->region);

	if (rc == 0)
		rc = server_add_region(fs->server, fs->region);
	if (rc != 0)
		return rc;
	weir_region_info(fs->region, &info);
	rc = ram_blocks_init(&fs->blocks, info.base, DIR_MEMORY);
	if (rc == 0)
		rc = io_uring_queue_init(DIR_RING, &fs->ring, 0);
	if (rc != 0)
		return rc;
	fs->has_ring = true;
	memory = (struct iovec){info.base, DIR_MEMORY};
	return io_uring_register_buffers(&fs->ring, &memory, 1);
}

void dir_io_stop(struct dir_fs *fs)
{
	struct dir_io *io;

	if (fs->has_ring)
		io_uring_queue_exit(&fs->ring);
	while ((io = LIST_FIRST(&fs->free_ios))) {
		LIST_REMOVE(io, entry);
		free(io);
	}
	dir_fds_close(fs);
	ram_blocks_fini(&fs->blocks);
	weir_region_destroy(fs->region);
}
