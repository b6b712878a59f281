/* SPDX-License-Identifier: BSD-3-Clause */
/* Retries calls that wait, round-robin over their clients. */
#include "dir.h"

#define RETRY_POLLS 16u

/*
 * Retries the first waiting call of a client. Returns true if the call continued. Returns false if
 * the client has no waiting call, or if the call waits again. It is then the last of the client's
 * waiting calls.
 */
static bool retry(struct dir_fs *fs, struct dir_user *user)
{
	struct op *op = TAILQ_FIRST(&user->waiting);
	uint32_t before = fs->nwaits;

	if (!op)
		return false;
	dir_wait_end(fs, op);
	dir_resume(fs, op);
	return fs->nwaits == before;
}

uint32_t dir_wait_retry(struct dir_fs *fs)
{
	struct dir_user *user, *last, *next;
	uint32_t n = 0;

	/*
	 * Calls are retried if a resource was released, and otherwise only in every RETRY_POLLS-th
	 * poll. Without this limit, calls that wait for a resource that a peer does not release
	 * would cost time in each poll.
	 */
	if (fs->nwaiting == 0 || (!fs->has_room && fs->npolls % RETRY_POLLS != 0))
		return 0;
	fs->has_room = false;
	last = TAILQ_LAST(&fs->users, dir_user_list);
	for (user = TAILQ_FIRST(&fs->users);; user = next) {
		bool is_last = user == last;

		next = TAILQ_NEXT(user, entry);
		if (retry(fs, user)) {
			/*
			 * The client is moved to the end of the list, so that other clients are
			 * first in the next round.
			 */
			TAILQ_REMOVE(&fs->users, user, entry);
			TAILQ_INSERT_TAIL(&fs->users, user, entry);
			n++;
		}
		if (is_last)
			break;
	}
	fs->has_room |= n > 0; /* there might be enough resources for further calls */
	return n;
}
