/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HEX_H
#define HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads bytes in hex digits until the end of the file 'from'. Each byte has two digits. A word has
 * any even number of digits, and can start with 0x. White space separates words. '#' starts a
 * comment, which extends to the end of the line. Returns 0 with the bytes in 'buf' and *len set.
 * Returns -1 with the reason in 'error' if the input is malformed, longer than 'size' bytes, or
 * cannot be read.
 */
int hex_read(FILE *from, uint8_t *buf, size_t size, size_t *len, char *error, size_t error_size);

#endif
