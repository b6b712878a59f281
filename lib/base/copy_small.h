/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COPY_SMALL_H
#define COPY_SMALL_H

/* Copies up to COPY_SMALL_MAX bytes by a few moves, because a call to memcpy() costs more than
 * these moves. The moves of one copy overlap, so that they fit any length. If 'len' is at least 4,
 * all bytes are read before any byte is written. */

#include <stdint.h>
#include <string.h>

#define COPY_SMALL_MAX 64u

typedef uint8_t bytes16 __attribute__((vector_size(16)));

static inline void copy_small(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	if (len >= 32) {
		bytes16 a, b, c, d;

		memcpy(&a, src, 16);
		memcpy(&b, src + 16, 16);
		memcpy(&c, src + len - 32, 16);
		memcpy(&d, src + len - 16, 16);
		memcpy(dst, &a, 16);
		memcpy(dst + 16, &b, 16);
		memcpy(dst + len - 32, &c, 16);
		memcpy(dst + len - 16, &d, 16);
	} else if (len >= 16) {
		bytes16 a, b;

		memcpy(&a, src, 16);
		memcpy(&b, src + len - 16, 16);
		memcpy(dst, &a, 16);
		memcpy(dst + len - 16, &b, 16);
	} else if (len >= 8) {
		uint64_t a, b;

		memcpy(&a, src, 8);
		memcpy(&b, src + len - 8, 8);
		memcpy(dst, &a, 8);
		memcpy(dst + len - 8, &b, 8);
	} else if (len >= 4) {
		uint32_t a, b;

		memcpy(&a, src, 4);
		memcpy(&b, src + len - 4, 4);
		memcpy(dst, &a, 4);
		memcpy(dst + len - 4, &b, 4);
	} else {
		for (uint32_t i = 0; i < len; i++)
			dst[i] = src[i];
	}
}

#endif
