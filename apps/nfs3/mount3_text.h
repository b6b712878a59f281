/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MOUNT3_TEXT_H
#define MOUNT3_TEXT_H

/* Converts between strings of MOUNT messages and those of C. */

#include <stdbool.h>
#include <stddef.h>

#include "mount3_xdr.h"

/*
 * Copies a path or a name of a message, and appends a NUL character. Returns false if 'size' bytes
 * are too few, or if the text has a NUL character inside. No name of a file can contain one, and
 * the rest of the text would be lost.
 */
bool mount3_text(const struct weir_xdr_string *from, char *to, size_t size);
/* Returns a string of a message that refers to 'text', which is at most 4 GiB long. */
struct weir_xdr_string mount3_string(const char *text);

#endif
