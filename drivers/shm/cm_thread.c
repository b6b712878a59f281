/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: it sleeps on a device's sockets, takes what peers say there, checks it, maps what they
 * offer, and leaves an event for the engine's thread. A socket's life:
 *
 *   accepted:  GREETING -HELLO-> REQUEST -accept-> ACCEPTED -READY-> OPEN
 *   connected: CONNECTING -ACCEPT-> OPEN
 *
 * An end of file is how a peer leaves, or dies: the kernel closes its sockets. Anything that is not the message that
 * is due ends the connection. What a peer that says nothing can hold is bounded in number and time, and one that says
 * too much keeps nobody waiting: it is read a few messages at a time, and engines' threads, which take
 * the lock only to set up or tear down, get it before this thread does.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "guard.h"
#include "shm.h"
#include "users.h"

#define STARVED_NS   10000000L
#define SWEEP_MS     500 /* how often late ones are looked for, while a message is due */
#define MESSAGES_MAX 16u /* read from one socket before others have their turn */
#define ACCEPTS_MAX  16u /* connections taken in a round */

static bool ring_bytes_ok(const struct shm_msg *msg)
{
	uint32_t size = msg->ring_bytes;

	return size >= RING_BYTES_MIN && size <= RING_BYTES_MAX && (size & (size - 1)) == 0 &&
	       msg->max_msg_bytes <= ring_msg_max(size);
}

/* HELLO and ACCEPT: who the peer is, its key table, its regions. 'fds' starts at the key table's. */
static int take_peer(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	struct shm_peer *peer = &sock->peer;

	if (nfds < 1 || msg->conn_id == KEY_ANY_CONN || msg->max_msg_bytes == 0 ||
	    msg->max_msg_bytes > SHM_MSG_MAX || msg->private_len > FABRIC_PRIVATE_DATA_MAX)
		return -EPROTO;
	peer->keys.entries = shm_map(fds[0], sizeof(struct key_entry) * KEY_ENTRIES, false);
	if (!peer->keys.entries)
		return -EPROTO;
	peer->conn_id = msg->conn_id;
	peer->max_msg_bytes = msg->max_msg_bytes;
	return shm_peer_import(sock->dev, peer, msg, fds + 1, nfds - 1, false);
}

static int on_hello(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	if (msg->type != SHM_HELLO || msg->has_lanes > 1 || nfds < 2u + msg->has_lanes ||
	    !ring_bytes_ok(msg) || !sock->listener)
		return -EPROTO;
	sock->ring_bytes = msg->ring_bytes;
	sock->rings_bytes = 2 * ring_footprint(msg->ring_bytes);
	sock->rings = shm_map(fds[0], sock->rings_bytes, true);
	if (!sock->rings)
		return -EPROTO;
	if (take_peer(sock, msg, fds + 1, nfds - 1 - msg->has_lanes) != 0)
		return -EPROTO;
	if (msg->has_lanes) {
		sock->lanes_fd = lanes_fd_ok(fds[nfds - 1]) ? fcntl(fds[nfds - 1], F_DUPFD_CLOEXEC, 0) : -1;
		if (sock->lanes_fd < 0)
			return -EPROTO;
	}
	shm_sock_enter(sock, SOCK_REQUEST);
	shm_event_push(sock, FABRIC_CM_REQUEST, 0, msg);
	return 0;
}

static int on_answer(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	const struct shm_msg ready = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_READY};

	if (msg->type == SHM_REJECT) {
		shm_event_push(sock, FABRIC_CM_REJECTED, 0, msg);
		shm_sock_close(sock);
		return 0;
	}
	if (msg->type != SHM_ACCEPT || msg->max_msg_bytes > ring_msg_max(sock->ring_bytes) ||
	    msg->has_lanes > sock->has_lanes || msg->place.lane >= LANE_COUNT ||
	    msg->place.place >= LANE_PLACES || take_peer(sock, msg, fds, nfds) != 0)
		return -EPROTO;
	sock->has_lanes = msg->has_lanes;
	sock->place = msg->place;
	if (shm_sock_send(sock, &ready, NULL, 0) != 0)
		return -ECONNRESET;
	shm_sock_enter(sock, SOCK_OPEN);
	shm_event_push(sock, FABRIC_CM_ESTABLISHED, 0, msg);
	return 0;
}

