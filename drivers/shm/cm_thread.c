/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: it sleeps on a device's sockets, takes what peers say there, checks it, maps what they
 * offer, and leaves an event for the engine's thread. A socket's life:
 *
 *   accepted:  GREETING -HELLO-> REQUEST -accept-> ACCEPTED -READY-> OPEN
 *   connected: CONNECTING -ACCEPT-> OPEN
 *
 * An end of file is how a peer leaves, or dies: the kernel closes its sockets. Anything that is not the message that
 * is due ends the connection. What a peer that says nothing can hold is bounded in number and time.
 * The lock is held while an event is handled; the engine's thread takes it only to set up or tear down.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shm.h"

#define GREETING_NS 5000000000ull /* how long a HELLO may take */
#define SWEEP_MS    500		  /* how often that is looked at, while someone owes one */

static _Atomic uint64_t next_id = 1;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t shm_watch(struct shm_dev *dev, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = next_id++};

	return epoll_ctl(dev->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? event.data.u64 : 0;
}

void shm_unwatch(struct shm_dev *dev, int fd)
{
	epoll_ctl(dev->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

struct shm_sock *shm_sock_new(struct shm_dev *dev, int fd, enum shm_sock_state state)
{
	struct shm_sock *sock;

	if (dev->nsocks >= dev->max_connections)
		return NULL;
	sock = calloc(1, sizeof(*sock));
	if (!sock)
		return NULL;
	sock->dev = dev;
	sock->fd = fd;
	sock->state = state;
	sock->deadline_ns = now_ns() + GREETING_NS;
	sock->id = shm_watch(dev, fd);
	if (sock->id == 0) {
		free(sock);
		return NULL;
	}
	dev->nsocks++;
	TAILQ_INSERT_TAIL(&dev->socks, sock, entry);
	return sock;
}

void shm_sock_close(struct shm_sock *sock)
{
	if (sock->fd >= 0)
		close(sock->fd); /* leaves epoll by itself: nobody else has the descriptor */
	sock->fd = -1;
	sock->state = SOCK_DEAD;
}

void shm_sock_free(struct shm_sock *sock)
{
	struct shm_dev *dev = sock->dev;
	struct shm_event *event, *next;

	for (event = TAILQ_FIRST(&dev->events); event; event = next) {
		next = TAILQ_NEXT(event, entry);
		if (event->sock != sock)
			continue;
		TAILQ_REMOVE(&dev->events, event, entry);
		dev->nevents--;
		free(event);
	}
	shm_sock_close(sock);
	shm_peer_release(&sock->peer);
	if (sock->rings)
		munmap(sock->rings, sock->rings_bytes);
	TAILQ_REMOVE(&dev->socks, sock, entry);
	dev->nsocks--;
	free(sock);
}

int shm_sock_send(const struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SHM_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)msg, sizeof(*msg)};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds > 0) {
		struct cmsghdr *cmsg;

		hdr.msg_control = control.bytes;
		hdr.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
	}
	if (sendmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(*msg))
		return errno ? -errno : -EIO;
	return 0;
}

