/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF and READLINK. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "proc.h"

enum nfs3_status dir_getattr(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return dir_status(fd);
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (st.st_nlink == 0)
		rc = -ESTALE; /* the file was removed, so it does not exist for clients, even if a
				 process still has it open */
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

static bool sets_time(const struct nfs3_sattr *attr, enum nfs3_time_how how)
{
	return attr->atime_how == how || attr->mtime_how == how;
}

static bool sets_nothing(const struct nfs3_sattr *attr)
{
	return !attr->set_mode && !attr->set_uid && !attr->set_gid && !attr->set_size &&
	       attr->atime_how == NFS3_DONT_CHANGE && attr->mtime_how == NFS3_DONT_CHANGE;
}

int dir_check_values(const struct op *op, mode_t type, const struct nfs3_sattr *attr)
{
	if ((attr->atime_how == NFS3_SET_TO_CLIENT_TIME && attr->atime.nseconds >= 1000000000u) ||
	    (attr->mtime_how == NFS3_SET_TO_CLIENT_TIME && attr->mtime.nseconds >= 1000000000u))
		return -EINVAL;
	if (!attr->set_size)
		return 0;
	if (S_ISDIR(type))
		return -EISDIR;
	if (!S_ISREG(type))
		return -EINVAL;
	return attr->size > ((const struct dir_fs *)op->export->fs)->file_max ? -EFBIG : 0;
}

/*
 * Checks the caller's right to set the attributes. Returns 0 or -errno. The check precedes the open
 * of the file. The server opens the file as root, and an open breaks the leases of other processes,
 * so a caller without the right must not cause an open. The kernel makes the final decision on a
 * new owner and on a mode, because they are set as the caller.
 */
static int may_set(const struct op *op, int fd, const struct stat *st,
		   const struct nfs3_sattr *attr)
{
	/*
	 * The owner is allowed to write, whatever the mode says, because the client checked the
	 * mode when it opened the file.
	 */
	if (dir_is_exempt(op, st))
		return 0;
	if (attr->set_mode || attr->set_uid || attr->set_gid ||
	    sets_time(attr, NFS3_SET_TO_CLIENT_TIME))
		return -EPERM;
	return sets_nothing(attr) ? 0 : dir_check(&op->cred, fd, MAY_WRITE);
}

/*
 * Sets the size. Returns 0 or -errno. The file is opened as the server, because its mode might deny
 * access to the owner. It is truncated as the caller, so that the kernel clears set-user-ID and
 * set-group-ID bits as usual.
 */
static int set_size(const struct op *op, const char *path, uint64_t size)
{
	int fd = dir_open_path(path, O_WRONLY), rc;

	if (fd < 0)
		return fd;
	rc = dir_set_creds(&op->cred);
	if (rc == 0) {
		rc = ftruncate(fd, (off_t)size) == 0 ? 0 : -errno;
		dir_reset_creds();
	}
	close(fd);
	return rc;
}

/* Sets the owner and the group as the caller. Returns 0 or -errno. */
static int set_owner(const struct op *op, int fd, const struct nfs3_sattr *attr)
{
	int rc;

	if (!attr->set_uid && !attr->set_gid)
		return 0;
	rc = dir_set_creds(&op->cred);
	if (rc != 0)
		return rc;
	if (fchownat(fd, "", attr->set_uid ? attr->uid : (uid_t)-1,
		     attr->set_gid ? attr->gid : (gid_t)-1, AT_EMPTY_PATH) != 0)
		rc = -errno;
	dir_reset_creds();
	return rc;
}

/* Sets the mode as the caller. Returns 0 or -errno. A symbolic link has no mode to set. */
static int set_mode(const struct op *op, const char *path, const struct stat *st,
		    const struct nfs3_sattr *attr)
{
	int rc;

	if (!attr->set_mode || S_ISLNK(st->st_mode))
		return 0;
	rc = dir_set_creds(&op->cred);
	if (rc != 0)
		return rc;
	if (chmod(path, attr->mode & 07777) != 0)
		rc = -errno;
	dir_reset_creds();
	return rc;
}

/*
 * Sets the times as the server. Returns 0 or -errno. As the caller, a user who may write but is not
 * the owner could only set both times to the present, and not one of them.
 */
static int set_times(int fd, const struct nfs3_sattr *attr)
{
	const struct timespec times[2] = {time_for(attr->atime_how, &attr->atime),
					  time_for(attr->mtime_how, &attr->mtime)};

	if (attr->atime_how == NFS3_DONT_CHANGE && attr->mtime_how == NFS3_DONT_CHANGE)
		return 0;
	return utimensat(fd, "", times, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

static int attr_check(const struct op *op, int fd, const struct stat *st,
		      const struct nfs3_sattr *attr)
{
	int rc = dir_check_values(op, st->st_mode, attr);

	return rc == 0 ? may_set(op, fd, st, attr) : rc;
}

/*
 * Applies attributes that attr_check() has allowed. Returns 0 or -errno. Owner and group are set
 * before the size, because the kernel can still refuse them. The mode is set after the size,
 * because truncation clears set-user-ID bits.
 */
static int attr_apply(const struct op *op, int fd, const struct stat *st,
		      const struct nfs3_sattr *attr)
{
	char path[64];
	int rc = set_owner(op, fd, attr);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (rc == 0 && attr->set_size)
		rc = set_size(op, path, attr->size);
	if (rc == 0)
		rc = set_mode(op, path, st, attr);
	return rc == 0 ? set_times(fd, attr) : rc;
}

int dir_apply(const struct op *op, int fd, const struct nfs3_sattr *attr)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) != 0)
		return -errno;
	rc = attr_check(op, fd, &st, attr);
	return rc == 0 ? attr_apply(op, fd, &st, attr) : rc;
}

