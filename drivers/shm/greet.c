/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepts new connections of a listener on the control thread, and sends WELCOME to each peer that
 * is allowed to connect. If there is no room, a waiting connection is displaced (backlog.h). */
#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "limit.h"
#include "reap.h"
#include "shm_dev.h"
#include "users.h"

#define ACCEPTS_MAX 16u /* connections that one call of shm_greet() accepts */
/* If the kernel cannot refuse descriptors (before Linux 6.16), no connection is accepted while the
 * reaper has this number of jobs. */
#define BACKLOG_MAX 256u
#define RESERVE_MAX 128u /* maximum of the reserve, in descriptors */
/* Maximum number of descriptors of a connection that has ended and is not closed yet. */
#define ENDED_DESCRIPTORS 4u
/* A user can always connect while at most ENDED_MIN of its connections, or at most 1/ENDED_PART of
 * RLIMIT_NOFILE, have ended and are not closed yet. */
#define ENDED_MIN  8u
#define ENDED_PART 64u

static bool is_full(struct fabric_listener *listener)
{
	struct shm_dev *dev = listener->dev;
	bool is;

	shm_lock(dev);
	is = backlog_is_full(&listener->backlog) || dev->nsocks >= dev->max_connections;
	shm_unlock(dev);
	return is;
}

static struct shm_sock *waiting_sock(struct backlog_entry *entry)
{
	return (struct shm_sock *)((uintptr_t)entry - offsetof(struct shm_sock, waiting));
}

/* Returns the oldest waiting connection whose HELLO has not been read. If 'peer' is not NULL, only
 * connections of this peer count. Returns NULL if there is no such connection. */
static struct shm_sock *find_silent(const struct fabric_listener *listener,
				    const struct backlog_peer *peer)
{
	struct backlog_entry *entry;

	TAILQ_FOREACH(entry, &listener->backlog.entries, entry)
	if (waiting_sock(entry)->state == SOCK_GREETING &&
	    (!peer || backlog_is_same(&entry->peer, peer)))
		return waiting_sock(entry);
	return NULL;
}

/* Returns the waiting connection that a new connection of user 'newcomer' displaces, or NULL if
 * there is none. It is a connection of the user whom backlog.h selects, and of any user if
 * backlog.h selects none. A connection that has sent nothing is preferred, since nobody waits for
 * it. A complete request is displaced only by another user. */
static struct shm_sock *find_displaced(const struct fabric_listener *listener,
				       const struct backlog_peer *newcomer)
{
	struct backlog_entry *entry = backlog_displaced(&listener->backlog, newcomer);
	struct shm_sock *silent = find_silent(listener, entry ? &entry->peer : NULL);

	if (silent || !entry || backlog_is_same(&entry->peer, newcomer))
		return silent;
	return waiting_sock(entry);
}

/* Displaces a waiting connection to make room for a connection of the user of 'account'. Before a
 * connection that has sent nothing is displaced, its socket is read once more. If its HELLO has
 * arrived meanwhile, the connection stays. Returns false if no connection can be displaced.
 * Otherwise returns true, and the caller checks again whether there is room. */
static bool make_room(struct fabric_listener *listener, const struct shm_account *account)
{
	const struct backlog_peer newcomer = shm_backlog_peer(account);
	struct shm_dev *dev = listener->dev;
	struct shm_sock *sock;
	bool is_silent;
	int rc;

	shm_lock(dev);
	sock = find_displaced(listener, &newcomer);
	is_silent = sock && sock->state == SOCK_GREETING;
	if (sock && !is_silent)
		shm_sock_release_locked(sock); /* the engine's thread has not taken this request */
	shm_unlock(dev);
	if (sock && !is_silent)
		shm_count(dev, &dev->ndisplaced);
	if (!sock || !is_silent)
		return sock != NULL;
	rc = shm_sock_read(sock);
	if (rc == SHM_HANDED_OVER)
		return true;
	shm_count_end(sock, rc);
	if (rc == 0 || rc == -EAGAIN)
		shm_count(dev, &dev->ndisplaced);
	shm_sock_ended(sock, rc == 0 || rc == -EAGAIN ? -ETIMEDOUT : rc);
	return true;
}

static int send_welcome(const struct shm_sock *sock)
{
	const struct shm_msg welcome = {
		.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_WELCOME};

	return shm_sock_send(sock, &welcome, NULL, 0);
}

struct descriptors {
	uint64_t limit;
	uint64_t left;	  /* descriptors that this process can still open */
	uint64_t reserve; /* the part of 'left' that is reserved: see greet() */
};

