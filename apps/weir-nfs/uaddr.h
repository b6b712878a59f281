/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UADDR_H
#define UADDR_H

/* Addresses as people write them and as rpcbind answers them. No I/O. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_MAX  256u /* with its NUL */
#define UADDR_MAX 128u /* longest universal address that is believed, with its NUL */

/* Split "HOST", "HOST:PORT", "[V6]", "[V6]:PORT" or a bare V6 address. 'port' is 0 when none was
 * given. 0; -EINVAL. */
int address_split(const char *text, char host[HOST_MAX], uint16_t *port);

/* "HOST:PORT", with brackets around what has a colon. False: it does not fit. */
bool address_join(const char *host, uint16_t port, char *text, size_t text_bytes);

/* The port in the last two octets of a universal address (RFC 5665 section 5.2.3.3), such as
 * "10.0.0.1.78.81" or "::1.78.81". 0 and *port above 0; -EINVAL. */
int uaddr_port(const char *uaddr, uint16_t *port);

#endif
