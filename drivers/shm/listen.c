/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners, and their files. The file at a path belongs to the process that listens on it. That
 * process removes the file. If the process died without doing so, the next process that listens
 * there removes the file. A lock on a second file, PATH.lock, keeps two processes from doing this
 * at the same time. It also keeps a process from taking a socket that is bound but does not listen
 * yet for an abandoned one. The lock file exists only until the process listens.
 *
 * Only this user and root may open a socket file, unless the option 'mode' permits others. The mode
 * is never wider, not even for a moment. The mode is set on the socket before bind(), and bind()
 * gives the file this mode without the bits of the umask. Before listen() nobody can connect. The
 * umask belongs to the whole process and is not changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "alloc.h"
#include "log.h"
#include "shm_dev.h"
#include "users.h"

#define LOCK_TRIES 16u
#define MODE_BITS  07777u

#define LISTEN_LOG(fmt, ...) LOG(DRIVER, ERROR, "shm: cannot listen: " fmt "", ##__VA_ARGS__)

struct path_lock {
	int fd;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + sizeof(".lock")];
};

socklen_t shm_address(const char *addr, struct sockaddr_un *sun)
{
	bool is_path = addr[0] == '/';
	char *at = sun->sun_path + (is_path ? 0 : 1); /* an abstract name begins with a NUL */
	size_t room = sizeof(sun->sun_path) - (is_path ? 0 : 1);
	int n;

	*sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (addr[0] == '\0')
		return 0;
	n = snprintf(at, room, "%s%s", is_path ? "" : "weir/", addr);
	if (n < 0 || (size_t)n >= room)
		return 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);
}

/*
 * Locks a path. Returns one of these values:
 * - 0: the path is locked. unlock_path() unlocks it.
 * - -EADDRINUSE: another process is about to listen there.
 * - -EACCES: the lock file belongs to another user.
 * - Another error: the lock file cannot be opened or created.
 */
static int lock_path(struct path_lock *lock, const char *path)
{
	struct stat held, there;

	snprintf(lock->path, sizeof(lock->path), "%s.lock", path);
	for (uint32_t i = 0; i < LOCK_TRIES; i++) {
		lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
				0600);
		if (lock->fd < 0)
			return -errno;
		if (fstat(lock->fd, &held) != 0 || held.st_uid != geteuid()) {
			LISTEN_LOG("%s is another user's: remove it, or choose a directory that "
				   "only this user can write to",
				   lock->path);
			close(lock->fd);
			return -EACCES;
		}
		if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
			close(lock->fd);
			return -EADDRINUSE;
		}
		/* After the file was opened here, the previous owner of the lock might have removed
		 * it. A lock on a removed file keeps nobody out. */
		if (lstat(lock->path, &there) == 0 && held.st_dev == there.st_dev &&
		    held.st_ino == there.st_ino)
			return 0;
		close(lock->fd);
	}
	return -EADDRINUSE;
}

static void unlock_path(struct path_lock *lock)
{
	unlink(lock->path);
	close(lock->fd);
}

/* Closes a socket that was connected only to find out whether a process listens. The listener might
 * have passed descriptors already, whose close can block. Therefore the reaper closes the socket.
 */
static void close_probe(int fd)
{
	struct shm_account *account = shm_account_get(geteuid());

	if (account)
		shm_close_later(fd, account);
	else
		close(fd);
	shm_account_put(account);
}

/* Removes the socket file at an address if the file is stale: its process has died, and no process
 * listens on it. Returns whether the file was removed. Only a file of this user is looked at. This
 * process must neither remove another user's file nor connect to another user's listener. */
static bool remove_stale(const struct sockaddr_un *sun, socklen_t len)
{
	struct stat st;
	bool is_stale;
	int fd;

	/* Only a socket can be stale. The connect() below fails with ECONNREFUSED for a file of
	 * another kind, too. */
	if (lstat(sun->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	if (st.st_uid != geteuid()) {
		LISTEN_LOG("%s is another user's: remove it, or choose another path",
			   sun->sun_path);
		return false;
	}
	/* The socket must not block, because the process that listens might never accept, so that
	 * its queue stays full. */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	(void)shm_pass_rights(fd, false);
	if (connect(fd, (const struct sockaddr *)sun, len) == 0) {
		close_probe(fd);
		return false;
	}
	is_stale = errno == ECONNREFUSED;
	close(fd);
	return is_stale && unlink(sun->sun_path) == 0;
}

/* Removes the listener's file, unless there is another file at its path. It is called before the
 * socket is closed. Until then no process takes the file for a stale one, and no other file has its
 * inode number. */
static void remove_own(const struct fabric_listener *listener)
{
	struct stat st;

	if (listener->addr[0] && lstat(listener->addr, &st) == 0 &&
	    st.st_dev == listener->file_dev && st.st_ino == listener->file_ino)
		unlink(listener->addr);
}

static int bind_to(struct fabric_listener *listener, const struct sockaddr_un *sun, socklen_t len)
{
	return bind(listener->fd, (const struct sockaddr *)sun, len) == 0 ? 0 : -errno;
}

static int start_to_listen(struct fabric_listener *listener)
{
	return listen(listener->fd, (int)listener->backlog.max) == 0 ? 0 : -errno;
}

/* Checks the file that bind() has created at 'path', and stores its path and identity in the
 * listener. Then it sets the file's mode, from which the umask or a default ACL might have removed
 * bits. Returns 0 or -errno: -EACCES if another user has replaced the file. No step follows a link
 * that somebody might have created at the path meanwhile. */
static int check_file(struct fabric_listener *listener, const char *path)
{
	uint32_t mode = listener->dev->options.mode;
	char by_number[32];
	struct stat st;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0) {
		rc = -errno;
	} else if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) {
		LISTEN_LOG("%s was replaced by another user: choose a directory that only this "
			   "user can write to",
			   path);
		rc = -EACCES;
	} else {
		listener->file_dev = st.st_dev;
		listener->file_ino = st.st_ino;
		snprintf(listener->addr, sizeof(listener->addr), "%s", path);
		snprintf(by_number, sizeof(by_number), "/proc/self/fd/%d", fd);
		if ((st.st_mode & MODE_BITS) != mode && chmod(by_number, mode) != 0) {
			rc = -errno;
			LISTEN_LOG("cannot give %s the mode %#o: %s", path, mode, strerror(-rc));
		}
	}
	close(fd);
	return rc;
}

