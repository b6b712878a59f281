/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out LOOKUP, and the procedures that make names: CREATE, MKDIR, SYMLINK, MKNOD and LINK.
 * Each new name is stable on the disk before the reply. If the call fails, the new name is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY)
#define SET_IDS	  (S_ISUID | S_ISGID)

/*
 * Returns the mode with which a new file is made, without the set-ID bits. apply_new() sets these
 * bits later.
 */
static mode_t first_mode(const struct nfs3_sattr *attr, mode_t usual)
{
	return attr->set_mode ? attr->mode & (07777 ^ SET_IDS) : usual;
}

static bool is_name(const struct nfs3_name *name, const char *text)
{
	return name->len_bytes == strlen(text) && memcmp(name->data, text, name->len_bytes) == 0;
}

/* Opens or creates a name in 'dir' as the caller. Returns a descriptor or -errno. */
static int open_as(const struct op *op, int dir, const struct nfs3_name *name, int flags,
		   mode_t mode)
{
	int fd = dir_set_creds(&op->cred);

	if (fd != 0)
		return fd;
	fd = dir_open_name(dir, name, flags, mode);
	dir_reset_creds();
	return fd;
}

enum nfs3_status dir_lookup(struct dir_fs *fs, struct op *op)
{
	const struct nfs3_name *name = &op->args.dirop.name;
	struct nfs3_lookup_res *res = &op->res.lookup;
	int dir = dir_open_id(fs, &op->id, O_PATH | O_DIRECTORY), fd, rc = 0;
	struct handle_id id;

	if (dir < 0)
		return dir_status(dir);
	dir_post(fs, dir, &res->dir_attr);
	if (is_name(name, ".") || is_name(name, "..")) {
		/*
		 * For other names the kernel checks the caller's right to search the directory when
		 * it opens the name. "." and ".." are opened as the server, so the right is checked
		 * here.
		 */
		rc = dir_check(&op->cred, dir, MAY_EXEC);
		if (rc != 0)
			fd = rc;
		else if (name->len_bytes == 2)
			fd = dir_open_parent(fs, dir);
		else if ((fd = fcntl(dir, F_DUPFD_CLOEXEC, 0)) < 0)
			fd = -errno;
	} else {
		fd = open_as(op, dir, name, O_PATH, 0);
	}
	rc = fd < 0 ? fd : dir_id_of(fs, fd, "", &id);
	if (rc == 0) {
		op_make_fh(op, &id, &res->fh);
		dir_post(fs, fd, &res->attr);
	}
	if (fd >= 0)
		close(fd);
	close(dir);
	return dir_status(rc);
}

/*
 * Fills in the results of CREATE, MKDIR, SYMLINK or MKNOD for the object 'fd'. Returns 0 or -errno.
 */
static int create_made(struct dir_fs *fs, struct op *op, int fd)
{
	struct nfs3_create_res *res = &op->res.create;
	struct handle_id id;
	int rc = dir_id_of(fs, fd, "", &id);

	if (rc != 0)
		return rc;
	res->fh.is_set = true;
	op_make_fh(op, &id, &res->fh.fh);
	dir_post(fs, fd, &res->attr);
	return 0;
}

/*
 * Sets the set-ID bits 'bits' of a new file as the caller, unless the file has them already.
 * Returns 0 or -errno.
 */
static int add_set_ids(const struct op *op, int fd, mode_t bits)
{
	char path[64];
	struct stat st;
	int rc;

	if (fstat(fd, &st) != 0)
		return -errno;
	if ((bits & ~st.st_mode) == 0 || S_ISLNK(st.st_mode))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = dir_set_creds(&op->cred);
	if (rc != 0)
		return rc;
	/* All other bits of the mode stay as they are, and so does the access control list. */
	if (chmod(path, (st.st_mode & 07777) | bits) != 0)
		rc = -errno;
	dir_reset_creds();
	return rc;
}

/*
 * Sets the attributes of a new file, except those that its caller cannot set. Returns 0 or -errno.
 * The file was made with its mode, and an inherited access control list has reduced this mode. If
 * the mode were set again, it would grant the rights that the list denies. Only the set-ID bits are
 * set here. They are set last, because the kernel clears them when the owner or the size changes.
 */
static int apply_new(struct op *op, int fd, const struct nfs3_sattr *given)
{
	struct nfs3_sattr attr = *given;
	int rc;

	if (op->cred.uid != 0) {
		attr.set_uid = false;
		attr.set_gid = attr.set_gid && cred_in_group(&op->cred, attr.gid);
	}
	attr.set_mode = false;
	rc = dir_apply(op, fd, &attr);
	return rc == 0 && given->set_mode ? add_set_ids(op, fd, given->mode & SET_IDS) : rc;
}

