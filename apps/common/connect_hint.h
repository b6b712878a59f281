/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_HINT_H
#define CONNECT_HINT_H

/*
 * Returns a hint for the user about a refused connection: a clause for the end of a line, which
 * starts with a semicolon, or "" when there is no hint.
 *
 * - driver: the name of the driver
 * - addr: the address as the user gave it
 * - rc: -errno of the connection
 */
const char *connect_hint(const char *driver, const char *addr, int rc);

#endif
