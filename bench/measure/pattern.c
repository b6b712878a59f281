/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the sequence of bytes of which data consist, and compares data with it. */
#include "pattern.h"

#include <string.h>

/* The table has two periods of the sequence, so that most comparisons are one memcmp(). */
#define TABLE_BYTES (2u * BENCH_PERIOD)

static uint8_t table[TABLE_BYTES];

__attribute__((constructor)) static void make_table(void)
{
	uint32_t x = 0x9e3779b9u;

	for (uint32_t i = 0; i < BENCH_PERIOD; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		table[i] = (uint8_t)(x >> 24);
		table[i + BENCH_PERIOD] = table[i];
	}
}

void bench_pattern_fill(uint8_t *dst, uint64_t offset, uint32_t len)
{
	while (len > 0) {
		uint32_t at = (uint32_t)(offset % BENCH_PERIOD);
		uint32_t n = len < BENCH_PERIOD ? len : BENCH_PERIOD;

		memcpy(dst, table + at, n);
		dst += n;
		offset += n;
		len -= n;
	}
}

bool bench_pattern_matches(const uint8_t *src, uint64_t offset, uint32_t len)
{
	while (len > 0) {
		uint32_t at = (uint32_t)(offset % BENCH_PERIOD);
		uint32_t n = len < BENCH_PERIOD ? len : BENCH_PERIOD;

		if (memcmp(src, table + at, n) != 0)
			return false;
		src += n;
		offset += n;
		len -= n;
	}
	return true;
}
