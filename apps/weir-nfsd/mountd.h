/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNTD_H
#define MOUNTD_H

/*
 * MOUNT version 3 over TCP (oncrpc_server.h), in a thread of its own, which waits for no file
 * system: it needs the exports' names and roots, which do not change. Exports can be mounted, and
 * directories below them, to which other threads walk (walkers.h).
 */

#include <stdbool.h>
#include <stdint.h>

struct mountd;
struct server;

/* Listen on 'port' (0: any) of the address 'host', in numbers; 'is_local': NFS is served to this
 * host alone, whose users the exports call 'local'. 0, or -errno, which was said on standard error.
 */
int mountd_open(struct server *server, const char *host, uint32_t port, bool is_local,
		struct mountd **mountd);
/* Begin to answer. 0, or -errno, which was said on standard error. NULL is allowed. */
int mountd_start(struct mountd *mountd);
/*
 * When no poller runs any more: this thread polls for them until MOUNT's have ended. NULL is
 * allowed. Returns false after a message if one of them waits for a file system that does not
 * answer. It then uses the server, of which nothing can be released until another call returns
 * true.
 */
bool mountd_stop(struct mountd *mountd);
uint32_t mountd_port(const struct mountd *mountd);

#endif
