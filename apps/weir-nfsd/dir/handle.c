/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens files by the kernel's handles, and names one at a time. Converts attributes and errors to
 * those of NFS.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dir.h"

/*
 * The id of a file (struct handle_id) consists of the handle's type, in 4 bytes, and the handle's
 * bytes.
 */
#define TYPE_BYTES   4u
#define HANDLE_BYTES (HANDLE_ID_MAX - TYPE_BYTES)

/*
 * Pauses of open_handle() between its attempts. Each pause is twice as long as the preceding one.
 * The sum of the pauses is a quarter of a second, during which a worker thread waits.
 */
#define PAUSES	       8u
#define PAUSE_FIRST_US 1000u

#define PARENTS_MAX 256 /* levels from a directory up to its export's root */

union handle {
	struct file_handle handle;
	uint8_t bytes[sizeof(struct file_handle) + HANDLE_BYTES];
};

/*
 * Opens a file by its handle. Returns a descriptor, or -1 with errno set. For a removed file the
 * kernel returns ESTALE. While the number of its inode is being assigned to a new file, the kernel
 * returns ENOMEM, as it does for a lack of memory (Linux: iget_locked() returns NULL in both
 * cases). This function retries after ENOMEM. Otherwise clients would get NFS3ERR_JUKEBOX and wait
 * for seconds.
 */
static int open_handle(const struct dir_fs *fs, union handle *h, int flags)
{
	int fd = open_by_handle_at(fs->root_fd, &h->handle, flags | O_CLOEXEC);

	for (uint32_t i = 0; i < PAUSES && fd < 0 && errno == ENOMEM; i++) {
		usleep(PAUSE_FIRST_US << i);
		fd = open_by_handle_at(fs->root_fd, &h->handle, flags | O_CLOEXEC);
	}
	return fd;
}

/*
 * Opens the parent of the directory 'dir'. Returns a descriptor or -errno: -EXDEV if the parent is
 * on another mount, or -ENOENT if 'dir' is not below the root of its mount.
 */
static int open_up(int dir)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dir, "..", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * Returns 0 if the use of the file 'fd' is allowed, -ESTALE if it is a directory that was moved out
 * of the export, or another -errno. Such a directory keeps its inode and therefore its handles. The
 * check is possible only with a private mount, because the kernel does not open ".." of a directory
 * that is not below the root of such a mount. Files that are not directories are not checked. They
 * can have names in several directories, and the kernel might know none of these directories.
 */
static int check_place(const struct dir_fs *fs, int fd)
{
	int up;

	if (!fs->is_private)
		return 0;
	up = open_up(fd);
	if (up >= 0)
		close(up);
	if (up >= 0 || up == -ENOTDIR)
		return 0;
	return up == -ENOENT ? -ESTALE : up;
}

int dir_open_id(const struct dir_fs *fs, const struct handle_id *id, int flags)
{
	union handle h = {.handle = {.handle_bytes = id->len_bytes - TYPE_BYTES}};
	int32_t type;
	int fd, rc;

	if (id->len_bytes <= TYPE_BYTES || id->len_bytes > HANDLE_ID_MAX)
		return -ESTALE;
	memcpy(&type, id->data, TYPE_BYTES);
	h.handle.handle_type = type;
	memcpy(h.handle.f_handle, id->data + TYPE_BYTES, id->len_bytes - TYPE_BYTES);
	fd = open_handle(fs, &h, flags);
	/*
	 * The kernel returns ELOOP if a directory is expected and the file is a symbolic link. NFS
	 * requires NFS3ERR_NOTDIR, which is ENOTDIR here.
	 */
	if (fd < 0)
		return errno == ELOOP && (flags & O_DIRECTORY) ? -ENOTDIR : -errno;
	rc = check_place(fs, fd);
	if (rc != 0)
		close(fd);
	return rc == 0 ? fd : rc;
}

int dir_id_of(const struct dir_fs *fs, int dir, const char *name, struct handle_id *id)
{
	union handle h = {.handle = {.handle_bytes = HANDLE_BYTES}};
	int32_t type;
	int mount;

	if (name_to_handle_at(dir, name, &h.handle, &mount, name[0] ? 0 : AT_EMPTY_PATH) != 0)
		return -errno;
	if (mount != fs->mount_id)
		return -EXDEV;
	type = h.handle.handle_type;
	memcpy(id->data, &type, TYPE_BYTES);
	memcpy(id->data + TYPE_BYTES, h.handle.f_handle, h.handle.handle_bytes);
	id->len_bytes = TYPE_BYTES + h.handle.handle_bytes;
	return 0;
}

void dir_text(const struct nfs3_name *name, char text[NFS3_NAME_MAX + 1])
{
	memcpy(text, name->data, name->len_bytes);
	text[name->len_bytes] = '\0';
}