/* Returns how many descriptors this process can still open. 'fd' is the descriptor that was opened
 * last. The kernel assigns the lowest free number. Therefore all numbers below 'fd' are in use. */
static struct descriptors count_descriptors(int fd)
{
	struct descriptors all = {.limit = UINT64_MAX, .left = UINT64_MAX};
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return all;
	all.limit = limit.rlim_cur;
	all.left = all.limit > (uint64_t)fd ? all.limit - (uint64_t)fd - 1 : 0;
	all.reserve = all.limit / 4 < RESERVE_MAX ? all.limit / 4 : RESERVE_MAX;
	return all;
}

/*
 * Returns whether a user has too many connections that have ended but are not closed yet. The
 * limits of the engine do not count these connections. If their descriptors used up the reserve,
 * connections of other users would be ended. Therefore they are allowed half of the descriptors
 * that are left without the reserve. A few such connections are allowed in any case, because other
 * users' connections might have taken the rest.
 */
static bool has_many_ended(const struct shm_account *account, const struct descriptors *all)
{
	uint64_t unreserved = all->left > all->reserve ? all->left - all->reserve : 0;
	uint64_t n = reap_queue_count(&account->queue);

	return n > ENDED_MIN && n > all->limit / ENDED_PART &&
	       n * ENDED_DESCRIPTORS > unreserved / 2;
}

/*
 * Begins a connection of a user that is allowed to connect. Returns true if it takes over the
 * descriptor and the reference to the account. Returns false, and the caller keeps both, if there
 * is no room, the user has too many ended connections, or no memory is available.
 *
 * The connections of one user must not use up the descriptors of this process. Therefore the last
 * descriptors are a reserve. If a connection uses the reserve, the engine should end another
 * connection in exchange (is_crowded). If it uses the second half of the reserve, it is begun only
 * if it displaces a waiting connection.
 */
static bool greet(struct fabric_listener *listener, int fd, struct shm_account *account)
{
	struct shm_dev *dev = listener->dev;
	const struct descriptors all = count_descriptors(fd);
	struct shm_sock *sock;

	if (has_many_ended(account, &all)) {
		shm_users_count_ended(dev, account);
		return false;
	}
	while (is_full(listener) && make_room(listener, account))
		;
	if (is_full(listener) || (all.left < all.reserve / 2 && !make_room(listener, account))) {
		shm_count(dev, &dev->ndisplaced);
		return false;
	}
	sock = shm_sock_new(dev, fd, account);
	if (!sock)
		return false;
	sock->listener = listener;
	sock->is_crowded = all.left < all.reserve;
	if (shm_sock_add(sock, SOCK_GREETING) != 0) {
		sock->listener = NULL;
		shm_sock_drop(sock);
		return true;
	}
	(void)shm_pass_rights(fd, true);
	if (shm_sock_watch(sock) != 0 || send_welcome(sock) != 0)
		shm_sock_ended(sock, -ECONNRESET);
	return true;
}

/* Closes a connection that is refused. If the kernel has refused descriptors, the socket's queue
 * has none, and the close cannot block. Otherwise the reaper closes the socket. */
static void greet_refuse(const struct fabric_listener *listener, int fd,
			 struct shm_account *account)
{
	if (listener->refuses_rights || !account)
		close(fd);
	else
		shm_close_later(fd, account);
}

void shm_greet(struct fabric_listener *listener)
{
	for (uint32_t i = 0; i < ACCEPTS_MAX; i++) {
		struct shm_dev *dev = listener->dev;
		struct shm_account *account;
		struct weir_peer who;
		int fd;

		if (!listener->refuses_rights && reap_count() >= BACKLOG_MAX) {
			shm_pause_listener(listener);
			return;
		}
		fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			int rc = -errno;

			if (rc == -EMFILE || rc == -ENFILE || rc == -ENOBUFS || rc == -ENOMEM) {
				mem_explain_limit(rc);
				shm_pause_listener(listener);
			}
			return;
		}
		shm_users_peer(fd, &who);
		account = shm_account_of(&who);
		if (account && shm_users_accept(dev, fd) && !shm_users_behind(dev, account) &&
		    greet(listener, fd, account))
			continue;
		greet_refuse(listener, fd, account);
		shm_account_put(account);
	}
}

void shm_refuse_all(struct fabric_listener *listener)
{
	struct weir_peer who;
	int fd;

	while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct shm_account *account;

		shm_users_peer(fd, &who);
		account = shm_account_of(&who);
		greet_refuse(listener, fd, account);
		shm_account_put(account);
	}
}
