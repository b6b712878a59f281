/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and handles the messages on a connection's socket. They come from another process, which
 * can send anything.
 *
 * A message is looked at (MSG_PEEK) before it is taken from the socket's queue. The descriptors
 * that arrive with a look are copies. If the kernel drops a copy, because there is no room for it
 * in the buffer or in the process, the copy is not the last reference to its file. Therefore its
 * close cannot block. The message is taken only if all of its descriptors are memfds. Otherwise the
 * message stays in the queue. The reaper closes the copies in either case, because closing the last
 * reference frees the file's pages.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define MESSAGES_MAX 16u /* messages read from one socket before other sockets are served */
#define FDS_ROOM     (SHM_FDS_MAX + 1) /* one more than allowed, to notice excess ones */
/* More WAKE messages than the queue of a socket has room for. So many can arrive late. */
#define WAKES_MAX  1024u
#define PAUSES_MAX 250u /* pauses of one message: at least 2.5 s */

#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(FDS_ROOM * sizeof(int))];
};

/* A message that was looked at: its content, the result of recvmsg(2) and msg_flags, and the copies
 * of its descriptors. */
struct look {
	struct shm_msg msg;
	ssize_t n;
	int flags;
	bool has_control; /* true for each message, which has its sender's credentials */
	int fds[FDS_ROOM];
	uint32_t nfds;
};

