/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers calls that take too long: a hard mount whose server is down, a FUSE file system whose
 * process hangs, a disk that does not answer. Such a call occupies its thread, or its share of the
 * ring, for as long as the kernel has it. The client need not wait for that: it gets
 * NFS3ERR_JUKEBOX, tries again after a while, and can use its credits for other calls meanwhile.
 *
 *   it waits           the call is taken back, whatever its procedure
 *   a thread has it    another struct op is answered in its place; the thread's results are dropped
 *   the kernel has it  its struct dir_io continues without it; the memory of a READ and the data of
 *                      a WRITE stay where they are
 *
 * Two kinds of calls that have begun are answered only at their end:
 *
 * - Calls that are not idempotent. If such a call were carried out after all, the client's second
 *   try would fail.
 * - A WRITE whose data are in the message, because the message is still needed. This can happen
 *   only while no call has hung, see dir_is_careful().
 *
 * These are few, because threads and calls in the kernel are divided among peers (holds.h).
 */
#include "dir.h"

/* Answers a call that a thread has, by another op. The thread keeps the old op. */
static void answer_for(struct op *op)
{
	struct op *other = op_replace(op);

	if (!other)
		return;
	op->fs_state = DIR_ANSWERED;
	op_fail(other, NFS3ERR_JUKEBOX);
}

static void on_working(struct dir_fs *fs, struct op *op)
{
	if (dir_work_cancel(fs, op)) {
		/* The call held a reference to the file for the decision on the caller's rights. */
		if (op->fs_data)
			dir_fd_put(fs, op->fs_data);
		op->fs_data = NULL;
		dir_slot_release(op);
		op_fail(op, NFS3ERR_JUKEBOX);
	} else if (!nfs3_v3_non_idempotent[op->proc]) {
		answer_for(op);
	}
}

static void on_overdue(struct dir_fs *fs, struct op *op)
{
	dir_watch_end(fs, op);
	switch (op->fs_state) {
	case DIR_WAITING:
		dir_wait_end(fs, op);
		op_fail(op, NFS3ERR_JUKEBOX);
		break;
	case DIR_WORKING:
		on_working(fs, op);
		break;
	case DIR_BEHIND:
		dir_io_give_up(fs, op);
		op_fail(op, NFS3ERR_JUKEBOX);
		break;
	case DIR_IN_RING:
		dir_io_let_go(op);
		op_fail(op, NFS3ERR_JUKEBOX);
		break;
	default:
		break;
	}
}

void dir_watch_tick(struct dir_fs *fs)
{
	struct op *op = TAILQ_FIRST(&fs->watched);

	if (op && fs->now_ns - op->started_ns >= DIR_SLOW_NS)
		fs->careful_until_ns = fs->now_ns + DIR_CAREFUL_NS;
	while ((op = TAILQ_FIRST(&fs->watched)) && fs->now_ns - op->started_ns >= DIR_OVERDUE_NS)
		on_overdue(fs, op);
}

void dir_watch_returned(struct dir_fs *fs, struct op *op)
{
	struct dir_fd *file = op->fs_data;

	if (file && file->refs > 0)
		dir_fd_put(fs, file);
	else if (file)
		dir_fd_discard(fs, dir_slot_use(fs, op), file);
	dir_slot_release(op);
	/* This releases the memory for the path of a READLINK. */
	if (op->on_sent)
		op->on_sent(op->on_sent_arg);
	op_discard(op);
}
