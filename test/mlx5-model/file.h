/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_H
#define FILE_H

/*
 * Open files of the model. A device file is a duplicate of the file of registers (uar.c), so that
 * mmap() of it needs no help. All other files have a queue of events. Their descriptor is an
 * eventfd, which is readable while the queue has an event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

enum file_kind {
	FILE_NONE,
	FILE_DEVICE,	  /* /dev/infiniband/uverbs0 */
	FILE_ASYNC,	  /* asynchronous events of a device file */
	FILE_COMPLETIONS, /* reports of completion queues, that is a completion channel */
	FILE_CM,	  /* /dev/infiniband/rdma_cm */
};

struct event {
	const void *about;  /* the object of the event, for file_drop_events() */
	uint32_t *reported; /* counts the events that the program has read; NULL: not counted */
	TAILQ_ENTRY(event) entry;
	size_t size;
	uint8_t data[];
};

struct file {
	enum file_kind kind; /* FILE_NONE after file_remove() */
	int fd;
	uint32_t users; /* the descriptor, and objects that report to the file */
	TAILQ_HEAD(, event) events;
};

/* Makes 'fd' a file of the model. Returns NULL if there is no memory or 'fd' is too large. */
struct file *file_add(int fd, enum file_kind kind);
/* Opens a file with a queue of events. Returns NULL on error. */
struct file *file_open_events(enum file_kind kind);
/* Returns the file of a descriptor, or NULL if the descriptor is none of the model. */
struct file *file_find(int fd);
/* Forgets the file and drops its events. The descriptor stays open. Objects can still have it. */
void file_remove(struct file *file);
/* An object keeps a file that it reports to, and lets it go at its end. NULL is allowed. */
struct file *file_ref(struct file *file);
void file_unref(struct file *file);

/*
 * Appends an event with a copy of 'size' bytes of data. Without a file, the event is dropped.
 * Returns the copy, or NULL.
 */
void *file_push(struct file *file, const void *about, uint32_t *reported, const void *data,
		size_t size);
/* Drops the events about an object that the program has not read. Returns their number. */
uint32_t file_drop_events(struct file *file, const void *about);
/*
 * Takes the oldest event, as read() does: copies its data to 'buf', and returns the number of
 * bytes, or -errno. If there is none, it waits, unless the descriptor is non-blocking. The caller
 * does not hold the lock.
 */
ssize_t file_take(struct file *file, void *buf, size_t len);
/* Returns whether all events were read, and no thread handles one (mlx5_model.h). */
bool file_all_handled(void);
/* Returns how many events were pushed or read since the start. */
uint64_t file_events(void);

#endif
