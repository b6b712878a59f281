/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of the data of RDMA Reads and Writes in the shm driver. */
#ifndef WEIR_DRIVERS_SHM_COPY_H
#define WEIR_DRIVERS_SHM_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#define SHM_COPY_PIECE 2048	    /* C libraries copy this length by vector registers */
#define SHM_COPY_NEAR  256	    /* bytes */
#define SHM_COPY_SPAN  4096	    /* bytes */
#define SHM_COPY_USED  8192	    /* bytes */
#define SHM_COPY_LONG  (256u << 10) /* bytes */

/* Finds out how this processor copies best. May be called on any thread, before the first copy, and
 * more than once. */
void shm_copy_init(void);

/* Copies by one string instruction of any length, if the processor has a fast one. From some length
 * on, C libraries use vector registers, which are slower then. With AMD's processors, this length
 * is the size of the second-level cache. See 'weir-micro-memcpy --by shm' and '--by memcpy'. */
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

/* Not inline, so that a caller that copies in one piece has no stack frame for this loop. */
static out_of_line maybe_unused void shm_copy_apart(uint8_t *to, const uint8_t *from, size_t len)
{
	shm_copy_in_pieces(to, from, len);
}

/*
 * Copies 'len' bytes. The two ranges must not overlap.
 *
 * A long copy is one string instruction in the C library. That instruction is slow if the
 * destination is a little above the source in the low 12 bits of their addresses, as with blocks in
 * pages of which one follows a header. Its speed was measured as a hundredth for up to 16 bytes,
 * and in hugepages as a quarter for up to 128 bytes: compare 'weir-micro-memcpy --size 4096
 * --offset 8 --by memcpy' with '--by shm'. Only in this case, the copy is made in pieces, for which
 * the library uses vector registers.
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

/* Copies to memory that was used recently, which is true of most buffers that data are pulled into.
 * For such memory, vector registers are as fast or faster up to some length. */
static inline void shm_copy_to_used(void *dst, const void *src, size_t len)
{
	if (len <= SHM_COPY_USED)
		shm_copy_in_pieces(dst, src, len);
	else
		shm_copy(dst, src, len);
}

#endif
