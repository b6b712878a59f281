/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNTD_H
#define MOUNTD_H

/* MOUNT version 3 over TCP, by libtirpc, in a thread of its own: it needs the exports' names and root handles, which
 * don't change, and nothing else of the server. Only exports themselves can be mounted, not what is below. */

#include <stdint.h>

struct mountd;
struct server;

/* Listen on 'port' (0: any) of all addresses. 0, or -errno which was said on standard error. */
int mountd_start(struct server *server, uint32_t port, struct mountd **mountd);
void mountd_stop(struct mountd *mountd); /* NULL is allowed */
uint32_t mountd_port(const struct mountd *mountd);

#endif
