/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TCP_LISTEN_H
#define TCP_LISTEN_H

/* Sockets that listen for TCP connections. */

#include <stdint.h>

/*
 * Listens on 'port' (0: any) of the numeric address 'host'. "::" also includes all IPv4 addresses.
 * Returns a non-blocking descriptor, or -errno.
 */
int tcp_listen(const char *host, uint32_t port);
/* Returns the port of a listening descriptor, or 0 after an error. */
uint32_t tcp_listen_port(int fd);

#endif