int dir_open_name(int dir, const struct nfs3_name *name, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	char text[NFS3_NAME_MAX + 1];
	long fd;

	dir_text(name, text);
	fd = syscall(SYS_openat2, dir, text, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static bool is_root(const struct dir_fs *fs, const struct stat *st)
{
	return st->st_dev == fs->dev && st->st_ino == fs->root_ino;
}

/*
 * Returns 0 if the export's root is above the directory 'dir', -ESTALE if it is not among the first
 * PARENTS_MAX directories above, or another -errno.
 */
static int look_for_root(const struct dir_fs *fs, int dir)
{
	int at = open_up(dir), level = 1;
	struct stat st;

	while (at >= 0) {
		int up = -ESTALE, rc = fstat(at, &st) != 0 ? -errno : 0;

		if (rc == 0 && !is_root(fs, &st) && level++ < PARENTS_MAX)
			up = open_up(at);
		close(at);
		if (rc != 0 || is_root(fs, &st))
			return rc;
		at = up;
	}
	return at;
}

int dir_open_parent(const struct dir_fs *fs, int dir)
{
	struct stat st;
	int rc = 0, up;

	if (fstat(dir, &st) != 0)
		return -errno;
	if (is_root(fs, &st)) {
		up = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		return up < 0 ? -errno : up;
	}
	if (!fs->is_private)
		rc = look_for_root(fs, dir);
	up = rc == 0 ? open_up(dir) : rc;
	/* A directory that was moved out of the export has no parent in it. */
	return up == -ENOENT || up == -EXDEV ? -ESTALE : up;
}

static struct nfs3_time time_of(const struct timespec *ts)
{
	return (struct nfs3_time){(uint32_t)ts->tv_sec, (uint32_t)ts->tv_nsec};
}

static enum nfs3_ftype type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return NFS3_DIR;
	case S_IFBLK:
		return NFS3_BLK;
	case S_IFCHR:
		return NFS3_CHR;
	case S_IFLNK:
		return NFS3_LNK;
	case S_IFSOCK:
		return NFS3_SOCK;
	case S_IFIFO:
		return NFS3_FIFO;
	default:
		return NFS3_REG;
	}
}

void dir_fattr(const struct dir_fs *fs, const struct stat *st, struct nfs3_fattr *attr)
{
	*attr = (struct nfs3_fattr){
		.type = type_of(st->st_mode),
		.mode = st->st_mode & 07777,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.used = (uint64_t)st->st_blocks * 512,
		.rdev = {major(st->st_rdev), minor(st->st_rdev)},
		.fsid = fs->export->id,
		.fileid = st->st_ino,
		.atime = time_of(&st->st_atim),
		.mtime = time_of(&st->st_mtim),
		.ctime = time_of(&st->st_ctim),
	};
}

void dir_post(const struct dir_fs *fs, int fd, struct nfs3_post_op_attr *post)
{
	struct stat st;

	post->is_set = fd >= 0 && fstat(fd, &st) == 0;
	if (post->is_set)
		dir_fattr(fs, &st, &post->attr);
}

/*
 * A local file system returns attributes from memory. Other file systems, such as NFS and FUSE, can
 * ask another host or process, which might never answer. Their attributes are therefore read with
 * AT_STATX_DONT_SYNC, which returns the attributes that the kernel has. A worker thread refreshes
 * these when they are older than DIR_FRESH_NS (dir/io.c).
 */
int dir_stat(const struct dir_fs *fs, int fd, struct stat *st)
{
	struct statx x;

	if (!fs->is_remote)
		return fstat(fd, st) == 0 ? 0 : -errno;
	/* fstatat() is not used, because some kernels ignore the flag AT_STATX_DONT_SYNC for it. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x) != 0)
		return -errno;
	*st = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
		.st_size = (off_t)x.stx_size,
		.st_blksize = (blksize_t)x.stx_blksize,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_atim = {x.stx_atime.tv_sec, x.stx_atime.tv_nsec},
		.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
		.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
	};
	return 0;
}

void dir_put_attr(struct op *op, const struct stat *st)
{
	struct nfs3_post_op_attr *post = op->proc == NFS3_READ	  ? &op->res.read.attr
					 : op->proc == NFS3_WRITE ? &op->res.write.wcc.after
								  : &op->res.commit.wcc.after;

	post->is_set = true;
	dir_fattr((struct dir_fs *)op->export->fs, st, &post->attr);
}

enum nfs3_status dir_status(int error)
{
	static const struct {
		int error;
		enum nfs3_status status;
	} table[] = {
		{0, NFS3_OK},
		{EPERM, NFS3ERR_PERM},
		{ENOENT, NFS3ERR_NOENT},
		{ENXIO, NFS3ERR_NXIO},
		{EACCES, NFS3ERR_ACCES},
		{EEXIST, NFS3ERR_EXIST},
		{EXDEV, NFS3ERR_ACCES}, /* the name is on another mount, which is not exported */
		{ELOOP, NFS3ERR_ACCES},
		{ENODEV, NFS3ERR_NODEV},
		{ENOTDIR, NFS3ERR_NOTDIR},
		{EISDIR, NFS3ERR_ISDIR},
		{EINVAL, NFS3ERR_INVAL},
		{EFBIG, NFS3ERR_FBIG},
		{EOVERFLOW, NFS3ERR_FBIG},
		{ENOSPC, NFS3ERR_NOSPC},
		{EROFS, NFS3ERR_ROFS},
		{EMLINK, NFS3ERR_MLINK},
		{ENAMETOOLONG, NFS3ERR_NAMETOOLONG},
		{ENOTEMPTY, NFS3ERR_NOTEMPTY},
		{EDQUOT, NFS3ERR_DQUOT},
		{ESTALE, NFS3ERR_STALE},
		{EOPNOTSUPP, NFS3ERR_NOTSUPP},
		{ENOMEM, NFS3ERR_JUKEBOX},
		{EAGAIN, NFS3ERR_JUKEBOX},
		{EMFILE, NFS3ERR_JUKEBOX},
		{ENFILE, NFS3ERR_JUKEBOX},
		{EBUSY, NFS3ERR_ACCES},
		{ETXTBSY, NFS3ERR_ACCES}, /* the file is a program that this host executes */
	};

	for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].error == -error)
			return table[i].status;
	return NFS3ERR_IO;
}
