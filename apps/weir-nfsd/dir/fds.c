/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache of open files, so that a READ or WRITE does not have to open a file each time. The number
 * of open files is limited, and dir/slots.c divides it among clients. A file that was not used for
 * a while is closed, for two reasons. An open file cannot be executed as a program, and its file
 * system cannot be unmounted. If an open file was removed, its space is not freed.
 *
 * A file has one descriptor for reading and another for writing. Worker threads close them, because
 * the last close of a removed file frees its blocks, which can take long. A close counts as a job
 * of the client that is the reason for the close (holds.h).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "submit.h"

static uint32_t bucket_of(const struct handle_id *id)
{
	uint32_t hash = 2166136261u;

	/*
	 * A weak hash is enough, because clients cannot choose ids. The kernel makes the ids, and
	 * the handles that contain them are signed.
	 */
	for (uint32_t i = 0; i < id->len_bytes; i++)
		hash = (hash ^ id->data[i]) * 16777619u;
	return hash % DIR_BUCKETS;
}

static struct dir_fd *fds_lookup(struct dir_fs *fs, const struct handle_id *id, bool is_written)
{
	struct dir_fd *file;

	LIST_FOREACH(file, &fs->buckets[bucket_of(id)], bucket)
	if (file->is_written == is_written && file->id.len_bytes == id->len_bytes &&
	    memcmp(file->id.data, id->data, id->len_bytes) == 0)
		return file;
	return NULL;
}

struct dir_fd *dir_fd_other(struct dir_fs *fs, const struct dir_fd *file)
{
	return fds_lookup(fs, &file->id, !file->is_written);
}

static void set_forgotten(struct dir_fd *file)
{
	file->user->nleaving += !file->is_forgotten;
	file->is_forgotten = true;
}

/* Has a thread close a file. The file is counted in 'nclosing' of its client until it is closed. */
static void close_counted(struct dir_fs *fs, struct dir_fd *file)
{
	file->user->nopen--;
	atomic_fetch_add_explicit(&file->user->nclosing, 1, memory_order_relaxed);
	dir_work_close(fs, file);
}

/*
 * Closes a file that nobody uses. Written data are synced first, because a loss that occurs later
 * could not be reported to any client. A removed file needs no sync.
 */
static void drop(struct dir_fs *fs, struct dir_fd *file)
{
	struct stat st;

	set_forgotten(file);
	if (file->is_dirty && fs->has_ring &&
	    !(dir_stat(fs, file->fd, &st) == 0 && st.st_nlink == 0) &&
	    dir_submit_sync_and_close(fs, file))
		return;
	LIST_REMOVE(file, bucket);
	TAILQ_REMOVE(&file->user->by_age, file, age);
	file->user->nleaving--;
	fs->nfds--;
	close_counted(fs, file);
}

struct dir_fd *dir_fd_get(struct dir_fs *fs, const struct handle_id *id, bool is_written)
{
	struct dir_fd *file = fds_lookup(fs, id, is_written);

	if (!file)
		return NULL;
	TAILQ_REMOVE(&file->user->by_age, file, age);
	TAILQ_INSERT_TAIL(&file->user->by_age, file, age);
	file->used_ns = fs->now_ns;
	file->refs++;
	return file;
}

/* Moves the file to another client, and makes it the most recently used file of that client. */
static void give_to(struct dir_fs *fs, struct dir_fd *file, const struct holder *holder)
{
	struct dir_user *from = file->user, *to = dir_user_of(fs, holder);

	file->holder = *holder;
	file->user = to;
	TAILQ_REMOVE(&from->by_age, file, age);
	TAILQ_INSERT_TAIL(&to->by_age, file, age);
	from->nopen--;
	to->nopen++;
	from->nleaving -= file->is_forgotten;
	to->nleaving += file->is_forgotten;
}

void dir_fd_used_by(struct dir_fs *fs, struct dir_fd *file, const struct holder *holder)
{
	if (!client_key_equal(&file->user->client, &holder->client) &&
	    dir_user_of(fs, holder)->nopen < file->user->nopen)
		give_to(fs, file, holder);
}

