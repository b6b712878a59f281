/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a client is allowed to have one more file open.
 *
 * A file counts from the time that a thread is asked to open it until a thread has closed it. That
 * includes the sync before the close and the wait for a thread, because these take longest. After a
 * call has opened one more file, its client has at most DIR_FDS_FACTOR times as many files as can
 * still be opened. A client that is alone can therefore have seven eighths of all files, and the
 * files of several clients become equal in number. For a client that has no file, it is enough that
 * one more file can be opened.
 *
 * Idle files are closed early enough that their close makes room. The file to close is the least
 * recently used one of the client that has the most.
 */
#include "dir.h"

#define DIR_FDS_FACTOR 7u

static uint32_t minus(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Returns true if a client that has 'n' files open is allowed to open 'need' more, while 'left'
 * more files can be open in total.
 */
static bool has_share(uint32_t n, uint32_t left, uint32_t need)
{
	return need <= left && (n == 0 || n + need <= DIR_FDS_FACTOR * (left - need));
}

bool dir_slot_take(struct dir_fs *fs, struct op *op)
{
	struct dir_user *own = dir_user_of(fs, &op->holder), *most = dir_user_of_most(fs), *user;
	uint32_t total = fs->nfds_max + DIR_THREADS, used = 0, staying = 0;
	bool is_full, is_allowed, has_dropped = false;

	TAILQ_FOREACH(user, &fs->users, entry)
	{
		used += user->nopen + dir_user_nclosing(user);
		staying += dir_user_nstaying(user);
	}
	if (dir_user_nstaying(most) <= dir_user_nstaying(own))
		most = own;
	is_full = !has_share(dir_user_nstaying(own), minus(total, staying), 1 + total / 10);
	if (is_full)
		has_dropped = dir_fd_drop_idle(fs, most);
	is_allowed = has_share(own->nopen + dir_user_nclosing(own), minus(total, used), 1);
	if (is_full && !has_dropped && !is_allowed)
		dir_fd_drop_idle(fs, own);
	if (!is_allowed)
		return false;
	own->nopen++;
	op->user = own;
	op->has_slot = true;
	return true;
}

void dir_slot_release(struct op *op)
{
	if (op->has_slot)
		op->user->nopen--;
	op->has_slot = false;
}

struct dir_user *dir_slot_use(struct dir_fs *fs, struct op *op)
{
	struct dir_user *user = op->has_slot ? op->user : dir_user_of(fs, &op->holder);

	user->nopen += !op->has_slot;
	op->has_slot = false;
	return user;
}