/* Binds the listener's socket to a path and listens. Returns 0 or -errno. If the function has
 * created the file, remove_own() removes it, even if a later step failed. */
static int take_path(struct fabric_listener *listener, const struct sockaddr_un *sun, socklen_t len)
{
	struct path_lock lock;
	int rc = lock_path(&lock, sun->sun_path);

	if (rc != 0)
		return rc;
	if (fchmod(listener->fd, listener->dev->options.mode) != 0)
		rc = -errno;
	if (rc == 0)
		rc = bind_to(listener, sun, len);
	if (rc == -EADDRINUSE && remove_stale(sun, len))
		rc = bind_to(listener, sun, len);
	if (rc == 0)
		rc = check_file(listener, sun->sun_path);
	if (rc == 0)
		rc = start_to_listen(listener);
	unlock_path(&lock);
	if (rc == 0)
		shm_users_warn_of_mode(&listener->dev->options, sun->sun_path);
	return rc;
}

static int take_name(struct fabric_listener *listener, const struct sockaddr_un *sun, socklen_t len)
{
	int rc = bind_to(listener, sun, len);

	return rc == 0 ? start_to_listen(listener) : rc;
}

/* Has the control thread close a listener, because the control thread might be accepting from it,
 * and waits until it is closed. The wait is no longer than the kernel's own work takes. On return
 * the address is free. */
static void close_on_control(struct fabric_listener *listener)
{
	struct shm_dev *dev = listener->dev;

	shm_lock(dev);
	if (listener->is_listed)
		TAILQ_REMOVE(&dev->listeners, listener, entry);
	dev->ending = listener;
	shm_unlock(dev);
	shm_cm_wake(dev);
	shm_lock(dev);
	while (dev->ending)
		pthread_cond_wait(&dev->is_unlistened, &dev->lock);
	shm_unlock(dev);
}

int shm_listen(struct fabric_dev *fdev, const char *addr, uint32_t backlog, void *ctx,
	       struct fabric_listener **out)
{
	struct shm_dev *dev = (struct shm_dev *)fdev;
	struct fabric_listener *listener = mem_zalloc(sizeof(*listener));
	struct sockaddr_un sun;
	socklen_t len = shm_address(addr, &sun);
	int rc;

	if (!listener)
		return -ENOMEM;
	listener->dev = dev;
	listener->ctx = ctx;
	backlog_init(&listener->backlog, backlog ? backlog : 1);
	listener->fd = len ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	rc = len == 0 ? -EINVAL : listener->fd < 0 ? -errno : 0;
	/* Accepted sockets inherit the setting of shm_pass_rights(). */
	listener->refuses_rights = rc == 0 && shm_pass_rights(listener->fd, false);
	if (rc == 0)
		rc = addr[0] == '/' ? take_path(listener, &sun, len)
				    : take_name(listener, &sun, len);
	listener->id = shm_next_id();
	if (rc == 0) {
		shm_lock(dev);
		TAILQ_INSERT_TAIL(&dev->listeners, listener, entry);
		listener->is_listed = true;
		shm_unlock(dev);
		rc = shm_watch(dev, listener->fd, listener->id);
	}
	if (rc != 0) {
		remove_own(listener);
		if (listener->fd >= 0)
			close_on_control(listener);
		mem_free(listener);
		return rc;
	}
	*out = listener;
	return 0;
}

void shm_unlisten(struct fabric_listener *listener)
{
	struct shm_dev *dev;
	struct shm_sock *sock, *next;

	if (!listener)
		return;
	dev = listener->dev;
	remove_own(listener);
	close_on_control(listener);
	/* No further connection is accepted, so that this loop finds all sockets of the listener.
	 */
	shm_lock(dev);
	for (sock = TAILQ_FIRST(&dev->socks); sock; sock = next) {
		bool is_greeting = sock->state == SOCK_GREETING;

		next = TAILQ_NEXT(sock, entry);
		if (sock->listener != listener)
			continue;
		/* A request whose event is still queued is unknown to the engine, and is released
		 * here. Any other request belongs to the engine. */
		if (is_greeting || (!sock->qp && sock->events[0].list))
			shm_sock_release_locked(sock);
		else
			sock->listener = NULL;
	}
	shm_unlock(dev);
	mem_free(listener);
}
