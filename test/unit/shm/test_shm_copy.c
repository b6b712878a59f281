/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the copy function of the driver shm copies each byte, and no byte more, at any
 * alignment of source and target.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "copy.h"

#define PAGE  4096u
#define LONG  (3 * SHM_COPY_PIECE + 17)
#define GUARD 64u

static void copies_exactly(void **state)
{
	static const size_t lens[] = {0,
				      1,
				      SHM_COPY_PIECE - 1,
				      SHM_COPY_PIECE,
				      SHM_COPY_PIECE + 1,
				      2 * SHM_COPY_PIECE,
				      2 * SHM_COPY_PIECE + 1,
				      LONG};
	uint8_t *src = aligned_alloc(SHM_COPY_SPAN, 4 * PAGE),
		*dst = aligned_alloc(SHM_COPY_SPAN, 4 * PAGE);

	(void)state;
	for (size_t i = 0; i < 4 * PAGE; i++)
		src[i] = (uint8_t)(1 + i * 7 % 255);
	assert_non_null(src);
	assert_non_null(dst);
	for (size_t above = 0; above < PAGE; above += above < 2 * SHM_COPY_NEAR ? 1 : 61) {
		for (size_t n = 0; n < sizeof(lens) / sizeof(lens[0]); n++) {
			uint8_t *to = dst + GUARD + above;

			memset(dst, 0, 4 * PAGE);
			shm_copy(to, src + GUARD, lens[n]);
			assert_memory_equal(to, src + GUARD, lens[n]);
			for (size_t i = 0; i < GUARD; i++) {
				assert_int_equal(to[-1 - (ptrdiff_t)i], 0);
				assert_int_equal(to[lens[n] + i], 0);
			}
		}
	}
	free(src);
	free(dst);
}

/*
 * Does what copies_exactly() does for long copies, before and after the method for them was chosen.
 */
static void copies_exactly_what_is_long(void **state)
{
	static const size_t lens[] = {SHM_COPY_LONG - 1, SHM_COPY_LONG, SHM_COPY_LONG + 4097,
				      4 * SHM_COPY_LONG};
	const size_t room = 4 * SHM_COPY_LONG + 2 * PAGE;
	uint8_t *src = aligned_alloc(SHM_COPY_SPAN, room),
		*dst = aligned_alloc(SHM_COPY_SPAN, room);

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	for (uint32_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < room; i++)
			src[i] = (uint8_t)(1 + (i * 7 + i / 4096 + round) % 255);
		for (size_t n = 0; n < sizeof(lens) / sizeof(lens[0]); n++) {
			for (size_t above = 0; above < PAGE; above += 1021) {
				uint8_t *to = dst + GUARD + above;

				memset(dst, 0, room);
				shm_copy_to_used(to, src + GUARD, lens[n]);
				assert_memory_equal(to, src + GUARD, lens[n]);
				for (size_t i = 0; i < GUARD; i++) {
					assert_int_equal(to[-1 - (ptrdiff_t)i], 0);
					assert_int_equal(to[lens[n] + i], 0);
				}
			}
		}
		shm_copy_init();
	}
	free(src);
	free(dst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(copies_exactly),
					   cmocka_unit_test(copies_exactly_what_is_long)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
