/* SPDX-License-Identifier: BSD-3-Clause */
/* How the shm driver copies what RDMA Reads and Writes carry. */
#ifndef WEIR_DRIVERS_SHM_COPY_H
#define WEIR_DRIVERS_SHM_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHM_COPY_PIECE 2048	/* up to here, C libraries copy by vector registers */
#define SHM_COPY_NEAR  256	/* bytes */
#define SHM_COPY_SPAN  0x100000 /* bytes */

/*
 * A long copy is one string instruction in the C library. Where the target lies a little above the source in the low
 * 20 bits of their addresses in hugepages (as with buffers of 1 MiB, one of them used from behind a header), that
 * instruction was measured at a quarter to a tenth of its speed: 'weir-micro-memcpy --offset 64 --by memcpy' beside
 * '--by shm'. There alone the copy goes in pieces, for which the library takes vector registers. The two must not
 * overlap.
 */
static inline void shm_copy(void *dst, const void *src, size_t len)
{
	size_t above = ((uintptr_t)dst - (uintptr_t)src) % SHM_COPY_SPAN;
	uint8_t *to = dst;
	const uint8_t *from = src;

	if (__builtin_expect(above - 1 < SHM_COPY_NEAR - 1, 0)) {
		for (; len > SHM_COPY_PIECE; len -= SHM_COPY_PIECE) {
			memcpy(to, from, SHM_COPY_PIECE);
			to += SHM_COPY_PIECE;
			from += SHM_COPY_PIECE;
		}
	}
	memcpy(to, from, len);
}

#endif
