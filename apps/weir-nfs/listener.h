/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LISTENER_H
#define LISTENER_H

/*
 * Who answers on a TCP port of this host. Over shm, the kernel vouches for the user of the NFS
 * server. It does not for MOUNT, which any local user can offer on a port that is not reserved for
 * root, and register with rpcbind.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Find the user of the sockets that listen on 'port', of IPv4 and IPv6. A port that the kernel
 * reserves for root is root's. Returns 0 with *uid set, or
 *   -ENOENT: nobody listens there;
 *   -EACCES: several users do, or a user whom this user namespace does not know;
 *   another -errno: /proc does not say.
 */
int listener_find(uint16_t port, uint32_t *uid);

/*
 * The same of a table in the form of /proc/net/tcp. *uid is looked at if *is_found, which both are
 * updated. Returns 0, -EACCES, or -EPROTO if the table has another form.
 */
int listener_scan(FILE *table, uint16_t port, uint32_t *uid, bool *is_found);

/*
 * Returns whether 'uid' identifies a single user. A user namespace maps some of the host's users.
 * The kernel shows each of the others as user 'overflow', so that number stands for many users
 * where some are not mapped. 'map' is a table in the form of /proc/self/uid_map, or NULL if there
 * is none.
 */
bool listener_is_known(FILE *map, uint32_t overflow, uint32_t uid);

#endif
