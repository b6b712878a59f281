/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GUARDED_H
#define GUARDED_H

/* Arrays with margins, in which a test finds each store outside of the array. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GUARD 512u

/* Returns an array of zeros that is aligned as a queue of a device. */
static inline uint8_t *guarded_alloc(size_t size)
{
	uint8_t *all = aligned_alloc(4096, (size + 2 * GUARD + 4095) / 4096 * 4096);

	memset(all, 0xa5, size + 2 * GUARD);
	memset(all + GUARD, 0, size);
	return all + GUARD;
}

static inline void guarded_check(const uint8_t *array, size_t size)
{
	for (size_t i = 0; i < GUARD; i++) {
		assert_int_equal(array[-1 - (ptrdiff_t)i], 0xa5);
		assert_int_equal(array[size + i], 0xa5);
	}
}

static inline void guarded_free(uint8_t *array)
{
	free(array - GUARD);
}

#endif
