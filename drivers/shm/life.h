/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIFE_H
#define LIFE_H

/*
 * Watches by pidfd whether a peer's process lives.
 *
 * When a peer's process ends, its sockets are closed, unless a child of the process has them, too.
 * Such a child would hide the end for as long as it lives. Therefore the control thread also
 * watches the process that made the connection. All connections of one process to a device share
 * one pidfd. If there is no pidfd (the peer is in another PID namespace, and the kernel is older
 * than Linux 6.5), only the socket reports the end.
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
	pid_t pid;   /* PID in this PID namespace; 0: it has none here */
	uint64_t id; /* identifies the object to epoll */
	bool has_ended;
	uint32_t nusers;
	LIST_ENTRY(shm_life) entry;
};

LIST_HEAD(shm_lives, shm_life);

/* Returns the object for the process at the other end of a socket. SO_PEERCRED returned 'pid'.
 * Returns NULL if it is this process, or cannot be watched. */
struct shm_life *life_get(struct shm_dev *dev, int sock, pid_t pid);
void life_put(struct shm_dev *dev, struct shm_life *life); /* NULL is allowed */

/* Returns the object that epoll knows by 'id', with a reference for life_put(), or NULL. */
struct shm_life *life_hold(struct shm_dev *dev, uint64_t id);
/* Handles the end of the process, and stops watching it. */
void life_end(struct shm_dev *dev, struct shm_life *life);

/* Returns whether the other end of a socket belongs to this process. The PID that the kernel
 * reports does not change when its process has ended, and this process may have got the same PID.
 * So the other process must be alive, which the kernel reports since Linux 6.5. With an older
 * kernel, it must belong to this process's user. */
bool life_is_own(int sock, const struct weir_peer *who);

/* May be called on any thread that has a socket of the process. */
bool life_has_ended(const struct shm_life *life);

#endif
