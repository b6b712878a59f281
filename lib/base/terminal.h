/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TERMINAL_H
#define TERMINAL_H

/*
 * Makes text that a peer controls safe to print. On a terminal, such text could contain control
 * sequences. In a log, it could look like other lines or other names.
 */

#include <stddef.h>

/* Copies 'text' to 'out', and replaces what could control a terminal or change how adjacent text is
 * displayed by '?'. Each replaced character becomes one '?' per byte. Replaced are:
 *
 * - control characters (C0, DEL and C1)
 * - line and paragraph separators
 * - bidirectional controls and other invisible format characters
 * - noncharacters
 * - bytes that are not well-formed UTF-8 (RFC 3629)
 *
 * 'text' ends with a NUL. 'out' has out_bytes, at least 1, and may be the same buffer as 'text'.
 * The result ends with a NUL. Text that does not fit is truncated, never inside a character. */
void terminal_text(const char *text, char *out, size_t out_bytes);

#endif