int dir_change(struct dir_fs *fs, struct op *op, int fd, const struct handle_id *id,
	       const struct stat *st, const struct nfs3_sattr *attr)
{
	int dir, rc = attr_check(op, fd, st, attr);

	if (rc != 0 || sets_nothing(attr))
		return rc;
	rc = dir_stable_begin(fs, op, st, id, &dir);
	return rc == 0 ? dir_stable_end(dir, attr_apply(op, fd, st, attr)) : rc;
}

enum nfs3_status dir_setattr(struct dir_fs *fs, struct op *op)
{
	const struct nfs3_setattr_args *args = &op->args.setattr;
	int fd = dir_open_id(fs, &op->id, O_PATH);
	enum nfs3_status status;
	struct stat st;

	if (fd < 0)
		return dir_status(fd);
	if (fstat(fd, &st) != 0)
		status = NFS3ERR_IO;
	else if (args->is_guarded && (args->guard.seconds != (uint32_t)st.st_ctim.tv_sec ||
				      args->guard.nseconds != (uint32_t)st.st_ctim.tv_nsec))
		status = NFS3ERR_NOT_SYNC;
	else
		status = dir_status(dir_change(fs, op, fd, &op->id, &st, &args->attr));
	dir_post(fs, fd, &op->res.wcc.wcc.after);
	close(fd);
	return status;
}

enum nfs3_status dir_access(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct stat st;
	int rc;

	if (fd < 0)
		return dir_status(fd);
	rc = fstat(fd, &st) != 0 ? -errno : dir_set_creds(&op->cred);
	if (rc == 0) {
		uint32_t is_dir = S_ISDIR(st.st_mode);
		struct cred_rights rights = {
			.can_read = dir_ask(fd, MAY_READ) == 0,
			.can_exec = dir_ask(fd, MAY_EXEC) == 0,
			.can_change = dir_ask(fd, cred_change(is_dir)) == 0,
		};

		dir_reset_creds();
		op->res.access.attr.is_set = true;
		dir_fattr(fs, &st, &op->res.access.attr.attr);
		op->res.access.access =
			op->args.access.access & cred_access(&rights, is_dir, op->is_read_only);
	}
	close(fd);
	return dir_status(rc);
}

enum nfs3_status dir_fsstat(struct dir_fs *fs, struct op *op)
{
	struct nfs3_fsstat_res *res = &op->res.fsstat;
	int fd = dir_open_id(fs, &op->id, O_PATH);
	struct statvfs v;
	int rc = 0;

	if (fd < 0)
		return dir_status(fd);
	/*
	 * res->attr is also the attributes of FSINFO and PATHCONF, which are at the same offset in
	 * op->res.
	 */
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

/* Reads the path of a symbolic link to op->item. dir_link_begin() has allocated this memory. */
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
		n = readlinkat(fd, "", (char *)(uintptr_t)op->item, BLOCK_POOL_PAGE);
		if (n < 0)
			rc = -errno;
		else
			op->item_bytes = (uint32_t)n;
	}
	close(fd);
	return dir_status(rc);
}
