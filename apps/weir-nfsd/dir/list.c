/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out READDIR and READDIRPLUS. Cookies are the file system's own offsets, which the file
 * system keeps for as long as it can. For file systems that do not keep their offsets, see
 * dir/list_sorted.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "list.h"

static bool list_put(struct listing *list, const struct kernel_dirent *d, void *arg)
{
	(void)arg;
	if (strlen(d->name) > NFS3_NAME_MAX)
		return true; /* such a name is left out, because no client could use it */
	return listing_put(list, d->name, d->ino, (uint64_t)d->off);
}

/*
 * Lists a directory from the cookie on, with the file system's offsets as cookies. Returns 0 or
 * -errno, which is -EINVAL for an invalid cookie.
 */
static int list_as_is(struct listing *list)
{
	uint64_t cookie = list->op->args.readdir.cookie;
	int rc;

	if (cookie > INT64_MAX || lseek(list->dir, (off_t)cookie, SEEK_SET) == (off_t)-1)
		return -EINVAL;
	rc = listing_each(list, list_put, NULL);
	list->op->eof = rc == 0;
	return rc < 0 ? rc : 0;
}

/*
 * Returns true if the client's verifier is valid: it is zero, or the listing starts. The server's
 * verifier is always zero, because cookies do not depend on the version of the directory.
 */
static bool is_verf_good(const struct nfs3_readdirplus_args *args)
{
	static const uint8_t zero[NFS3_VERF_BYTES];

	return args->cookie == 0 || memcmp(args->verf, zero, sizeof(zero)) == 0;
}

/*
 * Opens the directory for reading if the caller has the right to list it. The right is checked
 * first, because the server opens the directory as root, and a file system of another process can
 * delay an open. Returns a descriptor or -errno.
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
