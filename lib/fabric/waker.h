/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAKER_H
#define WAKER_H

/*
 * Wakes a thread that sleeps until its engine has work. The engine owns this structure. The thread
 * waits for 'epoll_fd', in which the engine has entered 'event_fd' and the driver may enter
 * descriptors of its own, edge-triggered. driver.h describes the operations that use it.
 *
 * The engine's thread sets is_armed, makes a full barrier, and then looks for work. A thread that
 * creates work stores it first and then calls fabric_wake(), which makes a full barrier and reads
 * is_armed. Therefore at least one of the two threads sees what the other one has stored. The
 * thread that clears is_armed writes to event_fd, so that there is one system call per sleep,
 * however much work is created.
 */

#include <stdatomic.h>
#include <stdbool.h>

struct fabric_waker {
	int epoll_fd; /* 0: weir_engine_fd() was not called yet */
	int event_fd;
	_Atomic bool is_armed;
};

/* Wakes the engine's thread if the engine is armed. The caller has stored the work before. Any
 * thread may call this function. */
void fabric_wake(struct fabric_waker *waker);

/* Closes the descriptors, if there are any. A child of fork(2) calls it, too. */
void fabric_waker_close(struct fabric_waker *waker);

#endif
