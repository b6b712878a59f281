/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_H
#define FUZZ_H

/*
 * Code that the fuzz targets share: the entry function, checks of conditions, and functions that
 * parse an input.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * This is not assert(), because the check must be active in any build, and because a target can
 * have redirected standard error.
 */
#define REQUIRE(condition) require((condition), #condition, __FILE__, __LINE__)

static inline void require(bool holds, const char *condition, const char *file, int line)
{
	if (holds)
		return;
	dprintf(2, "%s:%d: %s does not hold\n", file, line, condition);
	abort();
}

/* The part of an input that has not yet been parsed. Bytes after its end read as zero. */
struct fuzz_in {
	const uint8_t *p;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint32_t fuzz_u16(struct fuzz_in *in)
{
	uint32_t high = fuzz_u8(in);

	return high << 8 | fuzz_u8(in);
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t high = fuzz_u16(in);

	return high << 16 | fuzz_u16(in);
}

static inline uint64_t fuzz_u64(struct fuzz_in *in)
{
	uint64_t high = fuzz_u32(in);

	return high << 32 | fuzz_u32(in);
}

/*
 * Returns memory of exactly 'len' bytes, so that a sanitizer detects each access before or after
 * it. If 'from' is not NULL, its bytes are copied to the memory.
 */
static inline uint8_t *fuzz_copy(const void *from, size_t len)
{
	uint8_t *copy = malloc(len);

	REQUIRE(copy != NULL || len == 0);
	if (from && len > 0)
		memcpy(copy, from, len);
	return copy;
}

#endif