int shm_sock_send(const struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		  uint32_t nfds)
{
	union control control = {0};
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
	/* The kernel sends a packet as a whole or not at all. */
	return sendmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Closes the copies of a message's descriptors. The message is still in the socket's queue, so that
 * these are not the last references. */
static void drop_copies(const struct look *look)
{
	for (uint32_t i = 0; i < look->nfds; i++)
		close(look->fds[i]);
}

static enum shm_sock_state state_of(struct shm_sock *sock)
{
	enum shm_sock_state state;

	shm_lock(sock->dev);
	state = sock->state;
	shm_unlock(sock->dev);
	return state;
}

/* Moves a socket from state 'from' to state 'to'. If 'kind' is not negative, the function also
 * queues an event of this kind, with the private data of 'msg', for the engine. Returns 0, or
 * -ECONNRESET if the engine's thread has ended the connection meanwhile. */
static int sock_enter(struct shm_sock *sock, enum shm_sock_state from, enum shm_sock_state to,
		      int kind, const struct shm_msg *msg)
{
	int rc = -ECONNRESET;

	shm_lock(sock->dev);
	if (sock->state == from) {
		shm_sock_enter(sock, to);
		if (kind >= 0)
			shm_event_push(sock, (enum fabric_cm_kind)kind, 0, msg);
		rc = 0;
	}
	shm_unlock(sock->dev);
	return rc;
}

static struct mapping_owner owner_of(const struct shm_sock *sock)
{
	return (struct mapping_owner){sock->account, &sock->dev->limits, sock->dev->wake_fd,
				      sock->id};
}

static bool ring_bytes_ok(const struct shm_msg *msg)
{
	uint32_t size = msg->ring_bytes;

	return size >= RING_BYTES_MIN && size <= RING_BYTES_MAX && (size & (size - 1)) == 0 &&
	       msg->max_msg_bytes <= ring_msg_max(size);
}

/* Takes conn_id and max_msg_bytes of the peer from its HELLO or ACCEPT, and maps its key table.
 * Returns 0, -EPROTO if a value is invalid, or an error of mapping_peer(). */
static int take_peer(struct shm_sock *sock, const struct shm_msg *msg, int keys_fd)
{
	const struct mapping_owner owner = owner_of(sock);
	struct shm_peer *peer = &sock->peer;
	int rc;

	if (msg->conn_id == KEY_ANY_CONN || msg->max_msg_bytes == 0 ||
	    msg->max_msg_bytes > SHM_MSG_MAX || msg->private_len > FABRIC_PRIVATE_DATA_MAX)
		return -EPROTO;
	rc = mapping_peer(&peer->keys_mapping, &owner, keys_fd, 0, sizeof(struct key_table_memory),
			  false, false);
	if (rc != 0)
		return rc;
	peer->keys.entries = peer->keys_mapping.base;
	peer->keys.asleep = &((const struct key_table_memory *)peer->keys_mapping.base)->asleep;
	peer->conn_id = msg->conn_id;
	peer->max_msg_bytes = msg->max_msg_bytes;
	return 0;
}

/* Gives the socket of a complete request to the engine. The control thread does not use the socket
 * until it is watched again. Returns SHM_HANDED_OVER, or -ECONNRESET if the listener or the
 * connection has ended meanwhile. */
static int hand_over(struct shm_sock *sock, const struct shm_msg *msg)
{
	struct shm_dev *dev = sock->dev;
	int rc = -ECONNRESET;

	if (epoll_ctl(dev->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL) == 0)
		sock->is_watched = false;
	shm_lock(dev);
	if (sock->state == SOCK_GREETING && sock->listener) {
		LIST_REMOVE(sock, same);
		sock->is_known = false;
		/* This can only be TASK_DEAD, which shm_accept() adds again. */
		if (sock->tasks != 0)
			TAILQ_REMOVE(&dev->tasks, sock, task);
		sock->tasks = 0;
		shm_sock_enter(sock, SOCK_REQUEST);
		shm_event_push(sock, FABRIC_CM_REQUEST, 0, msg);
		rc = SHM_HANDED_OVER;
	}
	shm_unlock(dev);
	return rc;
}

static int on_hello(struct shm_sock *sock, const struct shm_msg *msg, const int *fds, uint32_t nfds)
{
	const struct mapping_owner owner = owner_of(sock);
	int rc;

	if (msg->type != SHM_HELLO || msg->has_mux > 1 || nfds != 2u + msg->has_mux ||
	    !ring_bytes_ok(msg))
		return -EPROTO;
	sock->ring_bytes = msg->ring_bytes;
	rc = mapping_peer(&sock->rings, &owner, fds[0], 0, 2 * ring_footprint(msg->ring_bytes),
			  true, false);
	if (rc == 0)
		rc = take_peer(sock, msg, fds[1]);
	if (rc == 0 && msg->has_mux)
		rc = muxes_map(sock->dev, sock->account, fds[2], &sock->offered);
	return rc == 0 ? hand_over(sock, msg) : rc;
}

/* Handles WELCOME: the peer has checked this side's credentials, and accepts descriptors from this
 * side. Sends HELLO. Returns 0, -EPROTO or -ECONNRESET. */
static int on_welcome(struct shm_sock *sock, const struct shm_msg *msg, uint32_t nfds)
{
	int fds[SHM_FDS_MAX] = {sock->rings_fd, sock->dev->keys.fd, sock->mux_fd};
	int rc;

	if (msg->type != SHM_WELCOME || nfds != 0)
		return -EPROTO;
	rc = shm_sock_send(sock, sock->hello, fds, 2 + sock->hello->has_mux);
	close(sock->rings_fd);
	if (sock->mux_fd >= 0)
		close(sock->mux_fd);
	sock->rings_fd = sock->mux_fd = -1;
	mem_free(sock->hello);
	sock->hello = NULL;
	return rc == 0 ? sock_enter(sock, SOCK_CALLING, SOCK_CONNECTING, -1, NULL) : -ECONNRESET;
}

static int on_answer(struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		     uint32_t nfds)
{
	const struct shm_msg ready = {
		.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_READY};
	int rc;

	if (msg->type == SHM_REJECT && nfds == 0) {
		rc = sock_enter(sock, SOCK_CONNECTING, SOCK_DEAD, FABRIC_CM_REJECTED, msg);
		return rc == 0 ? -ECONNRESET : rc;
	}
	if (msg->type != SHM_ACCEPT || nfds != 1 ||
	    msg->max_msg_bytes > ring_msg_max(sock->ring_bytes) || msg->has_mux > sock->has_mux ||
	    msg->slot.mux >= MUX_COUNT || msg->slot.slot >= MUX_SLOTS)
		return -EPROTO;
	rc = take_peer(sock, msg, fds[0]);
	if (rc != 0)
		return rc;
	sock->has_mux = msg->has_mux;
	sock->slot = msg->slot;
	if (shm_sock_send(sock, &ready, NULL, 0) != 0)
		return -ECONNRESET;
	shm_watch_wakes(sock);
	return sock_enter(sock, SOCK_CONNECTING, SOCK_OPEN, FABRIC_CM_ESTABLISHED, msg);
}

/* Handles WANT, by which the peer asks for a region of this side that it has not mapped yet.
 * Returns 0 or -EPROTO. If the region has ended, or the peer is not allowed to map it, no answer is
 * sent, and the peer's RDMA Read or Write fails after a time limit. */
static int on_want(struct shm_sock *sock, const struct shm_msg *msg, uint32_t nfds)
{
	uint32_t index = msg->region.id % SHM_REGIONS_MAX;

	if (nfds != 0 || msg->region.id == 0)
		return -EPROTO;
	sock->due |= 1ull << index;
	shm_sock_flush(sock);
	return 0;
}

/* Handles REGION, the peer's answer to one WANT. If this side has asked for several regions, only
 * the latest one is mapped, because the engine's thread does not wait for the others any more.
 * Returns 0, -EPROTO, or an error of shm_import_map(). */
static int on_region(struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		     uint32_t nfds)
{
	uint32_t id = msg->region.id;
	int rc;

	if (nfds != 1 || id == 0 || sock->nasked == 0)
		return -EPROTO;
	sock->nasked--;
	if (id != sock->asked)
		return 0;
	sock->asked = 0;
	/* sock->fresh is full until the engine's thread has taken or discarded the previous region.
	 * After that, the engine's thread asks for the region of this message again. */
	if (atomic_load_explicit(&sock->has_fresh, memory_order_acquire))
		return 0;
	rc = shm_import_map(sock, msg, fds[0]);
	if (rc != 0)
		return rc;
	/* 'has_fresh' is set before 'wanted' is cleared. In the other order, the engine's thread
	 * could find that nothing is wanted and that no region has arrived, and would ask for the
	 * region once more. */
	atomic_store_explicit(&sock->has_fresh, true, memory_order_release);
	atomic_compare_exchange_strong(&sock->wanted, &id, 0);
	return 0;
}

static int on_goodbye(struct shm_sock *sock, uint32_t nfds)
{
	if (nfds != 0)
		return -EPROTO;
	shm_lock(sock->dev);
	sock->has_left = true;
	shm_unlock(sock->dev);
	return 0;
}

/* Handles WAKE. An honest peer sends at most one for each time that the engine was armed. Returns
 * 0, or -EPROTO if there are more. */
static int on_wake(struct shm_sock *sock, uint32_t nfds)
{
	uint32_t narms = atomic_load(&sock->dev->narms), more = narms - sock->narms_seen;

	sock->narms_seen = narms;
	sock->wakes_left =
		more < WAKES_MAX - sock->wakes_left ? sock->wakes_left + more : WAKES_MAX;
	if (nfds != 0 || sock->wakes_left == 0)
		return -EPROTO;
	sock->wakes_left--;
	return 0;
}

static int on_message(struct shm_sock *sock, const struct shm_msg *msg, const int *fds,
		      uint32_t nfds)
{
	switch (state_of(sock)) {
	case SOCK_GREETING:
		return on_hello(sock, msg, fds, nfds);
	case SOCK_CALLING:
		return on_welcome(sock, msg, nfds);
	case SOCK_CONNECTING:
		return on_answer(sock, msg, fds, nfds);
	case SOCK_ACCEPTED:
		shm_watch_wakes(sock);
		if (msg->type == SHM_READY && nfds == 0)
			return sock_enter(sock, SOCK_ACCEPTED, SOCK_OPEN, FABRIC_CM_ESTABLISHED,
					  NULL);
		return -EPROTO;
	case SOCK_OPEN:
		shm_watch_wakes(sock);
		if (msg->type == SHM_WANT)
			return on_want(sock, msg, nfds);
		if (msg->type == SHM_GOODBYE)
			return on_goodbye(sock, nfds);
		if (msg->type == SHM_WAKE)
			return on_wake(sock, nfds);
		return msg->type == SHM_REGION ? on_region(sock, msg, fds, nfds) : -EPROTO;
	default:
		return -ECONNRESET;
	}
}

/* Collects all descriptors of a message in look->fds. Descriptors arrive in control messages of
 * type SCM_RIGHTS, and of type SCM_PIDFD if an option of the socket requests these. */
static void collect_fds(struct msghdr *hdr, struct look *look)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		uint32_t count = (uint32_t)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		look->has_control = true;
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    (cmsg->cmsg_type != SCM_RIGHTS && cmsg->cmsg_type != SCM_PIDFD))
			continue;
		for (uint32_t i = 0; i < count && look->nfds < FDS_ROOM; i++)
			memcpy(&look->fds[look->nfds++], CMSG_DATA(cmsg) + i * sizeof(int),
			       sizeof(int));
	}
}

