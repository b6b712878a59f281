/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of an export, for what is divided among them on the poller: open files, and turns of
 * the calls that wait. A client is known here while it has either.
 *
 * A file counts from the time that a thread is asked to open it until a thread has closed it. The
 * sync before the close and the wait for a thread are part of that, as they take longest. After a
 * call has opened one more file, its client has at most DIR_FDS_FACTOR times as many as are left.
 * So a client that is alone has seven eighths of all, and the files of several clients become
 * equally many. A client that has none needs only that one is left.
 *
 * A file that nobody uses leaves early enough that its close makes room. It is one of the client
 * that has the most, the one that it used least recently.
 */
#include <stdlib.h>

#include "dir.h"

#define DIR_FDS_FACTOR 7u
#define RETRY_POLLS    16u

static void init_user(struct dir_fs *fs, struct dir_user *user)
{
	TAILQ_INIT(&user->by_age);
	TAILQ_INIT(&user->waiting);
	TAILQ_INSERT_TAIL(&fs->users, user, entry);
}

void dir_users_init(struct dir_fs *fs)
{
	TAILQ_INIT(&fs->users);
	init_user(fs, &fs->rest);
}

struct dir_user *dir_user_of(struct dir_fs *fs, const struct holder *holder)
{
	struct dir_user *user;

	TAILQ_FOREACH(user, &fs->users, entry)
	if (client_key_equal(&user->client, &holder->client) && user != &fs->rest)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return &fs->rest;
	user->client = holder->client;
	init_user(fs, user);
	return user;
}

static uint32_t nclosing(const struct dir_user *user)
{
	return atomic_load_explicit(&user->nclosing, memory_order_acquire);
}

void dir_users_tick(struct dir_fs *fs)
{
	struct dir_user *user = TAILQ_FIRST(&fs->users);

	while (user) {
		struct dir_user *next = TAILQ_NEXT(user, entry);

		if (user->nopen == 0 && nclosing(user) == 0 && TAILQ_EMPTY(&user->waiting) &&
		    user != &fs->rest) {
			TAILQ_REMOVE(&fs->users, user, entry);
			free(user);
		}
		user = next;
	}
}

void dir_users_free(struct dir_fs *fs)
{
	struct dir_user *user;

	while ((user = TAILQ_FIRST(&fs->users))) {
		TAILQ_REMOVE(&fs->users, user, entry);
		if (user != &fs->rest)
			free(user);
	}
}

/* ---- open files ---- */

/* Those that are not about to be closed. */
static uint32_t nstaying(const struct dir_user *user)
{
	return user->nopen - user->nleaving;
}

static uint32_t minus(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

/* May a client that has 'n' open 'need' more, of 'left'? */
static bool has_share(uint32_t n, uint32_t left, uint32_t need)
{
	return need <= left && (n == 0 || n + need <= DIR_FDS_FACTOR * (left - need));
}

struct dir_user *dir_user_of_most(struct dir_fs *fs)
{
	struct dir_user *user, *most = TAILQ_FIRST(&fs->users);

	TAILQ_FOREACH(user, &fs->users, entry)
	if (nstaying(user) > nstaying(most))
		most = user;
	return most;
}

bool dir_slot_take(struct dir_fs *fs, struct op *op)
{
	struct dir_user *own = dir_user_of(fs, &op->holder), *most = dir_user_of_most(fs), *user;
	uint32_t total = fs->nfds_max + DIR_THREADS, used = 0, staying = 0;
	bool is_full, is_allowed, has_dropped = false;

	TAILQ_FOREACH(user, &fs->users, entry)
	{
		used += user->nopen + nclosing(user);
		staying += nstaying(user);
	}
	if (nstaying(most) <= nstaying(own))
		most = own;
	is_full = !has_share(nstaying(own), minus(total, staying), 1 + total / 10);
	if (is_full)
		has_dropped = dir_fd_drop_idle(fs, most);
	is_allowed = has_share(own->nopen + nclosing(own), minus(total, used), 1);
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

/* ---- calls that wait ---- */

void dir_wait(struct dir_fs *fs, struct op *op)
{
	op->is_decided = false; /* it may wait for long */
	op->fs_state = DIR_WAITING;
	op->user = dir_user_of(fs, &op->holder);
	TAILQ_INSERT_TAIL(&op->user->waiting, op, entry);
	fs->nwaiting++;
	fs->nwaits++;
}

void dir_wait_end(struct dir_fs *fs, struct op *op)
{
	TAILQ_REMOVE(&op->user->waiting, op, entry);
	fs->nwaiting--;
}

/* Returns whether the client's first call could go on. If not, it is the last now. */
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

	/* Calls that wait for what a peer does not give back would cost each poll something. */
	if (fs->nwaiting == 0 || (!fs->has_room && fs->npolls % RETRY_POLLS != 0))
		return 0;
	fs->has_room = false;
	last = TAILQ_LAST(&fs->users, dir_user_list);
	for (user = TAILQ_FIRST(&fs->users);; user = next) {
		bool is_last = user == last;

		next = TAILQ_NEXT(user, entry);
		if (retry(fs, user)) {
			/* Others come first at the next time. */
			TAILQ_REMOVE(&fs->users, user, entry);
			TAILQ_INSERT_TAIL(&fs->users, user, entry);
			n++;
		}
		if (is_last)
			break;
	}
	fs->has_room |= n > 0; /* they did not need all of it */
	return n;
}
