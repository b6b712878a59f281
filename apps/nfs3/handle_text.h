/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDLE_TEXT_H
#define HANDLE_TEXT_H

/*
 * A file handle that a user names. It opens files, so that it is a secret, and command lines are no
 * place for secrets: every user of the host can read them. It is taken from a file or from the
 * environment.
 */

#include <stdint.h>

#define HANDLE_TEXT_BYTES_MAX 64u		/* of a handle (RFC 1813 section 2.4) */
#define HANDLE_TEXT_VARIABLE  "WEIR_NFS_HANDLE" /* the environment's */

/*
 * Read a handle of 1 to 64 bytes, in hexadecimal digits.
 *
 * value: "@FILE", the name of a file that has the digits and may end with a newline; NULL: the
 * environment variable above has the digits.
 *
 * Returns NULL with data and *len_bytes filled in, or what is wrong, which is to be printed behind
 * the value.
 */
const char *handle_text_read(const char *value, uint8_t data[HANDLE_TEXT_BYTES_MAX],
			     uint32_t *len_bytes);

#endif
