/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UADDR_H
#define UADDR_H

/*
 * IP addresses in the form that users write, and in the form that rpcbind stores. The form of
 * rpcbind is the universal address (RFC 5665 section 5.2.3), which has the form HOST.HIGH.LOW, such
 * as "10.0.0.1.78.81" or "::1.78.81". The two bytes of the port follow the address of the host.
 * Only uaddr_answers() does I/O.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_MAX	 256u /* bytes of a host's name or address, with its NUL */
#define HOST_NUMERIC_MAX 48u  /* bytes of a numeric address in its usual form, with its NUL */
#define UADDR_MAX	 128u /* bytes of the longest accepted universal address, with its NUL */

/*
 * Splits "HOST", "HOST:PORT", "[V6]", "[V6]:PORT" or an IPv6 address without brackets. Returns 0,
 * or -EINVAL if the text has none of these forms or does not fit into 'host_bytes'.
 *
 * - host: receives the host, with at most 'host_bytes' including its NUL
 * - port: receives the port, or 0 if the text has none
 */
int address_split(const char *text, char *host, size_t host_bytes, uint16_t *port);

/*
 * Splits an address with a numeric host. 'host' receives the host in its usual form, without a
 * scope. 'port' receives the port, or 'port_usual' if the text has none. Returns false if the text
 * has none of the forms of address_split(), or if its host is not numeric.
 */
bool address_split_numeric(const char *text, uint16_t port_usual, char host[HOST_NUMERIC_MAX],
			   uint16_t *port);

/*
 * Writes "HOST:PORT", with brackets around a host that contains a colon. Returns false if the text
 * does not fit into 'text_bytes'.
 */
bool address_join(const char *host, uint16_t port, char *text, size_t text_bytes);

/* Writes a numeric host and a port as a universal address. The result is cut off after 'bytes'. */
void uaddr_print(const char *host, uint16_t port, char *uaddr, size_t bytes);

/*
 * Parses the port of a universal address. Returns 0 with *port above 0. Returns -EINVAL if the text
 * is not a universal address or if its port is 0.
 */
int uaddr_port(const char *uaddr, uint16_t *port);

/*
 * Returns true if a server accepts a TCP connection at a universal address. The function waits for
 * up to a second. If the connection is neither accepted nor refused in that time, the function
 * returns true as well.
 */
bool uaddr_answers(const char *uaddr);

#endif
