/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens files to read, write or sync them.
 *
 * An open can wait:
 *
 * - for the other end of a FIFO
 * - for a device
 * - up to fs.lease-break-time while another process of this host gives up its lease (fcntl(2),
 *   F_SETLEASE), which any user can take on their own files
 *
 * Therefore the file's type is checked before the open, and the open uses O_NONBLOCK. An open that
 * conflicts with a lease then fails with EAGAIN at once, and the break of the lease has begun. The
 * client gets NFS3ERR_JUKEBOX and tries again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

/*
 * Clears O_NONBLOCK. Reads and writes with this descriptor are allowed to wait for a disk, because
 * threads of io_uring carry them out. Returns 'fd', or -errno after it has closed 'fd'.
 */
static int make_blocking(int fd, int flags)
{
	int rc;

	if (fd < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int dir_open_path(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : make_blocking(fd, flags);
}

int dir_open_known(const struct dir_fs *fs, const struct handle_id *id, int flags)
{
	return make_blocking(dir_open_id(fs, id, flags | O_NONBLOCK), flags);
}

/*
 * Gets the attributes of a regular file. Returns 0, -EISDIR for a directory, -EINVAL for any other
 * object, or another -errno.
 */
static int stat_file(int fd, struct stat *st)
{
	if (fstat(fd, st) != 0)
		return -errno;
	if (S_ISREG(st->st_mode))
		return 0;
	return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
}

/*
 * Opens a regular file. Returns a descriptor or -errno, which is an error of stat_file() for any
 * other object.
 */
static int open_file(const struct dir_fs *fs, const struct handle_id *id, int flags)
{
	int fd = dir_open_id(fs, id, O_PATH);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	rc = stat_file(fd, &st);
	close(fd);
	return rc != 0 ? rc : dir_open_known(fs, id, flags);
}

struct dir_fd *dir_fd_make(const struct holder *holder, const struct handle_id *id, bool is_written,
			   int fd)
{
	struct dir_fd *file = calloc(1, sizeof(*file));

	if (file) {
		file->id = *id;
		file->holder = *holder;
		file->is_written = is_written;
		file->fd = fd;
		dir_sync_init(file);
	}
	return file;
}

int dir_stable_begin(struct dir_fs *fs, struct op *op, const struct stat *st,
		     const struct handle_id *id, int *dir)
{
	int fd;

	*dir = -1;
	if (S_ISDIR(st->st_mode)) {
		fd = dir_open_id(fs, id, O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			return fd;
		*dir = fd;
		return 0;
	}
	if (!S_ISREG(st->st_mode))
		return 0;
	fd = open_file(fs, id, O_RDONLY);
	if (fd < 0)
		return fd;
	op->fs_data = dir_fd_make(&op->holder, id, false, fd);
	if (op->fs_data)
		return 0;
	close(fd);
	return -ENOMEM;
}

int dir_stable_end(int dir, int rc)
{
	if (dir < 0)
		return rc;
	if (rc == 0 && fsync(dir) != 0)
		rc = -errno;
	close(dir);
	return rc;
}

/*
 * Opens the file of a READ, WRITE or COMMIT. Returns a descriptor or -errno. The file is opened as
 * the server, because the caller can be the owner of a file whose mode denies access to the owner.
 * Only a regular file is opened, because the open of another object might wait.
 */
static int open_data(const struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	rc = stat_file(fd, &st);
	if (rc == 0)
		rc = dir_decide(op, fd, &st);
	if (rc != 0 && fstat(fd, &st) == 0)
		dir_put_attr(op, &st);
	close(fd);
	if (rc != 0)
		return rc;
	return dir_open_known(fs, &op->id, op->proc == NFS3_WRITE ? O_WRONLY : O_RDONLY);
}

/*
 * Decides whether the caller has the right to use a file that is open already. Returns 0 or -errno.
 */
static int decide(struct op *op)
{
	const struct dir_fd *file = op->fs_data;
	struct stat st;

	return fstat(file->fd, &st) != 0 ? -errno : dir_decide(op, file->fd, &st);
}

void dir_open_data(struct dir_fs *fs, struct op *op)
{
	int fd;

	if (op->fs_data) {
		op->res.status = dir_status(decide(op));
		return;
	}
	fd = open_data(fs, op);
	if (fd < 0) {
		op->res.status = dir_status(fd);
		return;
	}
	op->fs_data = dir_fd_make(&op->holder, &op->id, op->proc == NFS3_WRITE, fd);
	if (!op->fs_data) {
		close(fd);
		op->res.status = NFS3ERR_JUKEBOX;
	}
}
