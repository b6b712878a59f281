/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_USERS_H
#define SHM_USERS_H

/*
 * Whom this driver connects with. Both sides map each other's memory, so that a connection is given
 * only to processes of the same user, to root, and to those that the options name. The kernel says
 * who they are (SO_PEERCRED, SO_PEERGROUPS).
 */

#include <weir/peer.h>

#include "shm_options.h"

struct shm_account;
struct shm_dev;

/*
 * What the kernel reports in place of each user, and each group, that has no number in this user
 * namespace. UINT32_MAX: all have one.
 */
struct shm_overflow {
	uint32_t uid, gid;
};

/* What /proc says. Where it cannot be read, there may be users and groups without a number. */
void shm_overflow_read(struct shm_overflow *overflow);
/*
 * The number 'overflow' that a namespace needs, by the text of its uid_map or gid_map: UINT32_MAX
 * if that maps every number.
 */
uint32_t shm_overflow_of(const char *map, uint32_t overflow);

/* This side's user, and whom its options admit. */
struct shm_admission {
	const struct shm_options *options;
	uint32_t own_uid;
	struct shm_overflow overflow;
};

/* Whom the kernel names as the peer of a connected socket, without its supplementary groups. No
 * lock is needed. */
void shm_users_peer(int fd, struct weir_peer *who);
/*
 * Add the supplementary groups of a socket's peer to its credentials. A group without a number in
 * this user namespace is not listed. No lock is needed.
 */
void shm_users_read_groups(const struct shm_overflow *overflow, int fd, struct weir_peer *who);

/* Whether a process may connect to a listener of this side. 'groups' are its supplementary ones. */
bool shm_users_may_connect(const struct shm_admission *own, const struct weir_peer *who,
			   const uint32_t *groups, uint32_t ngroups);
/* Whether this side may connect to a listener of that process. */
bool shm_users_may_serve(const struct shm_admission *own, const struct weir_peer *who);

/* The same of a connected socket. What is refused is counted, and logged with the option that would
 * allow it. */
bool shm_users_accept(struct shm_dev *dev, int fd);		     /* control thread */
bool shm_users_trust(struct shm_dev *dev, int fd, const char *addr); /* engine's thread */
/*
 * Whether a peer may not be connected with because too much that its user passed is still to be
 * closed (reap.h). This is counted and logged likewise.
 */
bool shm_users_behind(struct shm_dev *dev, const struct shm_account *account); /* control thread */
/* A peer is not connected with because many of its user's connections have yet to be closed, and
 * descriptors are scarce: count and log it likewise. */
void shm_users_count_ended(struct shm_dev *dev,
			   const struct shm_account *account); /* control thread */
bool shm_users_server_behind(struct shm_dev *dev,
			     const struct shm_account *account); /* engine's thread */

/* What the log says at the start of a device of which any user may be the peer. */
void shm_users_warn(const struct shm_options *options);
/* The reverse mistake: users are named who cannot open the socket file. */
void shm_users_warn_of_mode(const struct shm_options *options, const char *path);

#endif
