/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_HINT_H
#define CONNECT_HINT_H

/* What a user may not know about a connection that was refused.
 * driver: its name. addr: as the user gave it. rc: -errno of the connection. Returns a clause for
 * the end of a line, with a semicolon in front; or "", where there is nothing to add. */
const char *connect_hint(const char *driver, const char *addr, int rc);

#endif