static void peek(const struct shm_sock *sock, struct look *look)
{
	union control control;
	struct iovec iov = {&look->msg, sizeof(look->msg)};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};

	look->nfds = 0;
	look->has_control = false;
	look->n = recvmsg(sock->fd, &hdr, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	look->flags = hdr.msg_flags;
	if (look->n >= 0)
		collect_fds(&hdr, look);
}

static void take(const struct shm_sock *sock)
{
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

	(void)!recvmsg(sock->fd, &hdr, MSG_DONTWAIT);
}

/* Returns whether all descriptors of a message are memfds. If not, the function stores them in
 * sock->foreign, which the reaper closes after the connection has ended. */
static bool are_memfds(struct shm_sock *sock, const struct look *look)
{
	uint32_t n = 0;

	while (n < look->nfds && mapping_is_memfd(look->fds[n]))
		n++;
	if (n == look->nfds)
		return true;
	memcpy(sock->foreign, look->fds, look->nfds * sizeof(look->fds[0]));
	sock->nforeign = look->nfds;
	return false;
}

static bool is_well_formed(const struct look *look)
{
	return look->n == (ssize_t)sizeof(look->msg) && !(look->flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	       look->nfds <= SHM_FDS_MAX && look->msg.magic == SHM_MAGIC &&
	       look->msg.version == SHM_VERSION;
}

/* Handles a message whose descriptors cannot be received: this process has no free descriptor
 * number, or a security module forbids it. The message stays in the socket's queue, and the socket
 * pauses. Returns -EAGAIN, or -EMFILE if the message has waited for PAUSES_MAX pauses. */
static int wait_for_descriptors(struct shm_sock *sock)
{
	if (sock->npauses++ < PAUSES_MAX) {
		sock->is_paused = true;
		return -EAGAIN;
	}
	return -EMFILE;
}

/*
 * Reads one message. Returns one of these values:
 * - 0: the message was handled.
 * - -EAGAIN: there is no message, or it waits for descriptors.
 * - SHM_HANDED_OVER: the message was a HELLO, and the engine owns the socket.
 * - Any other value, an error: the connection must end.
 */
static int read_one(struct shm_sock *sock)
{
	struct shm_account *account = sock->account;
	struct shm_dev *dev = sock->dev;
	struct look look;
	int rc;

	peek(sock, &look);
	if (look.n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECONNRESET;
	if (look.n == 0 && !look.has_control)
		return -ECONNRESET; /* the peer has left */
	if (!are_memfds(sock, &look))
		return -EPROTO;
	if (look.flags & MSG_CTRUNC && look.nfds < FDS_ROOM) {
		drop_copies(&look);
		return wait_for_descriptors(sock);
	}
	/* After on_message(), another thread can own the socket and release it. */
	shm_account_hold(account);
	sock->is_paused = false;
	sock->npauses = 0;
	rc = -EPROTO;
	if (is_well_formed(&look)) {
		/* The engine's thread wakes up because of this message, too. If it found the queue
		 * empty, it would sleep again. */
		if (look.msg.type == SHM_WAKE) {
			atomic_store(&dev->has_news, true);
			shm_wake_engine(dev);
		}
		take(sock);
		rc = on_message(sock, &look.msg, look.fds, look.nfds);
		/* If this side's queue was full, the peer's WAKE could not be sent. Therefore every
		 * message wakes the engine. */
		atomic_store(&dev->has_news, true);
	}
	shm_discard_fds(look.fds, look.nfds, account, false);
	shm_account_put(account);
	return rc;
}

int shm_sock_read(struct shm_sock *sock)
{
	int rc = 0;

	for (uint32_t i = 0; i < MESSAGES_MAX && rc == 0; i++)
		rc = read_one(sock);
	return rc;
}

/* Sends WANT for the region 'wanted' of the engine's thread, unless the peer was asked for it
 * already. Returns 0, or -errno if the message was not sent. */
static int send_want(struct shm_sock *sock)
{
	struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_WANT};
	int rc;

	msg.region.id = atomic_load(&sock->wanted);
	if (msg.region.id == 0 || msg.region.id == sock->asked)
		return 0;
	rc = shm_sock_send(sock, &msg, NULL, 0);
	if (rc == 0) {
		sock->asked = msg.region.id;
		sock->nasked++;
	}
	return rc;
}

/* Sends the region with the lowest index in sock->due, if it still exists and the peer is allowed
 * to map it. Returns 0, or -errno if the message was not sent. */
static int send_region(struct shm_sock *sock)
{
	struct shm_msg msg = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_REGION};
	uint32_t index = (uint32_t)__builtin_ctzll(sock->due);
	const struct shm_exposed *exposed = NULL;
	int rc = 0;

	shm_lock(sock->dev);
	if (sock->qp && sock->qp->exposes)
		exposed = shm_exposed_find(sock->dev, index, &msg);
	shm_unlock(sock->dev);
	/* Without the lock, the engine's thread can hide the registration. The descriptor stays
	 * open, because only this thread closes it. */
	if (exposed)
		rc = shm_sock_send(sock, &msg, &exposed->fd, 1);
	if (rc == 0)
		sock->due &= ~(1ull << index);
	return rc;
}

void shm_sock_flush(struct shm_sock *sock)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = sock->id};
	int rc;

	if (state_of(sock) != SOCK_OPEN)
		return;
	rc = send_want(sock);
	while (rc == 0 && sock->due != 0)
		rc = send_region(sock);
	if (rc != 0 && rc != -EAGAIN) {
		shm_sock_ended(sock, -ECONNRESET);
		return;
	}
	if (sock->is_waiting_to_send == (rc == -EAGAIN))
		return;
	sock->is_waiting_to_send = rc == -EAGAIN;
	event.events |= sock->is_waiting_to_send ? EPOLLOUT : 0u;
	(void)epoll_ctl(sock->dev->epoll_fd, EPOLL_CTL_MOD, sock->fd, &event);
}
