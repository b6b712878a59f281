/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNTD_H
#define MOUNTD_H

/*
 * Serves MOUNT version 3 over TCP (oncrpc_server.h). MOUNT runs in a thread of its own that never
 * waits for a file system. Of the exports, this thread uses only the names and roots, which do not
 * change, and the rules (client_rules.h). Clients can mount exports, and directories below exports.
 * Other threads walk to those directories (walkers.h).
 */

#include <stdbool.h>
#include <stdint.h>

struct mountd;
struct server;

/*
 * Listens on 'port' (0: a free port) of the numeric address 'host'. 'is_local' is true if NFS is
 * served only to this host. Then clients of MOUNT match the entry 'local' of the exports. Returns 0
 * with *mountd set, or -errno after it has printed the reason on standard error.
 */
int mountd_open(struct server *server, const char *host, uint32_t port, bool is_local,
		struct mountd **mountd);
/*
 * Starts the thread of MOUNT. Returns 0, or -errno after it has printed the reason on standard
 * error. 'mountd' is allowed to be NULL.
 */
int mountd_start(struct mountd *mountd);
/*
 * Stops MOUNT after all pollers have stopped. The thread that calls this function polls for the
 * pollers until MOUNT's threads have ended. Returns true if they have ended. If one of these
 * threads waits for a file system that does not answer, prints a message and returns false. That
 * thread then still uses the server, so nothing of the server must be released until another call
 * returns true. 'mountd' is allowed to be NULL.
 */
bool mountd_stop(struct mountd *mountd);
/* Returns the port on which MOUNT listens, or 0 if 'mountd' is NULL. */
uint32_t mountd_port(const struct mountd *mountd);

#endif
