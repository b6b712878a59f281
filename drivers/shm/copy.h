/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of the data of RDMA Reads and Writes in the shm driver. */
#ifndef WEIR_DRIVERS_SHM_COPY_H
#define WEIR_DRIVERS_SHM_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#define SHM_COPY_PIECE 2048	    /* bytes; C libraries copy this length by vector registers */
#define SHM_COPY_NEAR  256	    /* distance in bytes: see shm_copy() */
#define SHM_COPY_SPAN  4096	    /* bytes, the distance is modulo this number */
#define SHM_COPY_USED  8192	    /* bytes: see shm_copy_to_used() */
#define SHM_COPY_LONG  (256u << 10) /* bytes, from which on shm_copy_long() is used */

/* Finds out whether this processor has a fast string instruction. It is called before the first
 * copy, and can be called on any thread and more than once. */
void shm_copy_init(void);

/* Copies 'len' bytes, by one string instruction if the processor has a fast one, and otherwise by
 * memcpy(). For long copies, C libraries use vector registers, which are slower than the string
 * instruction. With AMD's processors, C libraries do so from the size of the second-level cache on.
 * See 'weir-micro-memcpy --by shm' and '--by memcpy'. */
void shm_copy_long(void *dst, const void *src, size_t len);

static inline void shm_copy_in_pieces(uint8_t *to, const uint8_t *from, size_t len)
{
	for (; len > SHM_COPY_PIECE; len -= SHM_COPY_PIECE) {
		memcpy(to, from, SHM_COPY_PIECE);
		to += SHM_COPY_PIECE;
		from += SHM_COPY_PIECE;
	}
	memcpy(to, from, len);
}

/* Works like shm_copy_in_pieces(), but is not inline, so that a caller that copies in one piece has
 * no stack frame for the loop. */
static out_of_line maybe_unused void shm_copy_apart(uint8_t *to, const uint8_t *from, size_t len)
{
	shm_copy_in_pieces(to, from, len);
}

/*
 * Copies 'len' bytes. The two ranges must not overlap.
 *
 * A long copy is one string instruction in the C library. That instruction is slow if, in the low
 * 12 bits of their addresses, the target is a little above the source. An example are two blocks of
 * a page's size, of which only the target follows a header. Its speed was measured as a hundredth
 * for up to 16 bytes, and in hugepages as a quarter for up to 128 bytes: compare 'weir-micro-memcpy
 * --size 4096 --offset 8 --by memcpy' with '--by shm'. Only in this case, the copy is made in
 * pieces, for which the library uses vector registers.
 */
static inline void shm_copy(void *dst, const void *src, size_t len)
{
	size_t above = ((uintptr_t)dst - (uintptr_t)src) % SHM_COPY_SPAN;

	if (unlikely(above - 1 < SHM_COPY_NEAR - 1))
		shm_copy_apart(dst, src, len);
	else if (unlikely(len >= SHM_COPY_LONG))
		shm_copy_long(dst, src, len);
	else
		memcpy(dst, src, len);
}

/* Copies 'len' bytes to memory that was accessed recently, as most buffers into which an RDMA Read
 * copies. Up to SHM_COPY_USED bytes, vector registers are as fast or faster for such memory. */
static inline void shm_copy_to_used(void *dst, const void *src, size_t len)
{
	if (len <= SHM_COPY_USED)
		shm_copy_in_pieces(dst, src, len);
	else
		shm_copy(dst, src, len);
}

#endif
