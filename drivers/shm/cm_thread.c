/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread sleeps on a device's sockets, reads what peers send there (cm_message.c), and
 * queues events for the engine's thread. These are the states of a socket:
 *
 *   accepted:  GREETING -HELLO-> REQUEST -accept-> ACCEPTED -READY-> OPEN
 *   connected: CALLING -WELCOME-> CONNECTING -ACCEPT-> OPEN
 *
 * When a peer disconnects or dies, this side reads an end of file, because the kernel closes the
 * peer's sockets. Any message that is not the expected one ends the connection. A peer that sends
 * nothing can hold memory only for a limited time. If a peer sends many messages, only a few are
 * read at a time.
 *
 * This thread makes no call that can block for longer than the kernel's own work takes. The reaper
 * closes the descriptors of peers (reap.h).
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper.h"
#include "shm_dev.h"
#include "sigbus_guard.h"

#define SWEEP_MS 500 /* interval of sweep(), while a message of a peer is expected */

static void pause_socket(struct shm_sock *sock)
{
	if (sock->is_watched && epoll_ctl(sock->dev->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL) == 0)
		sock->is_watched = false;
	shm_begin_pause(sock->dev);
}

/* Handles the epoll events 'events' of a socket. Returns false if the socket was given to the
 * engine by this call, otherwise true. */
static bool on_socket(struct shm_sock *sock, uint32_t events)
{
	bool is_dead;
	int rc;

	shm_lock(sock->dev);
	is_dead = sock->state == SOCK_DEAD;
	shm_unlock(sock->dev);
	if (is_dead) {
		/* The socket is not watched any more: until the engine's thread releases it, epoll
		 * would report it again and again. */
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

/* A socket, and copies of its members that the lock guards. */
struct sight {
	struct shm_sock *sock;
	const struct shm_life *life;
	uint64_t deadline_ns;
	uint64_t mux_set_tag;
};

/* Finds the next socket that was not visited in this round, and describes it in *sight. Sockets
 * that the engine owns, or that have ended, are skipped. The socket exists until this thread frees
 * it. Returns false if there is no such socket. */
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

/* Ends the connections that use memory that has lost its pages (sigbus_guard.h). 'tag' is the tag
 * of the memory's guard: the ID of a socket, the tag of a mux set, or 0 for registered memory of
 * this process. If the lost memory is registered and exposed to peers, all connections end. */
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

/* Handles the end of a peer's process, and returns the reference to 'life'. The connections of the
 * process end after its last messages are read, although a child of the process can still have
 * their sockets. */
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

static void on_event_fd(struct shm_dev *dev)
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
		on_event_fd(dev);
		return;
	}
	/* The object that is found exists after the unlock, because only this thread frees sockets
	 * and closes listeners. */
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

/* Ends each connection whose expected message is late. Returns true if a message of another
 * connection is expected. The function visits all sockets. Therefore it does so at most every
 * SWEEP_MS, and otherwise only returns true. */
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

/* Begins to watch again the sockets and listeners that wait for descriptors, after their pause is
 * over. */
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

/* Closes a listener. The function first takes each connection from the listener's queue and ends
 * it, because a connection can have descriptors in its own queue, whose close can block. */
static void close_listener(struct fabric_listener *listener)
{
	(void)epoll_ctl(listener->dev->epoll_fd, EPOLL_CTL_DEL, listener->fd, NULL);
	(void)shutdown(listener->fd, SHUT_RDWR); /* after this, no connection is added */
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

/* Runs all tasks that the engine's thread has queued for this thread: the end of a listener,
 * descriptors of ended registrations, and tasks of sockets. */
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
		shm_wake_engine(dev);
	}
	return NULL;
}

int shm_cm_start(struct shm_dev *dev)
{
	int rc;

	dev->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	dev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->epoll_fd < 0 || dev->wake_fd < 0)
		return -errno;
	rc = shm_watch(dev, dev->wake_fd, 0);
	if (rc != 0)
		return rc;
	rc = helper_create(&dev->thread, "weir-shm-cm", control, dev);
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
	/* No other thread uses the device any more. */
	while ((sock = TAILQ_FIRST(&dev->socks)))
		shm_sock_release(sock);
	run_tasks(dev);
	shm_fd_close(&dev->epoll_fd);
	shm_fd_close(&dev->wake_fd);
}
