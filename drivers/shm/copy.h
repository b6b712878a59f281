/* SPDX-License-Identifier: BSD-3-Clause */
/* How the shm driver copies what RDMA Reads and Writes carry. */
#ifndef WEIR_DRIVERS_SHM_COPY_H
#define WEIR_DRIVERS_SHM_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#define SHM_COPY_PIECE 2048	    /* up to here, C libraries copy by vector registers */
#define SHM_COPY_NEAR  256	    /* bytes */
#define SHM_COPY_SPAN  4096	    /* bytes */
#define SHM_COPY_USED  8192	    /* bytes */
#define SHM_COPY_LONG  (256u << 10) /* bytes */

/* Find out how this processor copies best. Any thread, before the first copy; more than once does
 * no harm. */
void shm_copy_init(void);

/* By one string instruction where the processor has a fast one, however long it is: C libraries
 * take vector registers from some length on, with AMD's processors from the size of the second
 * cache on, and are slower then ('weir-micro-memcpy --by shm' beside '--by memcpy'). */
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

/* Out of line, so that who copies in one go has no stack frame for it. */
static out_of_line maybe_unused void shm_copy_apart(uint8_t *to, const uint8_t *from, size_t len)
{
	shm_copy_in_pieces(to, from, len);
}

/*
 * A long copy is one string instruction in the C library. Where the target lies a little above the
 * source in the low 12 bits of their addresses (as with blocks in pages, one of them behind a
 * header), that instruction was measured at a hundredth of its speed for up to 16 bytes, and in
 * hugepages at a quarter for up to 128: 'weir-micro-memcpy --size 4096 --offset 8 --by memcpy'
 * beside '--by shm'. There alone the copy goes in pieces, for which the library takes vector
 * registers. The two must not overlap.
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

/* The same to memory that was used a moment ago, as buffers that are pulled into are mostly: there,
 * vector registers are as fast or faster, up to some length. */
static inline void shm_copy_to_used(void *dst, const void *src, size_t len)
{
	if (len <= SHM_COPY_USED)
		shm_copy_in_pieces(dst, src, len);
	else
		shm_copy(dst, src, len);
}

#endif
