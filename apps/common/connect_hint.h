/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_HINT_H
#define CONNECT_HINT_H

/*
 * Returns a hint for the user about a refused connection: a clause that starts with a semicolon,
 * for the end of an error message, or "" when there is no hint.
 *
 * - driver: the name of the driver that connected
 * - addr: the address as the user gave it
 * - rc: the -errno with which the connection was refused
 */
const char *connect_hint(const char *driver, const char *addr, int rc);

#endif