void dir_fd_discard(struct dir_fs *fs, struct dir_user *user, struct dir_fd *file)
{
	file->user = user;
	close_counted(fs, file);
}

struct dir_fd *dir_fd_add(struct dir_fs *fs, struct dir_user *user, struct dir_fd *file)
{
	struct dir_fd *other = dir_fd_get(fs, &file->id, file->is_written);

	/* Two calls might have opened the file at the same time. */
	if (other) {
		dir_fd_discard(fs, user, file);
		return other;
	}
	file->user = user;
	file->refs = 1;
	file->used_ns = fs->now_ns;
	LIST_INSERT_HEAD(&fs->buckets[bucket_of(&file->id)], file, bucket);
	TAILQ_INSERT_TAIL(&file->user->by_age, file, age);
	fs->nfds++;
	return file;
}

void dir_fd_put(struct dir_fs *fs, struct dir_fd *file)
{
	/*
	 * More than 'nfds_max' files can be open if none of them could be closed, because all were
	 * in use.
	 */
	if (--file->refs == 0 && (file->is_forgotten || fs->nfds > fs->nfds_max))
		drop(fs, file);
}

void dir_fd_forget(struct dir_fs *fs, const struct holder *holder, const struct handle_id *id)
{
	for (int is_written = 0; is_written < 2 && id->len_bytes > 0; is_written++) {
		struct dir_fd *file = fds_lookup(fs, id, is_written);

		if (!file)
			continue;
		give_to(fs, file, holder);
		if (file->refs == 0)
			drop(fs, file);
		else
			set_forgotten(file);
	}
}

bool dir_fd_drop_idle(struct dir_fs *fs, struct dir_user *user)
{
	struct dir_fd *file;

	TAILQ_FOREACH(file, &user->by_age, age)
	if (file->refs == 0) {
		drop(fs, file);
		return true;
	}
	return false;
}

/*
 * Closes up to 'n' files that are not in use: first those of the client that has the most, and then
 * those of all others.
 */
void dir_fds_shrink(struct dir_fs *fs, uint32_t n)
{
	struct dir_user *user;

	while (n > 0 && dir_fd_drop_idle(fs, dir_user_of_most(fs)))
		n--;
	TAILQ_FOREACH(user, &fs->users, entry)
	while (n > 0 && dir_fd_drop_idle(fs, user))
		n--;
}

void dir_fds_tick(struct dir_fs *fs, uint64_t now_ns)
{
	struct dir_user *user;

	fs->now_ns = now_ns;
	TAILQ_FOREACH(user, &fs->users, entry)
	{
		struct dir_fd *file = TAILQ_FIRST(&user->by_age), *next;
		uint32_t n = 0;

		/*
		 * A file that is in use counts towards the limit of a tick, although it is not
		 * closed. Such a file is seldom old.
		 */
		for (; file && n < DIR_FDS_PER_TICK && now_ns - file->used_ns >= DIR_FD_IDLE_NS;
		     n++) {
			next = TAILQ_NEXT(file, age);
			if (file->refs == 0)
				drop(fs, file);
			file = next;
		}
	}
	dir_users_tick(fs);
}

/*
 * Initializes the cache and sets the maximum number of open files. Half of the descriptors that the
 * process may have are for connections, and for files that are open only during one call.
 */
void dir_fds_start(struct dir_fs *fs)
{
	struct rlimit limit;
	rlim_t share = DIR_FDS;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
		share = limit.rlim_cur / 2 / fs->server->exports.n;
	}
	fs->nfds_max = share < 1 ? 1 : share < DIR_FDS ? (uint32_t)share : DIR_FDS;
}

void dir_fds_close(struct dir_fs *fs)
{
	struct dir_user *user;

	TAILQ_FOREACH(user, &fs->users, entry)
	while (!TAILQ_EMPTY(&user->by_age))
		drop(fs, TAILQ_FIRST(&user->by_age));
}