/*
 * Converts the verifier of an EXCLUSIVE CREATE to the access and modification times, because every
 * file system stores these (RFC 1813 section 3.3.8).
 */
static void verf_times(const uint8_t *verf, struct timespec times[2])
{
	uint32_t words[2];

	memcpy(words, verf, sizeof(words));
	times[0] = (struct timespec){.tv_sec = words[0] & 0x7fffffff};
	times[1] = (struct timespec){.tv_sec = words[1] & 0x7fffffff};
}

static int create_existing(struct dir_fs *fs, struct op *op, int fd)
{
	const struct nfs3_create_args *args = &op->args.create;
	struct timespec times[2];
	struct handle_id id;
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (args->mode == NFS3_EXCLUSIVE) {
		verf_times(args->verf, times);
		if (!S_ISREG(st.st_mode) || st.st_atim.tv_sec != times[0].tv_sec ||
		    st.st_mtim.tv_sec != times[1].tv_sec || st.st_atim.tv_nsec != 0 ||
		    st.st_mtim.tv_nsec != 0)
			return -EEXIST;
	} else if (!S_ISREG(st.st_mode)) {
		return -EEXIST;
	} else if (args->attr.set_size) {
		const struct nfs3_sattr size = {.set_size = true, .size = args->attr.size};

		rc = dir_id_of(fs, fd, "", &id);
		if (rc == 0)
			rc = dir_change(fs, op, fd, &id, &st, &size);
	}
	return rc == 0 ? create_made(fs, op, fd) : rc;
}

/*
 * Sets the size of a new file, with the descriptor that made it. The function opens no other
 * descriptor, because none might be available. Returns 0 or -errno.
 */
static int set_first_size(const struct op *op, int fd, uint64_t size)
{
	int rc = dir_set_creds(&op->cred);

	if (rc != 0)
		return rc;
	rc = ftruncate(fd, (off_t)size) == 0 ? 0 : -errno;
	dir_reset_creds();
	return rc;
}

static int create_new(struct dir_fs *fs, struct op *op, int fd)
{
	const struct nfs3_create_args *args = &op->args.create;
	struct nfs3_sattr attr = args->attr;
	struct timespec times[2];
	int rc = 0;

	if (args->mode == NFS3_EXCLUSIVE) {
		verf_times(args->verf, times);
		rc = futimens(fd, times) == 0 ? 0 : -errno;
	} else {
		if (attr.set_size && attr.size > 0)
			rc = set_first_size(op, fd, attr.size);
		attr.set_size = false;
		if (rc == 0)
			rc = apply_new(op, fd, &attr);
	}
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	return rc == 0 ? create_made(fs, op, fd) : rc;
}

static enum nfs3_status end_dir(struct dir_fs *fs, int dir, int rc, struct nfs3_wcc *wcc)
{
	dir_post(fs, dir, &wcc->after);
	close(dir);
	return dir_status(rc);
}

/*
 * Creates a file, or opens an existing one, for CREATE. Returns 0 or -errno. The values of the
 * attributes are checked first, so that no file is made if they are invalid.
 */
