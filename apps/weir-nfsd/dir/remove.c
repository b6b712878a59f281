/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out the procedures that remove or move names: REMOVE, RMDIR and RENAME. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "proc.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY)

/*
 * Sets *victim, which is op->id2, to the id of the file that is about to lose its name, so that the
 * poller can close this file. Sets the length to 0 if there is no such file.
 */
static void note_victim(const struct dir_fs *fs, int dir, const char *name,
			struct handle_id *victim)
{
	if (dir_id_of(fs, dir, name, victim) != 0)
		victim->len_bytes = 0;
}

enum nfs3_status dir_remove(struct dir_fs *fs, struct op *op)
{
	int dir = dir_open_id(fs, &op->id, DIR_FLAGS), rc;
	char text[NFS3_NAME_MAX + 1];

	op->id2.len_bytes = 0;
	if (dir < 0)
		return dir_status(dir);
	dir_text(&op->args.dirop.name, text);
	note_victim(fs, dir, text, &op->id2);
	rc = dir_set_creds(&op->cred);
	if (rc == 0) {
		rc = unlinkat(dir, text, op->proc == NFS3_RMDIR ? AT_REMOVEDIR : 0) == 0 ? 0
											 : -errno;
		dir_reset_creds();
	}
	if (rc == 0 && fsync(dir) != 0)
		rc = dir_final(-errno);
	dir_post(fs, dir, &op->res.wcc.wcc.after);
	close(dir);
	/* Some file systems report EEXIST for a directory that is not empty. */
	return rc == -EEXIST ? NFS3ERR_NOTEMPTY : dir_status(rc);
}

enum nfs3_status dir_rename(struct dir_fs *fs, struct op *op)
{
	char from[NFS3_NAME_MAX + 1], to[NFS3_NAME_MAX + 1];
	int from_dir = dir_open_id(fs, &op->id, DIR_FLAGS), to_dir, rc;

	if (from_dir < 0)
		return dir_status(from_dir);
	to_dir = dir_open_id(fs, &op->id2, DIR_FLAGS);
	op->id2.len_bytes = 0;
	if (to_dir < 0) {
		close(from_dir);
		return dir_status(to_dir);
	}
	dir_text(&op->args.rename.from.name, from);
	dir_text(&op->args.rename.to.name, to);
	note_victim(fs, to_dir, to, &op->id2);
	rc = dir_set_creds(&op->cred);
	if (rc == 0) {
		rc = renameat(from_dir, from, to_dir, to) == 0 ? 0 : -errno;
		dir_reset_creds();
	}
	if (rc == 0 && (fsync(to_dir) != 0 || fsync(from_dir) != 0))
		rc = dir_final(-errno);
	dir_post(fs, from_dir, &op->res.rename.from_wcc.after);
	dir_post(fs, to_dir, &op->res.rename.to_wcc.after);
	close(to_dir);
	close(from_dir);
	return rc == -ENOTDIR || rc == -EISDIR ? NFS3ERR_EXIST : dir_status(rc);
}
