/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HANDLE_TEXT_H
#define HANDLE_TEXT_H

/*
 * Reads a file handle that a user gives to a program. The handle is a secret, because whoever knows
 * the handle can open the file. A command line must not contain secrets, because every user of the
 * host can read it. Therefore the handle is read from a file or from the environment.
 */

#include <stdint.h>

#define HANDLE_TEXT_BYTES_MAX 64u /* maximum bytes of a handle (RFC 1813 section 2.4) */
#define HANDLE_TEXT_VARIABLE  "WEIR_NFS_HANDLE" /* environment variable with the handle */

/*
 * Reads a handle of 1 to 64 bytes, in hexadecimal digits.
 *
 * 'value' is "@FILE" if a file has the digits. The file can end with a newline. 'value' is NULL if
 * the environment variable HANDLE_TEXT_VARIABLE has the digits.
 *
 * Returns NULL, with 'data' and *len_bytes set. After an error, returns a text that the caller
 * prints after the value.
 */
const char *handle_text_read(const char *value, uint8_t data[HANDLE_TEXT_BYTES_MAX],
			     uint32_t *len_bytes);

#endif
