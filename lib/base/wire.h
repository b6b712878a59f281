/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_H
#define WIRE_H

/*
 * Reads and writes big-endian words at any alignment. The words of a received header are not
 * aligned, because the header starts where the device put it.
 *
 * These functions use __builtin_memcpy(), so that the checks of _FORTIFY_SOURCE are left out. The
 * sizes are constants, so these checks could not find an error. But with the checks the functions
 * would be too large for the compiler to inline.
 */

#include <endian.h>
#include <string.h>

#include <weir/common.h>

/* wire_raw_u32() and wire_raw_u64() return the word at 'at' in the byte order of the wire, for
 * comparisons with other words in that order. */
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

/* wire_get_u32() and wire_get_u64() return the word at 'at' in the byte order of the CPU. */
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

/* wire_put_u32() and wire_put_u64() write a value of the CPU's byte order at 'at'. */
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

/* Returns four words as one vector, in the byte order of the wire. The asm statement hides from the
 * compiler that words are constant. Otherwise the compiler would make two stores of constant
 * words. */
static inline wire_four wire_four_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	wire_four words = {htobe32(a), htobe32(b), htobe32(c), htobe32(d)};

#ifdef __x86_64__
	__asm__("" : "+x"(words));
#endif
	return words;
}

/* Writes four words at 'at' by one store. */
static inline void wire_put_four(uint8_t *at, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	wire_four words = wire_four_of(a, b, c, d);

	__builtin_memcpy(at, &words, sizeof(words));
}

#endif
