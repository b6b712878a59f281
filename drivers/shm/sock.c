/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection's socket: its creation, its states, its end, and the events that report the changes
 * of its state to the engine. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "shm_dev.h"
#include "sigbus_guard.h"

#define GREETING_NS                                                                                \
	5000000000ull /* time limit for a HELLO and a READY, which are sent by control threads */
/* time limit for WELCOME and for ACCEPT, which waits for the peer's engine */
#define ANSWER_NS 30000000000ull

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16 */
#endif

struct shm_account *shm_account_of(const struct weir_peer *who)
{
	return shm_account_get(who->has_credentials ? who->uid : UINT32_MAX);
}

bool shm_pass_rights(int fd, bool may_pass)
{
	int value = may_pass;

	return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof(value)) == 0;
}

struct shm_sock *shm_sock_new(struct shm_dev *dev, int fd, struct shm_account *account)
{
	struct shm_sock *sock = mem_zalloc(sizeof(*sock));
	int on = 1;

	if (!sock)
		return NULL;
	/* With this option, recvmsg(2) returns the sender's credentials with each message. Thus an
	 * empty message differs from the end of the stream. */
	(void)setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	sock->dev = dev;
	sock->fd = fd;
	sock->account = account;
	sock->id = shm_next_id();
	sock->state = SOCK_DEAD;
	sock->rings_fd = -1;
	sock->mux_fd = -1;
	sock->rings.guard = GUARD_NONE;
	sock->fresh.mapping.guard = GUARD_NONE;
	sock->events[0].sock = sock;
	sock->events[1].sock = sock;
	shm_users_peer(fd, &sock->who);
	shm_users_read_groups(&dev->overflow, fd, &sock->who);
	sock->life = life_get(dev, fd, sock->who.pid);
	return sock;
}

int shm_sock_watch(struct shm_sock *sock)
{
	int rc = shm_watch(sock->dev, sock->fd, sock->id);

	sock->is_watched = rc == 0;
	return rc;
}

int shm_sock_add(struct shm_sock *sock, enum shm_sock_state state)
{
	struct shm_dev *dev = sock->dev;
	int rc = -ENOSPC;

	shm_lock(dev);
	if (dev->nsocks < dev->max_connections) {
		dev->nsocks++;
		TAILQ_INSERT_TAIL(&dev->socks, sock, entry);
		LIST_INSERT_HEAD(&dev->by_id[sock->id % SHM_ID_LISTS], sock, same);
		sock->is_known = true;
		sock->visit = dev->visit;
		if (state == SOCK_GREETING) {
			const struct backlog_peer peer = shm_backlog_peer(sock->account);

			backlog_add(&sock->listener->backlog, &sock->waiting, &peer);
		}
		shm_sock_enter(sock, state);
		/* The end of the peer's process might have been reported since 'life' was looked
		 * up. It is not reported again. */
		if (sock->life && sock->life->has_ended)
			shm_sock_task(sock, TASK_DEAD);
		rc = 0;
	}
	shm_unlock(dev);
	return rc;
}

static bool is_waiting(enum shm_sock_state state)
{
	return state == SOCK_GREETING || state == SOCK_REQUEST;
}

static uint64_t wait_of(enum shm_sock_state state)
{
	switch (state) {
	case SOCK_GREETING:
	case SOCK_ACCEPTED:
		return GREETING_NS;
	case SOCK_CALLING:
	case SOCK_CONNECTING:
		return ANSWER_NS;
	default:
		return 0;
	}
}

void shm_sock_enter(struct shm_sock *sock, enum shm_sock_state state)
{
	uint64_t wait_ns = wait_of(state);

	if (sock->listener && is_waiting(sock->state) && !is_waiting(state))
		backlog_remove(&sock->listener->backlog, &sock->waiting);
	sock->state = state;
	sock->deadline_ns = UINT64_MAX;
	if (wait_ns > 0)
		sock->deadline_ns = shm_now_ns() + wait_ns;
}

void shm_sock_release_locked(struct shm_sock *sock)
{
	struct shm_dev *dev = sock->dev;

	shm_event_drop(&sock->events[0]);
	shm_event_drop(&sock->events[1]);
	shm_sock_enter(sock, SOCK_DEAD);
	sock->qp = NULL;
	sock->listener = NULL;
	if (sock->is_known)
		LIST_REMOVE(sock, same);
	sock->is_known = false;
	TAILQ_REMOVE(&dev->socks, sock, entry);
	dev->nsocks--;
	shm_sock_task(sock, TASK_FREE);
}

void shm_sock_release(struct shm_sock *sock)
{
	struct shm_dev *dev = sock->dev;

	shm_lock(dev);
	shm_sock_release_locked(sock);
	shm_unlock(dev);
	shm_cm_wake(dev);
}

/* Closes and unmaps all that a socket has, and frees the socket. Called on a worker of the reaper,
 * because the peer can prolong each of these calls as it likes. */
