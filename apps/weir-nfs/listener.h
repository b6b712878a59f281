/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LISTENER_H
#define LISTENER_H

/*
 * Finds the user who listens on a TCP port of this host. Over shm, the kernel vouches for the user
 * of the NFS server. It does not for MOUNT, which any local user can offer on a port that is not
 * reserved for root, and register with rpcbind.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Finds the user of the sockets that listen on 'port', for IPv4 and IPv6. A port that the kernel
 * reserves for root belongs to root. Returns 0 with *uid set, or:
 *
 * - -ENOENT: no socket listens on the port
 * - -EACCES: the sockets belong to several users, or to a user whom this user namespace does not
 *   know
 * - another -errno: /proc does not say
 */
int listener_find(uint16_t port, uint32_t *uid);

/*
 * Does the same for a table in the form of /proc/net/tcp. Both *uid and *is_found are updated, and
 * *uid is used only if *is_found. Returns 0, -EACCES, or -EPROTO if the table has another form.
 */
int listener_scan(FILE *table, uint16_t port, uint32_t *uid, bool *is_found);

/*
 * Returns whether 'uid' identifies a single user. A user namespace maps some of the host's users.
 * The kernel reports all others as user 'overflow', so that number represents many users if some
 * are not mapped. 'map' is a table in the form of /proc/self/uid_map, or NULL if there is none.
 */
bool listener_is_known(FILE *map, uint32_t overflow, uint32_t uid);

#endif
