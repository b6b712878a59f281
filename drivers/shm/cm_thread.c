/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: it sleeps on a device's sockets, takes what peers say there (cm_message.c),
 * and leaves an event for the engine's thread. A socket's life:
 *
 *   accepted:  GREETING -HELLO-> REQUEST -accept-> ACCEPTED -READY-> OPEN
 *   connected: CALLING -WELCOME-> CONNECTING -ACCEPT-> OPEN
 *
 * An end of file is how a peer leaves, or dies: the kernel closes its sockets. Anything that is not
 * the message that is due ends the connection. What a peer that says nothing can hold is bounded in
 * number and time, and a peer that says too much is read a few messages at a time.
 *
 * This thread makes no call that can block for longer than the kernel's own work takes. Where a
 * peer's descriptors are closed, that is the reaper's work (reap.h).
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "shm_dev.h"
#include "sigbus_guard.h"

#define SWEEP_MS 500 /* how often late ones are looked for, while a message is due */

static void pause_socket(struct shm_sock *sock)
{
	if (sock->is_watched && epoll_ctl(sock->dev->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL) == 0)
		sock->is_watched = false;
	shm_begin_pause(sock->dev);
}

/* False: it is the engine's now. */
static bool on_socket(struct shm_sock *sock, uint32_t events)
{
	bool is_dead;
	int rc;

	shm_lock(sock->dev);
	is_dead = sock->state == SOCK_DEAD;
	shm_unlock(sock->dev);
	if (is_dead) {
		/* It would be reported again and again, until the engine's thread needs it no more.
		 */
		if (sock->is_watched &&
		    epoll_ctl(sock->dev->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL) == 0)
			sock->is_watched = false;
		return true;
	}
	if (events & EPOLLOUT)
		shm_sock_flush(sock);
	rc = shm_sock_read(sock);
	if (rc == SHM_HANDED_OVER)
		return false;
	if (sock->is_paused)
		pause_socket(sock);
	if (rc == 0 || rc == -EAGAIN)
		return true;
	shm_count_end(sock, rc);
	shm_sock_ended(sock, rc);
	return true;
}

/* A socket, and what the lock guards of it. */
struct sight {
	struct shm_sock *sock;
	const struct shm_life *life;
	uint64_t deadline_ns;
	uint64_t mux_set_tag;
};

/* The next socket of those that have not been looked at in this round. Those that are the engine's,
 * or at their end, are left out. It stays until this thread frees it. False: there is none. */
static bool next_sock(struct shm_dev *dev, struct sight *sight)
{
	struct shm_sock *sock;
	bool is_left_out;

	do {
		shm_lock(dev);
		sock = TAILQ_FIRST(&dev->socks);
		if (sock && sock->visit == dev->visit)
			sock = NULL;
		is_left_out = sock && (sock->state == SOCK_REQUEST || sock->state == SOCK_DEAD);
		if (sock) {
			sock->visit = dev->visit;
			TAILQ_REMOVE(&dev->socks, sock, entry);
			TAILQ_INSERT_TAIL(&dev->socks, sock, entry);
			*sight = (struct sight){sock, sock->life, sock->deadline_ns,
						sock->mux_set_tag};
		}
		shm_unlock(dev);
	} while (is_left_out);
	return sock != NULL;
}

static void begin_round(struct shm_dev *dev)
{
	shm_lock(dev);
	dev->visit++;
	shm_unlock(dev);
}

/* Memory that connections share with their peers was lost: they end. */
static void end_lost(struct shm_dev *dev, uint64_t tag)
{
	bool is_ours = tag == 0 && shm_own_has_lost(dev);
	struct sight sight;

	begin_round(dev);
	while (next_sock(dev, &sight)) {
		if (!is_ours && (tag == 0 || (sight.sock->id != tag && sight.mux_set_tag != tag)))
			continue;
		shm_count(dev, &dev->nerrors);
		shm_sock_ended(sight.sock, is_ours ? -EIO : -EPROTO);
	}
}

