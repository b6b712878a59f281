/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LISTENER_H
#define LISTENER_H

/*
 * Finds the user who listens on a TCP port of this host. Over the driver shm, the kernel identifies
 * the user of the NFS server. For MOUNT, the kernel does not do so: any local user can listen on a
 * port that is not reserved for root, and register MOUNT there with rpcbind.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Finds the user of the sockets that listen on 'port', for IPv4 and IPv6. If the kernel reserves
 * the port for root, the result is root. Returns 0 with *uid set, or:
 *
 * - -ENOENT: no socket listens on the port
 * - -EACCES: the sockets belong to several users, or to a user whom this user namespace does not
 *   know
 * - another -errno: /proc cannot be read
 */
int listener_find(uint16_t port, uint32_t *uid);

/*
 * Does the same as listener_find() for one table in the form of /proc/net/tcp. The caller
 * initializes *is_found to false and calls this function for each table. The function sets
 * *is_found and *uid when it finds a socket. If *is_found is true already, *uid must be the owner
 * of that socket, too. Returns 0, -EACCES if the sockets belong to several users, -EIO if the table
 * cannot be read, or -EPROTO if the table has another form.
 */
int listener_scan(FILE *table, uint16_t port, uint32_t *uid, bool *is_found);

/*
 * Returns true if 'uid' identifies a single user. A user namespace maps some of the host's users.
 * The kernel reports all users that are not mapped as the user 'overflow'. Therefore 'overflow'
 * identifies a single user only if all users are mapped. 'map' is a table in the form of
 * /proc/self/uid_map, or NULL if there is none.
 */
bool listener_is_known(FILE *map, uint32_t overflow, uint32_t uid);

#endif
