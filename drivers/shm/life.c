/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and shares the pidfds by which the control thread learns that a peer's process has ended.
 */
#include "life.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc.h"
#include "shm_dev.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

bool life_has_ended(const struct shm_life *life)
{
	struct pollfd look = {.fd = life->fd, .events = POLLIN};

	return poll(&look, 1, 0) == 1;
}

/* Returns a pidfd for the process at the other end of a socket, or -1 if there is none.
 * SO_PEERPIDFD always names this process. With an older kernel, the pidfd is opened by the PID. If
 * the process has ended and its PID was reused, this pidfd is of another process, so that only the
 * socket reports the end of the peer. */
static int open_pidfd(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

bool life_is_own(int sock, const struct weir_peer *who)
{
	struct shm_life life = {.fd = -1};
	socklen_t len = sizeof(life.fd);
	bool has_ended;

	if (!who->has_credentials || who->pid != getpid())
		return false;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &life.fd, &len) != 0)
		return errno == ENOPROTOOPT && who->uid == geteuid();
	has_ended = life_has_ended(&life);
	close(life.fd);
	return !has_ended;
}

/* Returns the object of the process with PID 'pid', with a reference for life_put(), or NULL if the
 * device does not watch this process. While a process lives, no other process has its PID. */
static struct shm_life *life_find(struct shm_dev *dev, pid_t pid)
{
	struct shm_life *life;

	shm_lock(dev);
	LIST_FOREACH(life, &dev->lives, entry)
	if (life->pid == pid && !life->has_ended)
		break;
	if (life)
		life->nusers++;
	shm_unlock(dev);
	return life;
}

static struct shm_life *find_alive(struct shm_dev *dev, pid_t pid)
{
	struct shm_life *life = life_find(dev, pid);

	if (!life || !life_has_ended(life))
		return life;
	/* the control thread has not handled the end of this process yet */
	life_put(dev, life);
	return NULL;
}

static void life_free(struct shm_dev *dev, struct shm_life *life)
{
	(void)epoll_ctl(dev->epoll_fd, EPOLL_CTL_DEL, life->fd, NULL);
	close(life->fd);
	mem_free(life);
}

struct shm_life *life_get(struct shm_dev *dev, int sock, pid_t pid)
{
	struct shm_life *life = pid > 0 ? find_alive(dev, pid) : NULL;

	if (life)
		return life;
	if (pid == getpid())
		return NULL;
	life = mem_zalloc(sizeof(*life));
	if (!life)
		return NULL;
	life->fd = open_pidfd(sock, pid);
	if (life->fd < 0) {
		mem_free(life);
		return NULL;
	}
	life->id = shm_next_id();
	life->pid = pid;
	life->nusers = 1;
	shm_lock(dev);
	LIST_INSERT_HEAD(&dev->lives, life, entry);
	shm_unlock(dev);
	if (shm_watch(dev, life->fd, life->id) == 0)
		return life;
	life_put(dev, life);
	return NULL;
}

void life_put(struct shm_dev *dev, struct shm_life *life)
{
	bool is_last;

	if (!life)
		return;
	shm_lock(dev);
	is_last = --life->nusers == 0;
	if (is_last)
		LIST_REMOVE(life, entry);
	shm_unlock(dev);
	if (is_last)
		life_free(dev, life);
}

struct shm_life *life_hold(struct shm_dev *dev, uint64_t id)
{
	struct shm_life *life;

	shm_lock(dev);
	LIST_FOREACH(life, &dev->lives, entry)
	if (life->id == id)
		break;
	if (life)
		life->nusers++;
	shm_unlock(dev);
	return life;
}

void life_end(struct shm_dev *dev, struct shm_life *life)
{
	(void)epoll_ctl(dev->epoll_fd, EPOLL_CTL_DEL, life->fd, NULL);
	shm_lock(dev);
	life->has_ended = true;
	shm_unlock(dev);
}
