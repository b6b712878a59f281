/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_USERS_H
#define SHM_USERS_H

/* The users with which this driver connects. Both sides map each other's memory. Therefore a
 * connection is permitted only with processes of the same user, of root, and of users and groups
 * that the options name. The kernel reports the user and groups of a peer (SO_PEERCRED,
 * SO_PEERGROUPS). */

#include <weir/peer.h>

#include "shm_options.h"

struct shm_account;
struct shm_dev;

/* The IDs that the kernel reports for each user, and for each group, that has no number in this
 * user namespace. UINT32_MAX: all users, or groups, have a number. */
struct shm_overflow {
	uint32_t uid, gid;
};

/* Reads the overflow IDs from /proc. If /proc cannot be read, the function assumes that there are
 * users and groups without a number. */
void shm_overflow_read(struct shm_overflow *overflow);
/* Returns UINT32_MAX if 'map', the text of a namespace's uid_map or gid_map, maps every number.
 * Otherwise returns 'overflow'. */
uint32_t shm_overflow_of(const char *map, uint32_t overflow);

/* The user of this side, and the users that its options admit. */
struct shm_admission {
	const struct shm_options *options;
	uint32_t own_uid;
	struct shm_overflow overflow;
};

/* Gets the credentials of a connected socket's peer from the kernel, without supplementary groups.
 * On failure, who->has_credentials is false. No lock is needed. */
void shm_users_peer(int fd, struct weir_peer *who);
/* Adds the supplementary groups of a socket's peer to its credentials. A group without a number in
 * this user namespace is left out. If a group was left out, or the groups are not available,
 * who->has_more_groups is set. No lock is needed. */
void shm_users_read_groups(const struct shm_overflow *overflow, int fd, struct weir_peer *who);

/* Returns whether the process 'who', with the supplementary groups 'groups', is allowed to connect
 * to a listener of this side. */
bool shm_users_may_connect(const struct shm_admission *own, const struct weir_peer *who,
			   const uint32_t *groups, uint32_t ngroups);
/* Returns whether this side is allowed to connect to a listener of the process 'who'. */
bool shm_users_may_serve(const struct shm_admission *own, const struct weir_peer *who);

/* Return whether a connected socket is permitted: shm_users_accept() for one that was accepted, and
 * shm_users_trust() for one that was connected to 'addr'. They permit a socket of this process
 * itself, and otherwise check like the two functions above. They count a refusal, and log it with
 * the option that would permit the connection. */
bool shm_users_accept(struct shm_dev *dev, int fd);		     /* control thread */
bool shm_users_trust(struct shm_dev *dev, int fd, const char *addr); /* engine's thread */
/* Returns whether a connection of a peer is refused because too many connections, files and
 * mappings of the peer's user are still to be closed (reap_is_refused()). A refusal is counted and
 * logged. shm_users_server_behind() does the same for a connection to a server. */
bool shm_users_behind(struct shm_dev *dev, const struct shm_account *account); /* control thread */
/* Counts and logs that a peer is refused because many connections of its user are not closed yet,
 * and few descriptors are left. */
void shm_users_count_ended(struct shm_dev *dev,
			   const struct shm_account *account); /* control thread */
bool shm_users_server_behind(struct shm_dev *dev,
			     const struct shm_account *account); /* engine's thread */

/* Logs a warning if the options permit connections with every user. Called when a device is opened.
 */
void shm_users_warn(const struct shm_options *options);
/* Logs a warning if the options name users or groups who cannot open the socket file at 'path'
 * because of its mode. */
void shm_users_warn_of_mode(const struct shm_options *options, const char *path);

#endif
