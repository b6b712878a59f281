/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watch over calls that take too long: a hard mount whose server is away, a FUSE file system
 * whose process hangs, a disk that does not answer. Such a call holds its thread, or its place in
 * the ring, for as long as the kernel has it. The client need not wait for that: it is answered
 * NFS3ERR_JUKEBOX, tries again after a while, and has its credits for other calls meanwhile.
 *
 *   it waits           it is taken back, whatever it is
 *   a thread has it    another struct op takes its place in the answer; what the thread brings back
 *                      is thrown away
 *   the kernel has it  its struct dir_io goes on without it; a READ's memory stays where it is, as
 *                      do a WRITE's data
 *
 * Two kinds of calls that have begun are answered at their end only. One that is not idempotent
 * would fail when it is tried again after it was carried out after all. And of a WRITE whose data
 * are in the message, the message is needed; that is so where no call has hung before, see
 * dir_is_careful(). Threads and places are divided among peers (holds.h), so these are few.
 */
#include "dir.h"
#include "op_table.h"

/* A call that a thread has. */
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
		/* A file whose caller's rights were to be decided on. */
		if (op->fs_data)
			dir_fd_put(fs, op->fs_data);
		op->fs_data = NULL;
		dir_slot_release(op);
		op_fail(op, NFS3ERR_JUKEBOX);
	} else if (!op_non_idempotent[op->proc]) {
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
	/* READLINK's memory. */
	if (op->on_sent)
		op->on_sent(op->on_sent_arg);
	op_discard(op);
}
