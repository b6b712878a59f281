/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HEX_H
#define HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Read bytes written as hex digits until the end of the file: two digits a byte, words of any even
 * number of digits, with or without 0x, between white space; '#' starts a comment to the line's
 * end. Returns 0 and *len; or -1, with what is wrong in 'error'. */
int hex_read(FILE *from, uint8_t *buf, size_t size, size_t *len, char *error, size_t error_size);

#endif