static int create(struct dir_fs *fs, struct op *op, int dir)
{
	const struct nfs3_create_args *args = &op->args.create;
	const struct nfs3_name *name = &args->where.name;
	bool is_exclusive = args->mode == NFS3_EXCLUSIVE;
	mode_t mode = is_exclusive ? 0600 : first_mode(&args->attr, 0600);
	struct dir_made new = dir_made_begin(dir, name, S_IFREG);
	int rc = is_exclusive ? 0 : dir_check_values(op, S_IFREG, &args->attr), fd;

	if (rc != 0)
		return rc;
	fd = open_as(op, dir, name, O_CREAT | O_EXCL | O_WRONLY, mode);
	if (fd >= 0) {
		rc = dir_made_end(fs, op, &new, fd, create_new(fs, op, fd));
	} else if (fd == -EEXIST && args->mode != NFS3_GUARDED) {
		fd = open_as(op, dir, name, O_PATH, 0);
		rc = fd < 0 ? fd : create_existing(fs, op, fd);
		if (rc == 0 && fsync(dir) != 0)
			rc = -errno;
	} else {
		rc = fd;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

enum nfs3_status dir_create(struct dir_fs *fs, struct op *op)
{
	int dir = dir_open_id(fs, &op->id, DIR_FLAGS);

	if (dir < 0)
		return dir_status(dir);
	return end_dir(fs, dir, create(fs, op, dir), &op->res.create.dir_wcc);
}

static mode_t special_mode(enum nfs3_ftype type)
{
	return type == NFS3_CHR	   ? S_IFCHR
	       : type == NFS3_BLK  ? S_IFBLK
	       : type == NFS3_SOCK ? S_IFSOCK
				   : S_IFIFO;
}

/* Makes a directory, symbolic link or special file as the caller. Returns 0 or -errno. */
static int make_as(const struct op *op, int dir, const char *name, const struct nfs3_sattr *attr)
{
	mode_t mode = first_mode(attr, op->proc == NFS3_MKDIR ? 0755 : 0644);
	enum nfs3_ftype type = op->args.mknod.type;
	char path[NFS3_PATH_MAX + 1];
	dev_t dev = 0;
	int rc;

	/* Only device files have a device number. */
	if (op->proc == NFS3_MKNOD && (type == NFS3_CHR || type == NFS3_BLK))
		dev = makedev(op->args.mknod.rdev.major, op->args.mknod.rdev.minor);
	if (op->proc == NFS3_SYMLINK) {
		if (op->data_bytes == 0 || memchr(op->data, '\0', op->data_bytes))
			return -EINVAL;
		memcpy(path, op->data, op->data_bytes);
		path[op->data_bytes] = '\0';
	}
	rc = dir_set_creds(&op->cred);
	if (rc != 0)
		return rc;
	if (op->proc == NFS3_MKDIR)
		rc = mkdirat(dir, name, mode);
	else if (op->proc == NFS3_SYMLINK)
		rc = symlinkat(path, dir, name);
	else
		rc = mknodat(dir, name, special_mode(type) | mode, dev);
	if (rc != 0)
		rc = -errno;
	dir_reset_creds();
	return rc;
}

static mode_t type_to_make(const struct op *op)
{
	return op->proc == NFS3_MKDIR	  ? S_IFDIR
	       : op->proc == NFS3_SYMLINK ? S_IFLNK
					  : special_mode(op->args.mknod.type);
}

static int create_make(struct dir_fs *fs, struct op *op, int dir)
{
	const struct nfs3_name *name = &op->args.dirop.name;
	struct nfs3_sattr attr = op->proc == NFS3_MKNOD ? op->args.mknod.attr : op->args.mkdir.attr;
	struct dir_made new = dir_made_begin(dir, name, type_to_make(op));
	int fd, rc;

	attr.set_size = false;
	rc = dir_check_values(op, new.type, &attr);
	if (rc == 0)
		rc = make_as(op, dir, new.name, &attr);
	if (rc != 0)
		return rc;
	fd = dir_made_open(fs, op, &new, name);
	rc = fd < 0 ? fd : apply_new(op, fd, &attr);
	if (rc == 0)
		rc = create_made(fs, op, fd);
	rc = dir_made_end(fs, op, &new, fd, rc);
	if (fd >= 0)
		close(fd);
	return rc;
}

enum nfs3_status dir_make_node(struct dir_fs *fs, struct op *op)
{
	enum nfs3_ftype type = op->proc == NFS3_MKNOD ? op->args.mknod.type : NFS3_DIR;
	int dir;

	if (op->proc == NFS3_MKNOD && (type == NFS3_REG || type == NFS3_DIR || type == NFS3_LNK))
		return NFS3ERR_BADTYPE;
	dir = dir_open_id(fs, &op->id, DIR_FLAGS);
	if (dir < 0)
		return dir_status(dir);
	return end_dir(fs, dir, create_make(fs, op, dir), &op->res.create.dir_wcc);
}

static int link_as(const struct op *op, int fd, int dir, const char *name)
{
	struct stat st;
	char path[64];
	int rc;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR; /* the kernel would return EPERM for a directory, which clients take
				   for a missing permission */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = dir_set_creds(&op->cred);
	if (rc == 0) {
		rc = linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
		dir_reset_creds();
	}
	return rc;
}

enum nfs3_status dir_link(struct dir_fs *fs, struct op *op)
{
	int fd = dir_open_id(fs, &op->id, O_PATH), dir, rc;
	struct dir_made new;

	if (fd < 0)
		return dir_status(fd);
	dir = dir_open_id(fs, &op->id2, DIR_FLAGS);
	if (dir < 0) {
		close(fd);
		return dir_status(dir);
	}
	new = dir_made_begin(dir, &op->args.link.link.name, S_IFREG);
	rc = link_as(op, fd, dir, new.name);
	if (rc == 0)
		rc = dir_made_end(fs, op, &new, fd, 0);
	dir_post(fs, fd, &op->res.link.attr);
	close(fd);
	return end_dir(fs, dir, rc, &op->res.link.dir_wcc);
}