static int on_message(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	if (msg->type == SHM_REGION && sock->state != SOCK_GREETING && sock->state != SOCK_CONNECTING)
		return shm_peer_import(sock->dev, &sock->peer, msg, fds, nfds, true);
	if (msg->type == SHM_GOODBYE && sock->state == SOCK_OPEN && nfds == 0) {
		sock->has_left = true;
		return 0;
	}
	switch (sock->state) {
	case SOCK_GREETING:
		return on_hello(sock, msg, fds, nfds);
	case SOCK_CONNECTING:
		return on_answer(sock, msg, fds, nfds);
	case SOCK_ACCEPTED:
		if (msg->type != SHM_READY)
			return -EPROTO;
		shm_sock_enter(sock, SOCK_OPEN);
		shm_event_push(sock, FABRIC_CM_ESTABLISHED, 0, NULL);
		return 0;
	default:
		return -EPROTO;
	}
}

/* One message from the socket. 0; -EAGAIN: there is none; else the connection is over. */
static int read_one(struct shm_sock *sock)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SHM_FDS_MAX * sizeof(int))];
	} control;
	struct shm_msg msg;
	struct iovec iov = {&msg, sizeof(msg)};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[SHM_FDS_MAX], rc = -EPROTO;
	uint32_t nfds = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECONNRESET;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr); cmsg; cmsg = CMSG_NXTHDR(&hdr, cmsg)) {
		uint32_t count = (uint32_t)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		for (uint32_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (nfds < SHM_FDS_MAX)
				fds[nfds++] = fd;
			else
				close(fd);
		}
	}
	if (n == 0)
		rc = -ECONNRESET;
	else if (n == (ssize_t)sizeof(msg) && !(hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		 msg.magic == SHM_MAGIC && msg.version == SHM_VERSION)
		rc = on_message(sock, &msg, fds, nfds);
	for (uint32_t i = 0; i < nfds; i++)
		close(fds[i]);
	return rc;
}

static void on_socket(struct shm_sock *sock, uint32_t events)
{
	int rc = 0;

	if (events & EPOLLOUT)
		shm_sock_announce(sock, 0);
	for (uint32_t i = 0; i < MESSAGES_MAX && rc == 0 && sock->fd >= 0; i++)
		rc = read_one(sock);
	if (rc != 0 && rc != -EAGAIN) {
		if (rc == -EPROTO)
			shm_count(sock->dev, &sock->dev->nerrors);
		shm_sock_ended(sock, rc);
	}
}

static bool is_full(const struct fabric_listener *listener)
{
	return listener->nwaiting >= listener->backlog ||
	       listener->dev->nsocks >= listener->dev->max_connections;
}

/* Those that are silent must not keep others out: when all places are taken, the one that has been silent longest
 * goes, unless it has said something meanwhile. False: none is silent. */
static bool make_room(struct fabric_listener *listener)
{
	struct shm_sock *sock;
	uint64_t id;

	TAILQ_FOREACH(sock, &listener->dev->socks, entry)
	if (sock->listener == listener && sock->state == SOCK_GREETING)
		break;
	if (!sock)
		return false;
	id = sock->id;
	on_socket(sock, EPOLLIN); /* which may end it */
	TAILQ_FOREACH(sock, &listener->dev->socks, entry)
	if (sock->id == id && sock->state == SOCK_GREETING) {
		shm_sock_ended(sock, -ETIMEDOUT);
		break;
	}
	return true;
}

static void on_connection(struct fabric_listener *listener)
{
	int fd;

	/* What is left waits for the next round: others want the lock, too. */
	for (uint32_t i = 0; i < ACCEPTS_MAX; i++) {
		struct shm_sock *sock = NULL;

		fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			listener->dev->is_starved =
				errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
			return;
		}
		if (shm_users_accept(listener->dev, fd)) {
			while (is_full(listener) && make_room(listener))
				;
			if (!is_full(listener))
				sock = shm_sock_new(listener->dev, fd, SOCK_GREETING);
		}
		if (sock) {
			sock->listener = listener;
			listener->nwaiting++;
		} else {
			close(fd);
		}
	}
}

/* Memory of peers', or of ours that peers write to, has gone: the connections that it is of end. */
static void end_lost(struct shm_dev *dev)
{
	struct shm_sock *sock, *next;
	unsigned losses = guard_losses();
	bool is_ours;

	if (losses == dev->losses_seen)
		return;
	dev->losses_seen = losses;
	is_ours = shm_own_has_lost(dev);
	for (sock = TAILQ_FIRST(&dev->socks); sock; sock = next) {
		next = TAILQ_NEXT(sock, entry);
		if (sock->fd < 0 || (!is_ours && !shm_peer_has_lost(&sock->peer)))
			continue;
		shm_count(dev, &dev->nerrors);
		shm_sock_ended(sock, is_ours ? -EIO : -EPROTO);
	}
}

