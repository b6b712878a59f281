/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UADDR_H
#define UADDR_H

/* Universal addresses of IP (RFC 5665 section 5.2.3): HOST.HIGH.LOW, the port's two bytes behind
 * the address. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UADDR_HOST_BYTES 48u

/* The numeric host, in its usual form, and the port of "ADDR", "ADDR:PORT" or "[ADDR6]:PORT";
 * false: it is none of them. */
bool uaddr_split(const char *text, uint32_t port_usual, char host[UADDR_HOST_BYTES],
		 uint32_t *port);
void uaddr_print(const char *host, uint32_t port, char *uaddr, size_t bytes);
/* The numeric host alone, with its scope if it has one, whatever the port; false as above. */
bool uaddr_host(const char *text, char host[UADDR_HOST_BYTES]);
/* Whether somebody of this host, or whoever has the address, takes a TCP connection there; waits a
 * second at most. One that is silent for that long counts as there. */
bool uaddr_answers(const char *uaddr);

#endif
