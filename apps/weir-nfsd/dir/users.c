/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of an export. The poller divides the open files, and the retries of waiting calls,
 * among the clients. A client is in fs->users while it has open files or waiting calls.
 */
#include <stdlib.h>

#include "dir.h"

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

void dir_users_tick(struct dir_fs *fs)
{
	struct dir_user *user = TAILQ_FIRST(&fs->users);

	while (user) {
		struct dir_user *next = TAILQ_NEXT(user, entry);

		if (user->nopen == 0 && dir_user_nclosing(user) == 0 &&
		    TAILQ_EMPTY(&user->waiting) && user != &fs->rest) {
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

struct dir_user *dir_user_of_most(struct dir_fs *fs)
{
	struct dir_user *user, *most = TAILQ_FIRST(&fs->users);

	TAILQ_FOREACH(user, &fs->users, entry)
	if (dir_user_nstaying(user) > dir_user_nstaying(most))
		most = user;
	return most;
}

/* ---- calls that wait ---- */

void dir_wait(struct dir_fs *fs, struct op *op)
{
	op->is_decided = false; /* the decision might be outdated after the wait */
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