/* A peer's process has ended. What it sent before is taken, then its connections end: a child of its may have their sockets. */
static void end_dead(struct shm_dev *dev, struct shm_life *life)
{
	struct shm_sock *sock, *next;

	life_end(dev, life);
	life->nusers++; /* for as long as this takes */
	for (sock = TAILQ_FIRST(&dev->socks); sock; sock = next) {
		uint64_t id = sock->id;

		next = TAILQ_NEXT(sock, entry);
		if (sock->life != life || sock->fd < 0)
			continue;
		on_socket(sock, EPOLLIN); /* which may end it, and free it */
		LIST_FOREACH(sock, &dev->by_id[id % SHM_ID_LISTS], same)
		if (sock->id == id)
			break;
		if (sock && sock->fd >= 0)
			shm_sock_ended(sock, -ECONNRESET);
	}
	life_put(dev, life);
}

static void on_ready(struct shm_dev *dev, uint64_t id, uint32_t events)
{
	uint64_t wakes;
	struct fabric_listener *listener;
	struct shm_life *life;
	struct shm_sock *sock;

	if (id == 0) {
		(void)!read(dev->wake_fd, &wakes, sizeof(wakes));
		end_lost(dev);
		return;
	}
	TAILQ_FOREACH(listener, &dev->listeners, entry)
	{
		if (listener->id == id) {
			on_connection(listener);
			return;
		}
	}
	LIST_FOREACH(sock, &dev->by_id[id % SHM_ID_LISTS], same)
	{
		if (sock->id == id) {
			on_socket(sock, events);
			return;
		}
	}
	life = life_find(dev, id);
	if (life)
		end_dead(dev, life);
}

/* End those whose message did not come. Returns whether any is still due, or may be: it looks at all, so not at each event
 * of thousands. */
static bool sweep(struct shm_dev *dev, uint64_t *next_ns)
{
	struct shm_sock *sock, *next;
	struct timespec ts;
	bool any = false;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (now < *next_ns)
		return true;
	*next_ns = now + SWEEP_MS * 1000000ull;
	for (sock = TAILQ_FIRST(&dev->socks); sock; sock = next) {
		next = TAILQ_NEXT(sock, entry);
		any |= sock->deadline_ns != UINT64_MAX && now < sock->deadline_ns;
		if (now >= sock->deadline_ns)
			shm_sock_ended(sock, -ETIMEDOUT);
	}
	return any;
}

static void *control(void *arg)
{
	const struct timespec pause = {.tv_nsec = STARVED_NS};
	struct shm_dev *dev = arg;
	bool sweeps = false, starves;
	uint64_t next_sweep_ns = 0;

	for (;;) {
		struct epoll_event events[16];
		int n = epoll_wait(dev->epoll_fd, events, 16, sweeps ? SWEEP_MS : -1);

		while (atomic_load(&dev->nwanting) != 0)
			sched_yield();
		pthread_mutex_lock(&dev->lock);
		if (dev->stops) {
			pthread_mutex_unlock(&dev->lock);
			return NULL;
		}
		dev->is_starved = false;
		for (int i = 0; i < n; i++)
			on_ready(dev, events[i].data.u64, events[i].events);
		sweeps = sweep(dev, &next_sweep_ns);
		starves = dev->is_starved;
		pthread_mutex_unlock(&dev->lock);
		/* What can't be accepted would be reported again at once. */
		if (starves)
			nanosleep(&pause, NULL);
	}
}

int shm_cm_start(struct shm_dev *dev)
{
	struct epoll_event wake = {.events = EPOLLIN, .data.u64 = 0};
	sigset_t all, old;
	int rc;

	dev->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	dev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->epoll_fd < 0 || dev->wake_fd < 0 ||
	    epoll_ctl(dev->epoll_fd, EPOLL_CTL_ADD, dev->wake_fd, &wake) != 0)
		return -errno;
	/* Signals are the application's threads' business; and this one's CPUs those that EAL gives to no lcore. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = rte_ctrl_thread_create(&dev->thread, "weir-shm-cm", NULL, control, dev);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	dev->has_thread = rc == 0;
	return rc;
}

void shm_cm_wake(struct shm_dev *dev)
{
	uint64_t one = 1;

	/* It can fail only when the counter is full: then the thread is awake, or will be. */
	(void)!write(dev->wake_fd, &one, sizeof(one));
}

void shm_cm_stop(struct shm_dev *dev)
{
	if (dev->has_thread) {
		shm_lock(dev);
		dev->stops = true;
		shm_unlock(dev);
		shm_cm_wake(dev);
		pthread_join(dev->thread, NULL);
	}
	if (dev->epoll_fd >= 0)
		close(dev->epoll_fd);
	if (dev->wake_fd >= 0)
		close(dev->wake_fd);
}
