/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a call, on the poller:
 *
 *   dir_start()    READ, WRITE and COMMIT go to dir/io.c, which has a thread open the file if it is
 *                  not open; all other calls go to a thread
 *   dir_resume()   a call that has waited is tried again
 *   dir_worked()   a call that a thread has carried out is answered, or continues in dir/io.c
 */
#include "dir.h"

/*
 * Returns true if the call changes attributes of an object that the poller syncs afterwards. The
 * thread opens that object for the sync, see dir_stable_begin(), so the call needs a slot for an
 * open file.
 */
static bool is_change(const struct op *op)
{
	return op->proc == NFS3_SETATTR ||
	       (op->proc == NFS3_CREATE && op->args.create.mode == NFS3_UNCHECKED &&
		op->args.create.attr.set_size);
}

void dir_resume(struct dir_fs *fs, struct op *op)
{
	if (dir_is_transfer(op))
		dir_transfer(fs, op);
	else if (dir_slot_take(fs, op))
		dir_work(fs, op);
	else
		dir_wait(fs, op);
}

void dir_worked(struct weir_engine *engine, void *arg)
{
	struct op *op = arg;
	struct dir_fs *fs = (struct dir_fs *)op->export->fs;

	(void)engine;
	fs->nworking--;
	if (op->fs_state == DIR_ANSWERED) {
		dir_watch_returned(fs, op);
		return;
	}
	if (dir_is_transfer(op)) {
		dir_opened(fs, op);
		return;
	}
	if (op->res.status == NFS3_OK && op->fs_data) {
		dir_sync_then_reply(fs, op);
		return;
	}
	if (op->fs_data)
		/* the change failed, so the file needs no sync */
		dir_fd_discard(fs, dir_slot_use(fs, op), op->fs_data);
	dir_slot_release(op);
	/* The file that has lost a name might have been removed. Such a file must not stay open. */
	if (op->res.status == NFS3_OK && (op->proc == NFS3_REMOVE || op->proc == NFS3_RENAME))
		dir_fd_forget(fs, &op->holder, &op->id2);
	dir_done(fs, op);
}

void dir_start(struct fs *fs_, struct op *op)
{
	struct dir_fs *fs = (struct dir_fs *)fs_;

	dir_watch_begin(fs, op);
	if (dir_is_transfer(op) || is_change(op))
		dir_resume(fs, op);
	else if (op->proc == NFS3_READLINK && !dir_link_begin(fs, op))
		dir_fail(fs, op, NFS3ERR_JUKEBOX);
	else
		dir_work(fs, op);
}