static void sock_give_up(struct reap_job *job)
{
	struct shm_sock *sock = (struct shm_sock *)job;

	close(sock->fd);
	for (uint32_t i = 0; i < sock->nforeign; i++)
		close(sock->foreign[i]);
	if (sock->rings_fd >= 0)
		close(sock->rings_fd);
	if (sock->mux_fd >= 0)
		close(sock->mux_fd);
	muxes_give_up(sock->offered);
	mapping_release(&sock->rings);
	mapping_release(&sock->fresh.mapping);
	shm_peer_release(&sock->peer);
	mem_free(sock->hello);
	mem_free(sock);
}

/* Returns whether the queue of a socket that is shut down has no message left. The peer cannot add
 * messages any more. */
static bool is_empty(int fd)
{
	for (uint32_t i = 0; i < 2; i++) {
		char byte;
		struct iovec iov = {&byte, 1};
		struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n = recvmsg(fd, &hdr, MSG_PEEK | MSG_DONTWAIT);

		/* Each message, even an empty one, has credentials, for which 'hdr' has no room.
		 * Therefore MSG_CTRUNC is set if there is a message. */
		if (n >= 0)
			return n == 0 && !(hdr.msg_flags & MSG_CTRUNC);
		if (errno == EAGAIN)
			return true;
		/* The kernel reports that the peer has closed its socket once, as an error. */
	}
	return true;
}

void shm_sock_drop(struct shm_sock *sock)
{
	(void)shutdown(sock->fd, SHUT_RDWR);
	if (sock->is_watched)
		(void)epoll_ctl(sock->dev->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL);
	shm_unwatch_wakes(sock);
	life_put(sock->dev, sock->life);
	sock->job = (struct reap_job){
		.run = sock_give_up,
		.account = sock->account,
		.is_suspect = sock->nforeign > 0 || !is_empty(sock->fd),
	};
	reap(&sock->job);
}

void shm_sock_ended(struct shm_sock *sock, int error)
{
	struct shm_dev *dev = sock->dev;
	enum shm_sock_state state;
	bool is_freed = false;

	shm_lock(dev);
	state = sock->state;
	switch (state) {
	case SOCK_GREETING:
		shm_sock_release_locked(sock);
		is_freed = true;
		break;
	case SOCK_CALLING: /* the peer refused the connection, and closed it at once */
		shm_event_push(sock, FABRIC_CM_FAILED, error == -ECONNRESET ? -ECONNREFUSED : error,
			       NULL);
		break;
	case SOCK_CONNECTING:
	case SOCK_ACCEPTED:
		shm_event_push(sock, FABRIC_CM_FAILED, error, NULL);
		break;
	case SOCK_OPEN:
		/* After GOODBYE, the end of the socket is an orderly end. Other errors, such as a
		 * violation of the protocol, stay. */
		if (sock->has_left && error == -ECONNRESET)
			error = -ESHUTDOWN;
		shm_event_push(sock, FABRIC_CM_DISCONNECTED, error, NULL);
		break;
	case SOCK_REQUEST:
	case SOCK_DEAD:
		break;
	}
	if (!is_freed && state != SOCK_DEAD)
		shm_sock_enter(sock, SOCK_DEAD);
	shm_unlock(dev);
	/* The descriptor stays open until the control thread frees the socket. epoll reports the
	 * shutdown to the control thread if another thread has called this function. */
	if (state != SOCK_DEAD)
		(void)shutdown(sock->fd, SHUT_RDWR);
}

void shm_event_push(struct shm_sock *sock, enum fabric_cm_kind kind, int error,
		    const struct shm_msg *msg)
{
	struct shm_event *event = &sock->events[sock->events[0].list != NULL];
	struct shm_dev *dev = sock->dev;

	event->kind = kind;
	event->error = error;
	if (msg && msg->private_len <= FABRIC_PRIVATE_DATA_MAX) {
		sock->private_len = msg->private_len;
		memcpy(sock->private_data, msg->private_data, msg->private_len);
	}
	event->list = &dev->events;
	TAILQ_INSERT_TAIL(&dev->events, event, entry);
	dev->nevents++;
	atomic_store(&dev->has_news, true);
}

void shm_event_drop(struct shm_event *event)
{
	struct shm_dev *dev = event->sock->dev;

	if (!event->list)
		return;
	TAILQ_REMOVE(event->list, event, entry);
	event->list = NULL;
	dev->nevents--;
}

void shm_event_take(struct shm_event *event, struct fabric_cm_event *taken)
{
	struct shm_sock *sock = event->sock;

	*taken = (struct fabric_cm_event){
		.kind = event->kind, .error = event->error, .peer = sock->who};
	if (event->kind == FABRIC_CM_REQUEST) {
		taken->req = sock;
		taken->listener_ctx = sock->listener->ctx;
		taken->is_crowded = sock->is_crowded;
	}
	taken->private_len = sock->private_len;
	memcpy(taken->private_data, sock->private_data, sock->private_len);
	sock->private_len = 0;
	shm_event_drop(event);
}
