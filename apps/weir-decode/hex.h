/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HEX_H
#define HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads bytes in hex digits until the end of the file. Each byte has two digits. A word has any
 * even number of digits, and may start with 0x. White space separates words. '#' starts a comment
 * to the end of the line. Returns 0 with *len set, or -1 with the reason in 'error'.
 */
int hex_read(FILE *from, uint8_t *buf, size_t size, size_t *len, char *error, size_t error_size);

#endif
