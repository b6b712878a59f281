/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection's socket: its messages out, its end, and the events made of it. The lock is held in all of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "shm.h"

#define GREETING_NS 5000000000ull  /* how long a HELLO or a READY may take: threads of control send them */
#define ANSWER_NS   30000000000ull /* and an ACCEPT, which waits for the peer's engine */

static _Atomic uint64_t next_id = 1;

uint64_t shm_watch(struct shm_dev *dev, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = next_id++};

	return epoll_ctl(dev->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? event.data.u64 : 0;
}

void shm_unwatch(struct shm_dev *dev, int fd)
{
	epoll_ctl(dev->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void shm_sock_set_id(struct shm_sock *sock, uint64_t id)
{
	sock->id = id;
	LIST_INSERT_HEAD(&sock->dev->by_id[id % SHM_ID_LISTS], sock, same);
}

void shm_sock_peer(int fd, struct weir_peer *who)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	*who = (struct weir_peer){.address = "process ?"};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return;
	who->has_credentials = true;
	who->uid = cred.uid;
	who->gid = cred.gid;
	who->pid = cred.pid;
	snprintf(who->address, sizeof(who->address), "process %d", (int)cred.pid);
}

struct shm_sock *shm_sock_new(struct shm_dev *dev, int fd, enum shm_sock_state state)
{
	struct shm_sock *sock;
	uint64_t id;

	if (dev->nsocks >= dev->max_connections)
		return NULL;
	sock = mem_zalloc(sizeof(*sock));
	if (!sock)
		return NULL;
	sock->dev = dev;
	sock->fd = fd;
	shm_sock_peer(fd, &sock->who);
	sock->life = life_get(dev, fd, sock->who.pid);
	sock->lanes_fd = -1;
	sock->events[0].sock = sock;
	sock->events[1].sock = sock;
	id = shm_watch(dev, fd);
	if (id == 0) {
		life_put(dev, sock->life);
		mem_free(sock);
		return NULL;
	}
	shm_sock_set_id(sock, id);
	shm_sock_enter(sock, state);
	dev->nsocks++;
	TAILQ_INSERT_TAIL(&dev->socks, sock, entry);
	return sock;
}

static bool is_waiting(enum shm_sock_state state)
{
	return state == SOCK_GREETING || state == SOCK_REQUEST;
}

void shm_sock_enter(struct shm_sock *sock, enum shm_sock_state state)
{
	struct timespec now;

	if (sock->listener && is_waiting(sock->state) && !is_waiting(state))
		sock->listener->nwaiting--;
	sock->state = state;
	sock->deadline_ns = UINT64_MAX;
	if (state != SOCK_GREETING && state != SOCK_ACCEPTED && state != SOCK_CONNECTING)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	sock->deadline_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec +
			    (state == SOCK_CONNECTING ? ANSWER_NS : GREETING_NS);
	shm_cm_wake(sock->dev);
}

void shm_sock_close(struct shm_sock *sock)
{
	if (sock->fd >= 0) {
		/* A child of this process may have the socket, too: to close the descriptor would neither end the connection nor
		 * take it out of epoll. */
		shm_unwatch(sock->dev, sock->fd);
		shutdown(sock->fd, SHUT_RDWR);
		close(sock->fd);
	}
	sock->fd = -1;
	shm_sock_enter(sock, SOCK_DEAD);
}

void shm_sock_free(struct shm_sock *sock)
{
	struct shm_dev *dev = sock->dev;

	shm_event_drop(&sock->events[0]);
	shm_event_drop(&sock->events[1]);
	shm_sock_close(sock);
	life_put(dev, sock->life);
	shm_peer_release(&sock->peer);
	if (sock->lanes_fd >= 0)
		close(sock->lanes_fd);
	if (sock->rings)
		munmap(sock->rings, sock->rings_bytes);
	TAILQ_REMOVE(&dev->socks, sock, entry);
	LIST_REMOVE(sock, same);
	dev->nsocks--;
	mem_free(sock);
}

void shm_sock_ended(struct shm_sock *sock, int error)
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
		/* Not if it broke a rule meanwhile. */
		if (sock->has_left && error == -ECONNRESET)
			error = -ESHUTDOWN;
		shm_event_push(sock, FABRIC_CM_DISCONNECTED, error, NULL);
		break;
	case SOCK_REQUEST: /* accept will find it dead */
	case SOCK_DEAD:
		break;
	}
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
	/* A packet goes as a whole or not at all. */
	return sendmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void shm_sock_announce(struct shm_sock *sock, uint64_t places)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = sock->id};
	bool was_behind = sock->unannounced != 0;
	int rc = 0;

	sock->unannounced |= places;
	while (sock->unannounced != 0 && rc == 0) {
		struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_REGION};
		uint64_t one = sock->unannounced & -sock->unannounced;
		int fd;

		if (shm_offer_regions(sock->dev, one, &msg, &fd) != 0) /* else it is gone again */
			rc = shm_sock_send(sock, &msg, &fd, 1);
		if (rc == 0)
			sock->unannounced &= ~one;
	}
	if (rc == -EAGAIN)
		event.events |= EPOLLOUT;
	else if (rc != 0)
		shm_sock_ended(sock, rc);
	if (sock->fd >= 0 && was_behind != (sock->unannounced != 0))
		epoll_ctl(sock->dev->epoll_fd, EPOLL_CTL_MOD, sock->fd, &event);
}

void shm_event_push(struct shm_sock *sock, enum fabric_cm_kind kind, int error, const struct shm_msg *msg)
{
	struct shm_event *event = &sock->events[sock->events[0].is_queued];
	struct shm_dev *dev = sock->dev;

	event->event = (struct fabric_cm_event){.kind = kind, .error = error};
	if (kind == FABRIC_CM_REQUEST) {
		event->event.req = sock;
		event->event.listener_ctx = sock->listener->ctx;
	}
	if (msg && msg->private_len <= FABRIC_PRIVATE_DATA_MAX) {
		event->event.private_len = msg->private_len;
		memcpy(event->event.private_data, msg->private_data, msg->private_len);
	}
	event->event.peer = sock->who;
	event->is_queued = true;
	TAILQ_INSERT_TAIL(&dev->events, event, entry);
	dev->nevents++;
}

void shm_event_drop(struct shm_event *event)
{
	struct shm_dev *dev = event->sock->dev;

	if (!event->is_queued)
		return;
	event->is_queued = false;
	TAILQ_REMOVE(&dev->events, event, entry);
	dev->nevents--;
}
