/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_LISTEN_H
#define TCP_LISTEN_H

/* Sockets that listen for TCP connections. */

#include <stdint.h>

/*
 * Listens on 'port' (0: a free port) of the numeric address 'host'. "::" also includes all IPv4
 * addresses. Returns a non-blocking descriptor, or -errno. If 'host' is not a numeric address, the
 * error is -EADDRNOTAVAIL.
 */
int tcp_listen(const char *host, uint32_t port);
/* Returns the port of a descriptor that listens, in host byte order, or 0 after an error. */
uint32_t tcp_listen_port(int fd);

#endif
