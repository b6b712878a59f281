/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * READDIR and READDIRPLUS. Cookies are the file system's own offsets, which it keeps for as long as
 * it can; or see dir/list_sorted.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "list.h"

#define LIST_BYTES 16384u

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Add what READDIRPLUS has in addition. The name is opened as the caller, so that there is nothing
 * to add if the caller may not search the directory, or if something is mounted on the name.
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

bool listing_put(struct listing *list, const char *name, uint64_t ino, uint64_t cookie)
{
	struct nfs3_entry entry = {.fileid = ino, .cookie = cookie};

	/* The root is its own parent, as far as clients see. */
	if (list->is_root && strcmp(name, "..") == 0)
		entry.fileid = list->fs->root_ino;
	entry.name.len_bytes = (uint32_t)strlen(name);
	memcpy(entry.name.data, name, entry.name.len_bytes);
	if (list->op->proc == NFS3_READDIRPLUS && !is_dots(name))
		add_attr(list->fs, list->op, list->dir, &entry);
	return op_entry(list->op, &entry);
}

static bool put(struct listing *list, const struct kernel_dirent *d, void *arg)
{
	(void)arg;
	if (strlen(d->name) > NFS3_NAME_MAX)
		return true; /* it could not be named by a client */
	return listing_put(list, d->name, d->ino, (uint64_t)d->off);
}

int listing_each(struct listing *list,
		 bool (*take)(struct listing *list, const struct kernel_dirent *d, void *arg),
		 void *arg)
{
	_Alignas(struct kernel_dirent) uint8_t buf[LIST_BYTES];

	for (;;) {
		long n = syscall(SYS_getdents64, list->dir, buf, sizeof(buf));

		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (long at = 0; at < n;) {
			const struct kernel_dirent *d = (const void *)(buf + at);

			if (!take(list, d, arg))
				return 1;
			at += d->len;
		}
	}
}

/* By the file system's offsets. */
static int list_as_is(struct listing *list)
{
	uint64_t cookie = list->op->args.readdir.cookie;
	int rc;

	if (cookie > INT64_MAX || lseek(list->dir, (off_t)cookie, SEEK_SET) == (off_t)-1)
		return -EINVAL;
	rc = listing_each(list, put, NULL);
	list->op->eof = rc == 0;
	return rc < 0 ? rc : 0;
}

/* Cookies are of no version of the directory: the verifier is zero always. */
static bool is_verf_good(const struct nfs3_readdir_args *args)
{
	static const uint8_t zero[NFS3_VERF_BYTES];

	return args->cookie == 0 || memcmp(args->verf, zero, sizeof(zero)) == 0;
}

/*
 * Open the directory for reading, if the caller may list it. The right is checked first, because
 * the server opens it as root, and a file system of another process may take its time over an open.
 * Returns a descriptor or -errno.
 */
static int open_dir(const struct dir_fs *fs, struct op *op)
{
	int at = dir_open_id(fs, &op->id, O_PATH | O_DIRECTORY), dir;

	if (at < 0)
		return at;
	dir_post(fs, at, &op->res.readdir.dir_attr);
	dir = dir_check(&op->cred, at, MAY_READ);
	if (dir == 0) {
		dir = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		dir = dir < 0 ? -errno : dir;
	}
	close(at);
	return dir;
}

enum nfs3_status dir_readdir(struct dir_fs *fs, struct op *op)
{
	int dir = open_dir(fs, op), rc;
	enum nfs3_status status;
	struct stat st;

	if (dir < 0)
		return dir_status(dir);
	rc = fstat(dir, &st) != 0 ? -errno : 0;
	if (rc != 0)
		status = dir_status(rc);
	else if (!is_verf_good(&op->args.readdir))
		status = NFS3ERR_BAD_COOKIE;
	else
		status = op_entries_begin(op);
	if (status == NFS3_OK) {
		rc = dir_set_creds(&op->cred);
		if (rc == 0) {
			struct listing list = {fs, op, dir,
					       st.st_ino == fs->root_ino && st.st_dev == fs->dev};

			rc = fs->is_unsteady ? listing_sorted(&list) : list_as_is(&list);
			dir_reset_creds();
		}
		status = rc == -EINVAL ? NFS3ERR_BAD_COOKIE : dir_status(rc);
	}
	close(dir);
	return status;
}
