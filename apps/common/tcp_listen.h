/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_LISTEN_H
#define TCP_LISTEN_H

/* Sockets that listen for TCP connections. */

#include <stdint.h>

/*
 * Listen on 'port' (0: any) of the address 'host', in numbers; "::" is IPv4's any address, too.
 * Returns a descriptor that does not block, or -errno.
 */
int tcp_listen(const char *host, uint32_t port);
/* The port that it listens on. */
uint32_t tcp_listen_port(int fd);

#endif
