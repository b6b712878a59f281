/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIZED_H
#define SIZED_H

/*
 * Structures of the public API that may grow and that weir fills in (weir/common.h). The structure
 * of the application may be shorter than that of weir if the application was built with older
 * headers. It may be longer if the application was built with newer headers.
 */

#include <stddef.h>
#include <string.h>

/* Fills in the structure of the application, whose first member is its size, from weir's own
 * structure. Nothing is written after the end of the application's structure. Members that only the
 * application's structure has become 0. */
static inline void sized_fill(void *theirs, const void *own, size_t own_bytes)
{
	const size_t first_bytes = sizeof(size_t);
	size_t bytes, common_bytes;

	memcpy(&bytes, theirs, sizeof(bytes));
	if (bytes <= first_bytes)
		return;
	common_bytes = bytes < own_bytes ? bytes : own_bytes;
	memcpy((char *)theirs + first_bytes, (const char *)own + first_bytes,
	       common_bytes - first_bytes);
	memset((char *)theirs + common_bytes, 0, bytes - common_bytes);
}

#endif
