/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and answers a call. Between these two steps, the call is in the list fs->watched, which
 * dir/watch.c checks for calls that take too long.
 */
#include "dir.h"

void dir_watch_begin(struct dir_fs *fs, struct op *op)
{
	op->started_ns = fs->now_ns;
	op->is_watched = true;
	TAILQ_INSERT_TAIL(&fs->watched, op, watched);
}

void dir_watch_end(struct dir_fs *fs, struct op *op)
{
	if (op->is_watched)
		TAILQ_REMOVE(&fs->watched, op, watched);
	op->is_watched = false;
}

void dir_done(struct dir_fs *fs, struct op *op)
{
	dir_watch_end(fs, op);
	op_done(op);
}

void dir_fail(struct dir_fs *fs, struct op *op, enum nfs3_status status)
{
	dir_watch_end(fs, op);
	op_fail(op, status);
}
