/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_USERS_H
#define SHM_USERS_H

/* The users with which this driver connects. Both sides map each other's memory. Therefore a
 * connection is permitted only with processes of the same user, of root, and of those that the
 * options name. The kernel reports who they are (SO_PEERCRED, SO_PEERGROUPS). */

#include <weir/peer.h>

#include "shm_options.h"

struct shm_account;
struct shm_dev;

/* IDs that the kernel reports for each user, and each group, that has no number in this user
 * namespace. UINT32_MAX: all have a number. */
struct shm_overflow {
	uint32_t uid, gid;
};

/* Reads these IDs from /proc. If /proc cannot be read, it assumes that there are users and groups
 * without a number. */
void shm_overflow_read(struct shm_overflow *overflow);
/* Returns the 'overflow' ID that a namespace needs, by the text of its uid_map or gid_map:
 * UINT32_MAX if the map maps every number. */
uint32_t shm_overflow_of(const char *map, uint32_t overflow);

/* The user of this side, and the users that its options admit. */
struct shm_admission {
	const struct shm_options *options;
	uint32_t own_uid;
	struct shm_overflow overflow;
};

/* Gets the credentials of a connected socket's peer from the kernel, without supplementary groups.
 * No lock is needed. */
void shm_users_peer(int fd, struct weir_peer *who);
/* Adds the supplementary groups of a socket's peer to its credentials. A group without a number in
 * this user namespace is not listed. No lock is needed. */
void shm_users_read_groups(const struct shm_overflow *overflow, int fd, struct weir_peer *who);

/* Returns whether a process may connect to a listener of this side. 'groups' are its supplementary
 * groups. */
bool shm_users_may_connect(const struct shm_admission *own, const struct weir_peer *who,
			   const uint32_t *groups, uint32_t ngroups);
/* Returns whether this side may connect to a listener of that process. */
bool shm_users_may_serve(const struct shm_admission *own, const struct weir_peer *who);

/* These functions make the same checks for a connected socket. They count a refusal, and log it
 * with the option that would permit the connection. */
bool shm_users_accept(struct shm_dev *dev, int fd);		     /* control thread */
bool shm_users_trust(struct shm_dev *dev, int fd, const char *addr); /* engine's thread */
/* Returns whether a connection with a peer is refused because too much that the peer's user passed
 * is not closed yet (reap.h). A refusal is counted and logged likewise. */
bool shm_users_behind(struct shm_dev *dev, const struct shm_account *account); /* control thread */
/* Counts and logs likewise that a peer is refused, because many connections of its user have yet to
 * be closed, and descriptors are scarce. */
void shm_users_count_ended(struct shm_dev *dev,
			   const struct shm_account *account); /* control thread */
bool shm_users_server_behind(struct shm_dev *dev,
			     const struct shm_account *account); /* engine's thread */

/* Logs a warning at the start of a device that any user may connect to. */
void shm_users_warn(const struct shm_options *options);
/* Logs the opposite mistake: the options name users who cannot open the socket file. */
void shm_users_warn_of_mode(const struct shm_options *options, const char *path);

#endif
