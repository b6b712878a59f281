/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: GETATTR, SETATTR, ACCESS, FSSTAT; and READLINK. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "dir.h"

enum nfs3_status dir_getattr(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return dir_status(fd);
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else
		dir_fattr(fs, &st, &op->res.getattr.attr);
	close(fd);
	return dir_status(rc);
}

static struct timespec time_for(enum nfs3_time_how how, const struct nfs3_time *time)
{
	if (how == NFS3_SET_TO_SERVER_TIME)
		return (struct timespec){0, UTIME_NOW};
	if (how == NFS3_SET_TO_CLIENT_TIME)
		return (struct timespec){time->seconds, time->nseconds};
	return (struct timespec){0, UTIME_OMIT};
}

static int set_size(const struct op *op, int fd, const char *path, const struct stat *st, uint64_t size)
{
	(void)fd;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (size > INT64_MAX)
		return -EFBIG;
	/* The owner may, whatever the mode says: opening was the client's affair. */
	if (op->cred.uid != st->st_uid && !dir_may(&op->cred, st, MAY_WRITE))
		return -EACCES;
	return truncate(path, (off_t)size) == 0 ? 0 : -errno;
}

/* As the caller. */
static int set_rest(int fd, const char *path, const struct stat *st, const struct nfs3_sattr *attr)
{
	struct timespec times[2] = {time_for(attr->atime_how, &attr->atime),
				    time_for(attr->mtime_how, &attr->mtime)};
	int rc = 0;

	if (attr->set_uid || attr->set_gid)
		rc = fchownat(fd, "", attr->set_uid ? attr->uid : (uid_t)-1,
			      attr->set_gid ? attr->gid : (gid_t)-1, AT_EMPTY_PATH);
	if (rc == 0 && attr->set_mode && !S_ISLNK(st->st_mode))
		rc = chmod(path, attr->mode & 07777);
	if (rc == 0 && (attr->atime_how != NFS3_DONT_CHANGE || attr->mtime_how != NFS3_DONT_CHANGE))
		rc = utimensat(fd, "", times, AT_EMPTY_PATH);
	return rc == 0 ? 0 : -errno;
}

int dir_apply(struct op *op, int fd, const struct nfs3_sattr *attr)
{
	char path[64];
	struct stat st;
	int rc = 0;

	if ((attr->atime_how == NFS3_SET_TO_CLIENT_TIME && attr->atime.nseconds >= 1000000000u) ||
	    (attr->mtime_how == NFS3_SET_TO_CLIENT_TIME && attr->mtime.nseconds >= 1000000000u))
		return -EINVAL;
	if (fstat(fd, &st) != 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (attr->set_size)
		rc = set_size(op, fd, path, &st, attr->size);
	if (rc == 0) {
		dir_become(&op->cred);
		rc = set_rest(fd, path, &st, attr);
		dir_become_self();
	}
	return rc;
}

/* What was changed is to outlive a crash of the host, too. */
static void make_stable(struct dir_fs *fs, const struct op *op, int fd)
{
	struct stat st;
	int real;

	if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return;
	real = dir_open_id(fs, &op->id, O_RDONLY | O_NONBLOCK);
	if (real < 0)
		return;
	fsync(real);
	close(real);
}

enum nfs3_status dir_setattr(struct dir_fs *fs, struct op *op)
{
	const struct nfs3_setattr_args *args = &op->args.setattr;
	int fd = dir_open_id(fs, &op->id, O_PATH);
	enum nfs3_status status = NFS3_OK;
	struct stat st;

	if (fd < 0)
		return dir_status(fd);
	if (fstat(fd, &st) != 0)
		status = NFS3ERR_IO;
	else if (args->is_guarded && (args->guard.seconds != (uint32_t)st.st_ctim.tv_sec ||
				      args->guard.nseconds != (uint32_t)st.st_ctim.tv_nsec))
		status = NFS3ERR_NOT_SYNC;
	if (status == NFS3_OK)
		status = dir_status(dir_apply(op, fd, &args->attr));
	if (status == NFS3_OK)
		make_stable(fs, op, fd);
	dir_post(fs, fd, &op->res.wcc.wcc.after);
	close(fd);
	return status;
}

enum nfs3_status dir_access(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH);
	uint32_t grant = 0;
	struct stat st;
	bool is_dir;

	if (fd < 0)
		return dir_status(fd);
	if (fstat(fd, &st) != 0) {
		close(fd);
		return NFS3ERR_IO;
	}
	close(fd);
	is_dir = S_ISDIR(st.st_mode);
	if (dir_may(&op->cred, &st, MAY_READ))
		grant |= NFS3_ACCESS_READ;
	if (dir_may(&op->cred, &st, MAY_EXEC))
		grant |= is_dir ? NFS3_ACCESS_LOOKUP : NFS3_ACCESS_EXECUTE;
	if (!op->export->is_read_only && dir_may(&op->cred, &st, MAY_WRITE))
		grant |= NFS3_ACCESS_MODIFY | NFS3_ACCESS_EXTEND | (is_dir ? NFS3_ACCESS_DELETE : 0);
	op->res.access.attr.is_set = true;
	dir_fattr(fs, &st, &op->res.access.attr.attr);
	op->res.access.access = op->args.access.access & grant;
	return NFS3_OK;
}

enum nfs3_status dir_fsstat(struct dir_fs *fs, struct op *op)
{
	struct nfs3_fsstat_res *res = &op->res.fsstat;
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct statvfs v;
	int rc = 0;

	if (fd < 0)
		return dir_status(fd);
	/* FSINFO and PATHCONF have their attributes at the same place. */
	dir_post(fs, fd, &res->attr);
	if (op->proc == NFS3_FSSTAT) {
		if (fstatvfs(fd, &v) == 0) {
			res->tbytes = (uint64_t)v.f_blocks * v.f_frsize;
			res->fbytes = (uint64_t)v.f_bfree * v.f_frsize;
			res->abytes = (uint64_t)v.f_bavail * v.f_frsize;
			res->tfiles = v.f_files;
			res->ffiles = v.f_ffree;
			res->afiles = v.f_favail;
		} else {
			rc = -errno;
		}
	}
	close(fd);
	return dir_status(rc);
}

/* op->item is memory for it. */
enum nfs3_status dir_readlink(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH | O_NOFOLLOW);
	struct stat st;
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return dir_status(fd);
	dir_post(fs, fd, &op->res.readlink.attr);
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (!S_ISLNK(st.st_mode))
		rc = -EINVAL;
	if (rc == 0) {
		n = readlinkat(fd, "", (char *)(uintptr_t)op->item, RAM_PAGE);
		if (n < 0)
			rc = -errno;
		else
			op->item_bytes = (uint32_t)n;
	}
	close(fd);
	return dir_status(rc);
}
