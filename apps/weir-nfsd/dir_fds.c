/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files, so that a READ or WRITE need not open one: a bounded number, the least recently used is closed. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dir.h"

static uint32_t bucket_of(const struct handle_id *id)
{
	uint32_t hash = 2166136261u;

	/* Clients can't choose ids: they are the kernel's, and signed. */
	for (uint32_t i = 0; i < id->len_bytes; i++)
		hash = (hash ^ id->data[i]) * 16777619u;
	return hash % DIR_BUCKETS;
}

static struct dir_fd *find(struct dir_fs *fs, const struct handle_id *id)
{
	struct dir_fd *file;

	LIST_FOREACH(file, &fs->buckets[bucket_of(id)], bucket)
	if (file->id.len_bytes == id->len_bytes && memcmp(file->id.data, id->data, id->len_bytes) == 0)
		return file;
	return NULL;
}

static void drop(struct dir_fs *fs, struct dir_fd *file)
{
	LIST_REMOVE(file, bucket);
	TAILQ_REMOVE(&fs->by_age, file, age);
	close(file->fd);
	free(file);
	fs->nfds--;
}

struct dir_fd *dir_fd_get(struct dir_fs *fs, const struct handle_id *id)
{
	struct dir_fd *file = find(fs, id);

	if (!file)
		return NULL;
	TAILQ_REMOVE(&fs->by_age, file, age);
	TAILQ_INSERT_TAIL(&fs->by_age, file, age);
	file->refs++;
	return file;
}

struct dir_fd *dir_fd_add(struct dir_fs *fs, const struct handle_id *id, int fd)
{
	struct dir_fd *file = dir_fd_get(fs, id), *old;

	/* Two calls may have opened it at the same time. */
	if (file) {
		close(fd);
		return file;
	}
	for (old = TAILQ_FIRST(&fs->by_age); fs->nfds >= DIR_FDS && old;) {
		struct dir_fd *next = TAILQ_NEXT(old, age);

		if (old->refs == 0)
			drop(fs, old);
		old = next;
	}
	file = calloc(1, sizeof(*file));
	if (!file) {
		close(fd);
		return NULL;
	}
	file->id = *id;
	file->fd = fd;
	file->refs = 1;
	LIST_INSERT_HEAD(&fs->buckets[bucket_of(id)], file, bucket);
	TAILQ_INSERT_TAIL(&fs->by_age, file, age);
	fs->nfds++;
	return file;
}

void dir_fd_put(struct dir_fs *fs, struct dir_fd *file)
{
	/* More than there should be, as all were in use. */
	if (--file->refs == 0 && fs->nfds > DIR_FDS)
		drop(fs, file);
}

void dir_fd_forget(struct dir_fs *fs, const struct handle_id *id)
{
	struct dir_fd *file = id->len_bytes > 0 ? find(fs, id) : NULL;

	if (file && file->refs == 0)
		drop(fs, file);
}

void dir_fds_close(struct dir_fs *fs)
{
	struct dir_fd *file;

	while ((file = TAILQ_FIRST(&fs->by_age)))
		drop(fs, file);
}