void shm_event_push(struct shm_sock *sock, enum fabric_cm_kind kind, int error, const struct shm_msg *msg)
{
	struct shm_dev *dev = sock->dev;
	struct shm_event *event = calloc(1, sizeof(*event));
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	if (!event)
		return;
	event->sock = sock;
	event->event.kind = kind;
	event->event.error = error;
	if (kind == FABRIC_CM_REQUEST) {
		event->event.req = sock;
		event->event.listener_ctx = sock->listener->ctx;
	}
	if (msg && msg->private_len <= FABRIC_PRIVATE_DATA_MAX) {
		event->event.private_len = msg->private_len;
		memcpy(event->event.private_data, msg->private_data, msg->private_len);
	}
	if (sock->fd >= 0 && getsockopt(sock->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
		snprintf(event->event.peer, sizeof(event->event.peer), "process %d", (int)cred.pid);
	TAILQ_INSERT_TAIL(&dev->events, event, entry);
	dev->nevents++;
}

/* It is over, from the peer's side: tell the engine what it needs to hear. */
static void sock_ended(struct shm_sock *sock, int error)
{
	enum shm_sock_state state = sock->state;

	shm_sock_close(sock);
	switch (state) {
	case SOCK_GREETING:
		shm_sock_free(sock);
		break;
	case SOCK_CONNECTING:
	case SOCK_ACCEPTED:
		shm_event_push(sock, FABRIC_CM_FAILED, error, NULL);
		break;
	case SOCK_OPEN:
		shm_event_push(sock, FABRIC_CM_DISCONNECTED, error, NULL);
		break;
	case SOCK_REQUEST: /* accept will find it dead */
	case SOCK_DEAD:
		break;
	}
}

static bool ring_bytes_ok(const struct shm_msg *msg)
{
	uint32_t size = msg->ring_bytes;

	return size >= RING_BYTES_MIN && size <= RING_BYTES_MAX && (size & (size - 1)) == 0;
}

/* HELLO and ACCEPT: who the peer is, its key table, its regions. 'fds' starts at the key table's. */
static int take_peer(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	struct shm_peer *peer = &sock->peer;

	if (nfds < 1 || msg->conn_id == KEY_ANY_CONN || msg->max_msg_bytes == 0 ||
	    msg->max_msg_bytes > SHM_MSG_MAX || msg->private_len > FABRIC_PRIVATE_DATA_MAX)
		return -EPROTO;
	peer->keys.entries = shm_map(fds[0], 0, sizeof(struct key_entry) * KEY_ENTRIES, false);
	if (!peer->keys.entries)
		return -EPROTO;
	peer->conn_id = msg->conn_id;
	peer->max_msg_bytes = msg->max_msg_bytes;
	return shm_peer_import(peer, msg, fds + 1, nfds - 1, false);
}

static int on_hello(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	if (msg->type != SHM_HELLO || nfds < 2 || !ring_bytes_ok(msg) || !sock->listener)
		return -EPROTO;
	sock->ring_bytes = msg->ring_bytes;
	sock->rings_bytes = 2 * ring_footprint(msg->ring_bytes);
	sock->rings = shm_map(fds[0], 0, sock->rings_bytes, true);
	if (!sock->rings)
		return -EPROTO;
	if (take_peer(sock, msg, fds + 1, nfds - 1) != 0)
		return -EPROTO;
	sock->state = SOCK_REQUEST;
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
	if (msg->type != SHM_ACCEPT || take_peer(sock, msg, fds, nfds) != 0)
		return -EPROTO;
	if (shm_sock_send(sock, &ready, NULL, 0) != 0)
		return -ECONNRESET;
	sock->state = SOCK_OPEN;
	shm_event_push(sock, FABRIC_CM_ESTABLISHED, 0, msg);
	return 0;
}

static int on_message(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	if (msg->type == SHM_REGION && sock->state != SOCK_GREETING && sock->state != SOCK_CONNECTING)
		return shm_peer_import(&sock->peer, msg, fds, nfds, true);
	switch (sock->state) {
	case SOCK_GREETING:
		return on_hello(sock, msg, fds, nfds);
	case SOCK_CONNECTING:
		return on_answer(sock, msg, fds, nfds);
	case SOCK_ACCEPTED:
		if (msg->type != SHM_READY)
			return -EPROTO;
		sock->state = SOCK_OPEN;
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

static void on_readable(struct shm_sock *sock)
{
	int rc = 0;

	while (rc == 0 && sock->fd >= 0)
		rc = read_one(sock);
	if (rc != 0 && rc != -EAGAIN) {
		sock->dev->nerrors += rc == -EPROTO;
		sock_ended(sock, rc);
	}
}

/* Connections of this listener that nobody has accepted yet. */
static uint32_t waiting(const struct fabric_listener *listener)
{
	const struct shm_sock *sock;
	uint32_t n = 0;

	TAILQ_FOREACH(sock, &listener->dev->socks, entry)
	n += sock->listener == listener && (sock->state == SOCK_GREETING || sock->state == SOCK_REQUEST);
	return n;
}

static void on_connection(struct fabric_listener *listener)
{
	int fd;

	while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct shm_sock *sock = NULL;

		if (waiting(listener) < listener->backlog)
			sock = shm_sock_new(listener->dev, fd, SOCK_GREETING);
		if (sock)
			sock->listener = listener;
		else
			close(fd);
	}
}

static void on_ready(struct shm_dev *dev, uint64_t id)
{
	struct fabric_listener *listener;
	struct shm_sock *sock;

	TAILQ_FOREACH(listener, &dev->listeners, entry)
	{
		if (listener->id == id) {
			on_connection(listener);
			return;
		}
	}
	TAILQ_FOREACH(sock, &dev->socks, entry)
	{
		if (sock->id == id) {
			on_readable(sock);
			return;
		}
	}
}

/* End those that owe their HELLO for too long. Returns whether any still owes one. */
static bool sweep(struct shm_dev *dev)
{
	struct shm_sock *sock, *next;
	uint64_t now = now_ns();
	bool any = false;

	for (sock = TAILQ_FIRST(&dev->socks); sock; sock = next) {
		next = TAILQ_NEXT(sock, entry);
		if (sock->state != SOCK_GREETING)
			continue;
		if (now >= sock->deadline_ns)
			sock_ended(sock, -ETIMEDOUT);
		else
			any = true;
	}
	return any;
}

static void *control(void *arg)
{
	struct shm_dev *dev = arg;
	bool sweeps = false;

	for (;;) {
		struct epoll_event events[16];
		int n = epoll_wait(dev->epoll_fd, events, 16, sweeps ? SWEEP_MS : -1);

		pthread_mutex_lock(&dev->lock);
		if (dev->stops) {
			pthread_mutex_unlock(&dev->lock);
			return NULL;
		}
		for (int i = 0; i < n; i++)
			on_ready(dev, events[i].data.u64);
		sweeps = sweep(dev);
		pthread_mutex_unlock(&dev->lock);
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
	/* Signals are the application's threads' business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&dev->thread, NULL, control, dev);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		pthread_setname_np(dev->thread, "weir-shm-cm");
	dev->has_thread = rc == 0;
	return rc;
}

void shm_cm_stop(struct shm_dev *dev)
{
	uint64_t one = 1;

	if (dev->has_thread) {
		pthread_mutex_lock(&dev->lock);
		dev->stops = true;
		pthread_mutex_unlock(&dev->lock);
		if (write(dev->wake_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
			pthread_join(dev->thread, NULL);
	}
	if (dev->epoll_fd >= 0)
		close(dev->epoll_fd);
	if (dev->wake_fd >= 0)
		close(dev->wake_fd);
}
