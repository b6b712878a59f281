/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps or removes the object that a call has just made. If the call fails after it has made the
 * object, the object is removed again. Otherwise the client, which learns that the call failed,
 * would try again and find that the object exists.
 *
 * Only open(2) returns a descriptor of the object that it makes. After mkdirat() and similar calls,
 * the object is opened by its name, and another process might have put another object there in the
 * meantime. The kernel does not report the inode that it has made. Therefore an object is not taken
 * for the new one in these cases:
 *
 * - it is older than the call
 * - it has another type
 * - it has an owner that a new object does not get
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"

/* File systems round the time of a file's creation down, by at most this many seconds. */
#define BIRTH_ROUNDED_S 2

struct dir_made dir_made_begin(int dir, const struct nfs3_name *name, mode_t type)
{
	struct dir_made made = {.dir = dir, .type = type};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	made.since_s = now.tv_sec;
	dir_text(name, made.name);
	return made;
}

/*
 * Returns true if the object 'x', which was found by its name, can be the object that the call has
 * made.
 */
static bool can_be_it(const struct dir_fs *fs, const struct op *op, const struct dir_made *made,
		      const struct statx *x)
{
	struct stat parent;

	if ((x->stx_mode & S_IFMT) != made->type)
		return false;
	/*
	 * Another host has its own clock, and might map root to nobody. Therefore time and owner
	 * are not compared.
	 */
	if (fs->is_remote)
		return true;
	if ((x->stx_mask & STATX_BTIME) && x->stx_btime.tv_sec + BIRTH_ROUNDED_S < made->since_s)
		return false;
	/*
	 * Some file systems give one owner to all files, so the owner of the directory is accepted
	 * as well.
	 */
	return x->stx_uid == op->cred.uid ||
	       (fstat(made->dir, &parent) == 0 && x->stx_uid == parent.st_uid);
}

int dir_made_open(const struct dir_fs *fs, const struct op *op, const struct dir_made *made,
		  const struct nfs3_name *name)
{
	int fd = dir_open_name(made->dir, name, O_PATH, 0), rc = 0;
	struct statx x;

	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &x) != 0)
		rc = -errno;
	else if (!can_be_it(fs, op, made, &x))
		rc = -EIO;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/*
 * Returns true if the name still refers to the new object. 'fd' is a descriptor of the object, or
 * negative if the call has none.
 */
static bool is_there(const struct dir_fs *fs, const struct op *op, const struct dir_made *made,
		     int fd)
{
	struct stat st, at;
	struct statx x;

	if (fd >= 0)
		return fstat(fd, &st) == 0 &&
		       fstatat(made->dir, made->name, &at, AT_SYMLINK_NOFOLLOW) == 0 &&
		       st.st_dev == at.st_dev && st.st_ino == at.st_ino;
	return statx(made->dir, made->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
		     &x) == 0 &&
	       can_be_it(fs, op, made, &x);
}

/*
 * Removes the new object. The caller's rights apply, so that no objects of others are removed.
 * Returns 0, -ESTALE if the name refers to another object, or another -errno.
 */
static int undo(const struct dir_fs *fs, const struct op *op, const struct dir_made *made, int fd)
{
	int rc;

	if (!is_there(fs, op, made, fd))
		return -ESTALE;
	rc = dir_set_creds(&op->cred);
	if (rc != 0)
		return rc;
	rc = unlinkat(made->dir, made->name, made->type == S_IFDIR ? AT_REMOVEDIR : 0) == 0
		     ? 0
		     : -errno;
	dir_reset_creds();
	if (rc == 0)
		fsync(made->dir); /* if the fsync() fails, the object might exist after a crash,
				     which is possible in any case */
	return rc;
}

int dir_made_end(const struct dir_fs *fs, const struct op *op, const struct dir_made *made, int fd,
		 int rc)
{
	if (rc == 0 && fsync(made->dir) != 0)
		rc = -errno;
	if (rc == 0 || undo(fs, op, made, fd) == 0)
		return rc;
	return dir_final(rc);
}

int dir_final(int rc)
{
	return dir_status(rc) == NFS3ERR_JUKEBOX ? -EIO : rc;
}
