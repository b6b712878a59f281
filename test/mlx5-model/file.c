/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files of the model, and the events that wait in them. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "libc.h"
#include "model.h"

#define FILES_MAX 65536

static struct file *files[FILES_MAX]; /* by descriptor */
static uint32_t pending;	      /* events that the program has not read */
static uint64_t changes;	      /* events that were pushed or removed */
static uint32_t handlers;	      /* threads that handle an event */
static _Thread_local bool is_handler;

struct file *file_add(int fd, enum file_kind kind)
{
	struct file *file = fd >= 0 && fd < FILES_MAX ? calloc(1, sizeof(*file)) : NULL;

	if (!file)
		return NULL;
	file->kind = kind;
	file->fd = fd;
	file->users = 1;
	TAILQ_INIT(&file->events);
	__atomic_store_n(&files[fd], file, __ATOMIC_RELEASE);
	return file;
}

struct file *file_open_events(enum file_kind kind)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct file *file = file_add(fd, kind);

	if (!file && fd >= 0)
		libc()->close(fd);
	return file;
}

struct file *file_find(int fd)
{
	return fd >= 0 && fd < FILES_MAX ? __atomic_load_n(&files[fd], __ATOMIC_ACQUIRE) : NULL;
}

struct file *file_ref(struct file *file)
{
	if (file)
		file->users++;
	return file;
}

void file_unref(struct file *file)
{
	if (file && --file->users == 0)
		free(file);
}

void file_remove(struct file *file)
{
	struct event *event;

	__atomic_store_n(&files[file->fd], NULL, __ATOMIC_RELEASE);
	model_lock();
	while ((event = TAILQ_FIRST(&file->events))) {
		TAILQ_REMOVE(&file->events, event, entry);
		free(event);
		pending--;
	}
	file->kind = FILE_NONE;
	file_unref(file);
	model_unlock();
}

void *file_push(struct file *file, const void *about, uint32_t *reported, const void *data,
		size_t size)
{
	const uint64_t one = 1;
	struct event *event;

	if (!file || file->kind == FILE_NONE)
		return NULL;
	event = calloc(1, sizeof(*event) + size);
	if (!event)
		return NULL;
	pending++;
	changes++;
	event->about = about;
	event->reported = reported;
	event->size = size;
	memcpy(event->data, data, size);
	if (TAILQ_EMPTY(&file->events))
		(void)!libc()->write(file->fd, &one, sizeof(one));
	TAILQ_INSERT_TAIL(&file->events, event, entry);
	return event->data;
}

/* Removes an event. If it was the last one, the descriptor is readable no more. */
static void remove_event(struct file *file, struct event *event)
{
	uint64_t value;

	TAILQ_REMOVE(&file->events, event, entry);
	pending--;
	changes++;
	if (TAILQ_EMPTY(&file->events))
		(void)!libc()->read(file->fd, &value, sizeof(value));
	free(event);
}

uint32_t file_drop_events(struct file *file, const void *about)
{
	struct event *event, *next;
	uint32_t dropped = 0;

	for (event = file ? TAILQ_FIRST(&file->events) : NULL; event; event = next) {
		next = TAILQ_NEXT(event, entry);
		if (event->about != about)
			continue;
		remove_event(file, event);
		dropped++;
	}
	return dropped;
}

static void set_handler(bool is)
{
	handlers += (uint32_t)is - (uint32_t)is_handler;
	is_handler = is;
}

/* Takes an event, and returns its size. Returns -EAGAIN if there is none. */
static ssize_t take_event(struct file *file, void *buf, size_t len)
{
	struct event *event = TAILQ_FIRST(&file->events);
	ssize_t size = -EAGAIN;

	set_handler(event != NULL);
	if (event) {
		size = (ssize_t)(event->size < len ? event->size : len);
		memcpy(buf, event->data, (size_t)size);
		if (event->reported)
			++*event->reported;
		remove_event(file, event);
	}
	return size;
}

ssize_t file_take(struct file *file, void *buf, size_t len)
{
	for (;;) {
		struct pollfd readable = {.fd = file->fd, .events = POLLIN};
		int flags = fcntl(file->fd, F_GETFL);
		ssize_t size;

		model_lock();
		size = take_event(file, buf, len);
		model_unlock();
		if (size != -EAGAIN || flags < 0 || flags & O_NONBLOCK)
			return size;
		if (poll(&readable, 1, -1) < 0)
			return -errno;
	}
}

bool file_all_handled(void)
{
	return pending == 0 && handlers == 0;
}

uint64_t file_events(void)
{
	return changes;
}
