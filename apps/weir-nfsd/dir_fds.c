/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files, so that a READ or WRITE need not open one: a bounded number, the least recently used is closed, and whichever was
 * not used for a while, as what is open can't be run as a program, unmounted or, when it was removed, given back.
 *
 * What is read and what is written are opened each for itself. Threads close, as the last close of a removed file frees it, which
 * may take long. A close counts as a job of the client that is the reason for it (holds.h).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "dir.h"

static uint32_t bucket_of(const struct handle_id *id)
{
	uint32_t hash = 2166136261u;

	/* Clients can't choose ids: they are the kernel's, and signed. */
	for (uint32_t i = 0; i < id->len_bytes; i++)
		hash = (hash ^ id->data[i]) * 16777619u;
	return hash % DIR_BUCKETS;
}

static struct dir_fd *find(struct dir_fs *fs, const struct handle_id *id, bool is_written)
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
	return find(fs, &file->id, !file->is_written);
}

/* What was written is synced first, or nobody could be told later of what was lost. Not of a file that is gone. */
static void drop(struct dir_fs *fs, struct dir_fd *file)
{
	struct stat st;

	if (file->is_dirty && fs->has_ring && !(dir_stat(fs, file->fd, &st) == 0 && st.st_nlink == 0) &&
	    dir_sync_and_close(fs, file))
		return;
	LIST_REMOVE(file, bucket);
	TAILQ_REMOVE(&fs->by_age, file, age);
	fs->nfds--;
	dir_work_close(fs, file);
}

struct dir_fd *dir_fd_get(struct dir_fs *fs, const struct handle_id *id, bool is_written)
{
	struct dir_fd *file = find(fs, id, is_written);

	if (!file)
		return NULL;
	TAILQ_REMOVE(&fs->by_age, file, age);
	TAILQ_INSERT_TAIL(&fs->by_age, file, age);
	file->used_ns = fs->now_ns;
	file->refs++;
	return file;
}

struct dir_fd *dir_fd_make(const struct holder *holder, const struct handle_id *id, bool is_written, int fd)
{
	struct dir_fd *file = calloc(1, sizeof(*file));

	if (file) {
		file->id = *id;
		file->holder = *holder;
		file->is_written = is_written;
		file->fd = fd;
		dir_sync_init(file);
	}
	return file;
}

struct dir_fd *dir_fd_add(struct dir_fs *fs, struct dir_fd *file)
{
	struct dir_fd *other = dir_fd_get(fs, &file->id, file->is_written);

	/* Two calls may have opened it at the same time. */
	if (other) {
		dir_work_close(fs, file);
		return other;
	}
	if (fs->nfds >= fs->nfds_max)
		dir_fds_shrink(fs, fs->nfds + 1 - fs->nfds_max);
	file->refs = 1;
	file->used_ns = fs->now_ns;
	LIST_INSERT_HEAD(&fs->buckets[bucket_of(&file->id)], file, bucket);
	TAILQ_INSERT_TAIL(&fs->by_age, file, age);
	fs->nfds++;
	return file;
}

void dir_fd_put(struct dir_fs *fs, struct dir_fd *file)
{
	/* More than there should be, as all were in use. */
	if (--file->refs == 0 && (file->is_forgotten || fs->nfds > fs->nfds_max))
		drop(fs, file);
}

void dir_fd_forget(struct dir_fs *fs, const struct holder *holder, const struct handle_id *id)
{
	for (int is_written = 0; is_written < 2 && id->len_bytes > 0; is_written++) {
		struct dir_fd *file = find(fs, id, is_written);

		if (!file)
			continue;
		file->holder = *holder;
		if (file->refs == 0)
			drop(fs, file);
		else
			file->is_forgotten = true;
	}
}

void dir_fds_shrink(struct dir_fs *fs, uint32_t n)
{
	struct dir_fd *file = TAILQ_FIRST(&fs->by_age);

	while (file && n > 0) {
		struct dir_fd *next = TAILQ_NEXT(file, age);

		if (file->refs == 0) {
			drop(fs, file);
			n--;
		}
		file = next;
	}
}

/*
 * A file that nobody uses leaves a full cache when another one is added. Only files in use and
 * files that wait to be closed can therefore reach the limit.
 */
bool dir_fds_have_room(struct dir_fs *fs)
{
	return fs->nfds + dir_work_nclosing(fs) < fs->nfds_max + DIR_THREADS;
}

void dir_fds_tick(struct dir_fs *fs, uint64_t now_ns)
{
	struct dir_fd *file = TAILQ_FIRST(&fs->by_age);

	fs->now_ns = now_ns;
	/* What is in use is not old for long. */
	for (uint32_t n = 0; n < DIR_FDS_PER_TICK && file && now_ns - file->used_ns >= DIR_FD_IDLE_NS; n++) {
		struct dir_fd *next = TAILQ_NEXT(file, age);

		if (file->refs == 0)
			drop(fs, file);
		file = next;
	}
}

/* Half of what the process may have is for connections, and for what is open for the time of one call. */
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
	struct dir_fd *file;

	while ((file = TAILQ_FIRST(&fs->by_age)))
		drop(fs, file);
}
