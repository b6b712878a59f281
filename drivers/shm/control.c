/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of other threads to the control thread, and the descriptors that the control thread
 * watches. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "shm_dev.h"

static _Atomic uint64_t next_id = 1;

uint64_t shm_next_id(void)
{
	return next_id++;
}

int shm_watch(struct shm_dev *dev, int fd, uint64_t id)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = id};

	return epoll_ctl(dev->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void shm_watch_wakes(struct shm_sock *sock)
{
	const struct fabric_waker *waker = atomic_load(&sock->dev->waker);
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	if (waker && !sock->wakes_engine)
		sock->wakes_engine =
			epoll_ctl(waker->epoll_fd, EPOLL_CTL_ADD, sock->fd, &event) == 0;
}

void shm_unwatch_wakes(struct shm_sock *sock)
{
	const struct fabric_waker *waker = atomic_load(&sock->dev->waker);

	if (sock->wakes_engine)
		(void)epoll_ctl(waker->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL);
	sock->wakes_engine = false;
}

void shm_wake_engine(struct shm_dev *dev)
{
	struct fabric_waker *waker = atomic_load(&dev->waker);

	if (waker && atomic_exchange(&dev->has_news, false))
		fabric_wake(waker);
}

void shm_cm_wake(struct shm_dev *dev)
{
	uint64_t one = 1;

	/* write(2) fails only if the counter is full. Then an earlier write wakes the thread. */
	(void)!write(dev->wake_fd, &one, sizeof(one));
}

void shm_sock_task(struct shm_sock *sock, enum shm_task task)
{
	if (sock->tasks == 0)
		TAILQ_INSERT_TAIL(&sock->dev->tasks, sock, task);
	sock->tasks |= task;
}

void shm_begin_pause(struct shm_dev *dev)
{
	if (!dev->has_paused)
		dev->resume_ns = shm_now_ns() + SHM_PAUSE_MS * 1000000ull;
	dev->has_paused = true;
}

void shm_pause_listener(struct fabric_listener *listener)
{
	if (!listener->is_paused)
		(void)epoll_ctl(listener->dev->epoll_fd, EPOLL_CTL_DEL, listener->fd, NULL);
	listener->is_paused = true;
	shm_begin_pause(listener->dev);
}
