/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNTD_H
#define MOUNTD_H

/*
 * MOUNT version 3 over TCP (oncrpc_server.h). It runs in a thread of its own that never waits for a
 * file system: it uses only the exports' names and roots, which do not change. Clients can mount
 * exports and directories below them. Other threads walk to those directories (walkers.h).
 */

#include <stdbool.h>
#include <stdint.h>

struct mountd;
struct server;

/*
 * Listens on 'port' (0 for any) of the numeric address 'host'. 'is_local' means that NFS is served
 * only to this host, whose users are 'local' in the exports. Returns 0, or -errno after it has
 * printed the reason on standard error.
 */
int mountd_open(struct server *server, const char *host, uint32_t port, bool is_local,
		struct mountd **mountd);
/*
 * Starts the thread. Returns 0, or -errno after it has printed the reason on standard error.
 * 'mountd' may be NULL.
 */
int mountd_start(struct mountd *mountd);
/*
 * Stops MOUNT after all pollers have stopped. This thread polls for the pollers until MOUNT's
 * threads have ended. Returns false after it has printed a message if one of these threads waits
 * for a file system that does not answer. That thread then still uses the server, and nothing of
 * the server may be released until another call returns true. 'mountd' may be NULL.
 */
bool mountd_stop(struct mountd *mountd);
uint32_t mountd_port(const struct mountd *mountd);

#endif