/* A peer's process has ended. What it sent before is taken, then its connections end: a child of
 * its may have their sockets. */
static void end_dead(struct shm_dev *dev, struct shm_life *life)
{
	struct sight sight;

	life_end(dev, life);
	begin_round(dev);
	while (next_sock(dev, &sight))
		if (sight.life == life && on_socket(sight.sock, EPOLLIN))
			shm_sock_ended(sight.sock, -ECONNRESET);
	life_put(dev, life);
}

static void on_wake(struct shm_dev *dev)
{
	uint64_t wakes, tag;

	(void)!read(dev->wake_fd, &wakes, sizeof(wakes));
	while (guard_take_loss(dev->wake_fd, &tag))
		end_lost(dev, tag);
}

static void on_ready(struct shm_dev *dev, uint64_t id, uint32_t events)
{
	struct fabric_listener *listener;
	struct shm_life *life;
	struct shm_sock *sock;

	if (id == 0) {
		on_wake(dev);
		return;
	}
	/* What is found stays: only this thread frees sockets, and closes listeners. */
	shm_lock(dev);
	TAILQ_FOREACH(listener, &dev->listeners, entry)
	if (listener->id == id)
		break;
	LIST_FOREACH(sock, &dev->by_id[id % SHM_ID_LISTS], same)
	if (sock->id == id)
		break;
	shm_unlock(dev);
	if (listener) {
		shm_greet(listener);
	} else if (sock) {
		(void)on_socket(sock, events);
	} else {
		life = life_hold(dev, id);
		if (life)
			end_dead(dev, life);
	}
}

/* End those whose message did not come. Returns whether any is still due, or may be: it looks at
 * all, so not at each event of thousands. */
static bool sweep(struct shm_dev *dev)
{
	struct sight sight;
	uint64_t now = shm_now_ns();
	bool any = false;

	if (now < dev->next_sweep_ns)
		return true;
	dev->next_sweep_ns = now + SWEEP_MS * 1000000ull;
	begin_round(dev);
	while (next_sock(dev, &sight)) {
		any |= sight.deadline_ns != UINT64_MAX && now < sight.deadline_ns;
		if (now >= sight.deadline_ns)
			shm_sock_ended(sight.sock, -ETIMEDOUT);
	}
	return any;
}

static struct fabric_listener *next_paused(struct shm_dev *dev)
{
	struct fabric_listener *listener;

	shm_lock(dev);
	TAILQ_FOREACH(listener, &dev->listeners, entry)
	if (listener->is_paused)
		break;
	if (listener)
		listener->is_paused = false;
	shm_unlock(dev);
	return listener;
}

/* Watch again what waits for descriptors, when it is time. */
static void resume(struct shm_dev *dev)
{
	struct fabric_listener *listener;
	struct sight sight;

	if (!dev->has_paused || shm_now_ns() < dev->resume_ns)
		return;
	dev->has_paused = false;
	while ((listener = next_paused(dev))) {
		if (shm_watch(dev, listener->fd, listener->id) == 0)
			continue;
		listener->is_paused = true;
		shm_begin_pause(dev);
		break;
	}
	begin_round(dev);
	while (next_sock(dev, &sight)) {
		struct shm_sock *sock = sight.sock;

		if (!sock->is_paused)
			continue;
		sock->is_paused = false;
		if (sock->is_watched)
			continue;
		if (shm_sock_watch(sock) != 0) {
			shm_sock_ended(sock, -ECONNRESET);
		} else if (sock->is_waiting_to_send) {
			sock->is_waiting_to_send = false;
			shm_sock_flush(sock);
		}
	}
}

static int wait_ms(const struct shm_dev *dev, bool sweeps)
{
	if (dev->has_paused)
		return SHM_PAUSE_MS;
	return sweeps ? SWEEP_MS : -1;
}

