/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_H
#define WIRE_H

/*
 * Reads and writes big-endian words at any alignment, because a received header starts where the
 * device put it.
 *
 * These functions use __builtin_memcpy(). The sizes are constants, so the checks of _FORTIFY_SOURCE
 * cannot find an error. But with these checks the functions would be too large for the compiler to
 * inline.
 */

#include <endian.h>
#include <string.h>

#include <weir/common.h>

/* These functions return a word in the byte order of the wire, for comparisons with other words in
 * that order. */
static inline uint32_t wire_raw_u32(const uint8_t *at)
{
	uint32_t be;

	__builtin_memcpy(&be, at, sizeof(be));
	return be;
}

static inline uint64_t wire_raw_u64(const uint8_t *at)
{
	uint64_t be;

	__builtin_memcpy(&be, at, sizeof(be));
	return be;
}

static inline uint32_t wire_get_u32(const uint8_t *at)
{
	uint32_t be;

	__builtin_memcpy(&be, at, sizeof(be));
	return be32toh(be);
}

static inline uint64_t wire_get_u64(const uint8_t *at)
{
	uint64_t be;

	__builtin_memcpy(&be, at, sizeof(be));
	return be64toh(be);
}

static inline void wire_put_u32(uint8_t *at, uint32_t value)
{
	uint32_t be = htobe32(value);

	__builtin_memcpy(at, &be, sizeof(be));
}

static inline void wire_put_u64(uint8_t *at, uint64_t value)
{
	uint64_t be = htobe64(value);

	__builtin_memcpy(at, &be, sizeof(be));
}

typedef uint32_t wire_four __attribute__((vector_size(16)));

/* Returns four words as one vector. The asm statement hides constants from the compiler, which
 * would otherwise make two stores of them. */
static inline wire_four wire_four_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	wire_four words = {htobe32(a), htobe32(b), htobe32(c), htobe32(d)};

#ifdef __x86_64__
	__asm__("" : "+x"(words));
#endif
	return words;
}

/* Writes four words by one store. */
static inline void wire_put_four(uint8_t *at, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	wire_four words = wire_four_of(a, b, c, d);

	__builtin_memcpy(at, &words, sizeof(words));
}

#endif
