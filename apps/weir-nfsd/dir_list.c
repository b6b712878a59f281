/* SPDX-License-Identifier: BSD-3-Clause */
/* READDIR and READDIRPLUS. Cookies are the file system's own offsets, which it keeps for as long as it can. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dir.h"

#define LIST_BYTES 16384u

/* As getdents64() has it. */
struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * What READDIRPLUS adds, as the caller: nothing if the caller may not search the directory, and nothing for what is mounted
 * here, or for "..", which may be outside.
 */
static void add_attr(struct dir_fs *fs, struct op *op, int dir, struct nfs3_entry *entry)
{
	struct handle_id id;
	struct stat st;
	int fd = dir_open_name(dir, &entry->name, O_PATH, 0);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && dir_id_of(fs, fd, "", &id) == 0) {
		entry->attr.is_set = entry->fh.is_set = true;
		dir_fattr(fs, &st, &entry->attr.attr);
		op_make_fh(op, &id, &entry->fh.fh);
	}
	close(fd);
}

static bool put(struct dir_fs *fs, struct op *op, int dir, bool is_root, const struct kernel_dirent *d)
{
	size_t len = strlen(d->name);
	struct nfs3_entry entry = {.fileid = d->ino, .cookie = (uint64_t)d->off};

	if (len > NFS3_NAME_MAX)
		return true; /* it could not be named by a client */
	/* The root is its own parent, as far as clients see. */
	if (is_root && strcmp(d->name, "..") == 0)
		entry.fileid = fs->root_ino;
	entry.name.len_bytes = (uint32_t)len;
	memcpy(entry.name.data, d->name, len);
	if (op->proc == NFS3_READDIRPLUS && !is_dots(d->name))
		add_attr(fs, op, dir, &entry);
	return op_entry(op, &entry);
}

static int list(struct dir_fs *fs, struct op *op, int dir, bool is_root)
{
	_Alignas(struct kernel_dirent) uint8_t buf[LIST_BYTES];

	if (op->args.readdir.cookie > INT64_MAX ||
	    lseek(dir, (off_t)op->args.readdir.cookie, SEEK_SET) == (off_t)-1)
		return -EINVAL;
	for (;;) {
		long n = syscall(SYS_getdents64, dir, buf, sizeof(buf));

		if (n < 0)
			return -errno;
		if (n == 0) {
			op->eof = true;
			return 0;
		}
		for (long at = 0; at < n;) {
			const struct kernel_dirent *d = (const void *)(buf + at);

			if (!put(fs, op, dir, is_root, d))
				return 0;
			at += d->len;
		}
	}
}

/* Cookies are of no version of the directory: the verifier is zero always. */
static bool is_verf_good(const struct nfs3_readdir_args *args)
{
	static const uint8_t zero[NFS3_VERF_BYTES];

	return args->cookie == 0 || memcmp(args->verf, zero, sizeof(zero)) == 0;
}

enum nfs3_status dir_readdir(struct dir_fs *fs, struct op *op)
{
	int dir = dir_open_id(fs, &op->id, O_RDONLY | O_DIRECTORY), rc;
	enum nfs3_status status;
	struct stat st;

	if (dir < 0)
		return dir_status(dir);
	dir_post(fs, dir, &op->res.readdir.dir_attr);
	rc = fstat(dir, &st) != 0 ? -errno : dir_check(&op->cred, dir, MAY_READ);
	if (rc != 0)
		status = dir_status(rc);
	else if (!is_verf_good(&op->args.readdir))
		status = NFS3ERR_BAD_COOKIE;
	else
		status = op_entries_begin(op);
	if (status == NFS3_OK) {
		rc = dir_become(&op->cred);
		if (rc == 0) {
			rc = list(fs, op, dir, st.st_ino == fs->root_ino && st.st_dev == fs->dev);
			dir_become_self();
		}
		status = rc == -EINVAL ? NFS3ERR_BAD_COOKIE : dir_status(rc);
	}
	close(dir);
	return status;
}
