/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIFE_H
#define LIFE_H

/*
 * Watches by pidfd whether a peer's process lives.
 *
 * When a peer's process ends, the kernel closes its sockets, unless a child of the process has
 * them, too. Such a child would hide the end of the process for as long as the child lives.
 * Therefore the control thread also watches the process that made the connection. All connections
 * of one process to a device share one pidfd. If there is no pidfd (the peer is in another PID
 * namespace, and the kernel is older than Linux 6.5), only the socket reports the end.
 *
 * The device's lock guards the list of these objects. Callers do not hold the lock.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct shm_dev;
struct weir_peer;

struct shm_life {
	int fd;	     /* the pidfd */
	pid_t pid;   /* PID in this process's PID namespace; 0: the peer has none there */
	uint64_t id; /* identifies the object to epoll */
	bool has_ended;
	uint32_t nusers; /* references that were not returned by life_put() */
	LIST_ENTRY(shm_life) entry;
};

LIST_HEAD(shm_lives, shm_life);

/* Returns the object for the process at the other end of socket 'sock', with a reference for
 * life_put(). 'pid' is the PID that SO_PEERCRED reports. Returns NULL if this is the calling
 * process, if the process cannot be watched, or if no memory is available. */
struct shm_life *life_get(struct shm_dev *dev, int sock, pid_t pid);
void life_put(struct shm_dev *dev, struct shm_life *life); /* NULL is allowed */

/* Returns the object that epoll knows by 'id', with a reference for life_put(). Returns NULL if
 * there is no such object. */
struct shm_life *life_hold(struct shm_dev *dev, uint64_t id);
/* Marks that the process has ended, and stops watching the process. */
void life_end(struct shm_dev *dev, struct shm_life *life);

/* Returns whether the other end of a socket belongs to this process. It is not enough that the
 * kernel reports the calling process's PID: the process with this PID might have ended, and the
 * calling process might have got the same PID later. Therefore the process at the other end must
 * also be alive, which the kernel reports since Linux 6.5. With an older kernel, the other end must
 * belong to the calling process's user instead. */
bool life_is_own(int sock, const struct weir_peer *who);

/* Returns whether the process has ended. It can be called on any thread that has a reference to
 * 'life'. */
bool life_has_ended(const struct shm_life *life);

#endif
