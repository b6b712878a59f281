/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIFE_H
#define LIFE_H

/*
 * Whether a peer's process lives, by pidfd.
 *
 * The end of a peer's process closes its sockets, unless a child of it has them, too: such a child
 * would hide the end for as long as it lives. So the control thread also watches the process that
 * made the connection. All connections of one process to a device share one pidfd. Without a pidfd
 * (the peer is in another PID namespace, and the kernel is older than Linux 6.5), the socket alone
 * tells of the end.
 *
 * The device's lock guards the list of them. It is not held by the caller.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct shm_dev;
struct weir_peer;

struct shm_life {
	int fd;	     /* the pidfd */
	pid_t pid;   /* in this PID namespace; 0: it has none here */
	uint64_t id; /* what epoll knows it by */
	bool has_ended;
	uint32_t nusers;
	LIST_ENTRY(shm_life) entry;
};

LIST_HEAD(shm_lives, shm_life);

/* Of the process at the other end of a socket, 'pid' by SO_PEERCRED. NULL: it is this process, or
 * cannot be watched. */
struct shm_life *life_get(struct shm_dev *dev, int sock, pid_t pid);
void life_put(struct shm_dev *dev, struct shm_life *life); /* NULL is allowed */

/* The one that epoll knows by 'id', with a reference for life_put(), or NULL. */
struct shm_life *life_hold(struct shm_dev *dev, uint64_t id);
/* It has ended: it is not watched any more. */
void life_end(struct shm_dev *dev, struct shm_life *life);

/*
 * Whether a socket's other end is of this process. The PID that the kernel names stays the same
 * when the process that had it has ended, and may be this one's by now. So the process has to be
 * alive, which the kernel tells from Linux 6.5 on. Before, it has to be of this process's user.
 */
bool life_is_own(int sock, const struct weir_peer *who);

/* Any thread that has a socket of its. */
bool life_has_ended(const struct shm_life *life);

#endif