static void run_task(struct shm_sock *sock, uint32_t tasks)
{
	if (tasks & TASK_FREE) {
		shm_sock_drop(sock);
		return;
	}
	if (tasks & TASK_DEAD && on_socket(sock, EPOLLIN))
		shm_sock_ended(sock, -ECONNRESET);
	if (tasks & TASK_WANT)
		shm_sock_flush(sock);
}

/* What waits in a listener's queue goes as well: each may have descriptors in its own queue. */
static void close_listener(struct fabric_listener *listener)
{
	(void)epoll_ctl(listener->dev->epoll_fd, EPOLL_CTL_DEL, listener->fd, NULL);
	(void)shutdown(listener->fd, SHUT_RDWR); /* no more come */
	shm_refuse_all(listener);
	close(listener->fd);
}

static void run_ending(struct shm_dev *dev)
{
	struct fabric_listener *listener;

	shm_lock(dev);
	listener = dev->ending;
	shm_unlock(dev);
	if (!listener)
		return;
	close_listener(listener);
	shm_lock(dev);
	dev->ending = NULL;
	pthread_cond_signal(&dev->is_unlistened);
	shm_unlock(dev);
}

/* All that the engine's thread has left to this one. */
static void run_tasks(struct shm_dev *dev)
{
	struct shm_exposed *hidden;
	struct shm_sock *sock;
	uint32_t tasks;

	run_ending(dev);
	do {
		shm_lock(dev);
		hidden = STAILQ_FIRST(&dev->hidden);
		if (hidden)
			STAILQ_REMOVE_HEAD(&dev->hidden, entry);
		sock = TAILQ_FIRST(&dev->tasks);
		tasks = sock ? sock->tasks : 0;
		if (sock) {
			sock->tasks = 0;
			TAILQ_REMOVE(&dev->tasks, sock, task);
		}
		shm_unlock(dev);
		if (hidden)
			shm_exposed_free(hidden);
		if (sock)
			run_task(sock, tasks);
	} while (hidden || sock);
}

static bool must_stop(struct shm_dev *dev)
{
	bool stops;

	shm_lock(dev);
	stops = dev->stops;
	shm_unlock(dev);
	return stops;
}

static void *control(void *arg)
{
	struct shm_dev *dev = arg;
	bool sweeps = false;

	while (!must_stop(dev)) {
		struct epoll_event events[16];
		int n = epoll_wait(dev->epoll_fd, events, 16, wait_ms(dev, sweeps));

		for (int i = 0; i < n; i++)
			on_ready(dev, events[i].data.u64, events[i].events);
		run_tasks(dev);
		sweeps = sweep(dev);
		resume(dev);
	}
	return NULL;
}

int shm_cm_start(struct shm_dev *dev)
{
	sigset_t all, old;
	int rc;

	dev->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	dev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->epoll_fd < 0 || dev->wake_fd < 0)
		return -errno;
	rc = shm_watch(dev, dev->wake_fd, 0);
	if (rc != 0)
		return rc;
	/* Signals are the application's threads' business; and this one's CPUs those that EAL gives
	 * to no lcore. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = rte_ctrl_thread_create(&dev->thread, "weir-shm-cm", NULL, control, dev);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	dev->has_thread = rc == 0;
	return rc;
}

void shm_cm_stop(struct shm_dev *dev)
{
	struct shm_sock *sock;

	if (dev->has_thread) {
		shm_lock(dev);
		dev->stops = true;
		shm_unlock(dev);
		shm_cm_wake(dev);
		pthread_join(dev->thread, NULL);
		dev->has_thread = false;
	}
	/* Nobody else uses the device any more. */
	while ((sock = TAILQ_FIRST(&dev->socks)))
		shm_sock_release(sock);
	run_tasks(dev);
	shm_fd_close(&dev->epoll_fd);
	shm_fd_close(&dev->wake_fd);
}
