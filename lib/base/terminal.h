/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TERMINAL_H
#define TERMINAL_H

/*
 * Text that a peer controls, made safe to print: on a terminal, which it could steer, and in a log,
 * where it could look like other lines or other names.
 */

#include <stddef.h>

/* Copy text. Each byte of what could steer a terminal, or change how what stands beside it is
 * shown, becomes '?': control characters (C0, DEL and C1), line and paragraph separators,
 * bidirectional controls and other invisible format characters, noncharacters, and what is not
 * well-formed UTF-8 (RFC 3629). text: ends with a NUL. out: of out_bytes, at least 1; it may be
 * text itself, and ends with a NUL. Text that does not fit is cut off, never within a character. */
void terminal_text(const char *text, char *out, size_t out_bytes);

#endif
