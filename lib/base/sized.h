/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIZED_H
#define SIZED_H

/*
 * Structures of the public API that weir fills in, and to which later versions can add members
 * (weir/common.h). The structure of the application is shorter than that of weir if the application
 * was built with older headers. It is longer if the application was built with newer headers.
 */

#include <stddef.h>
#include <string.h>

/* Fills in 'theirs', the structure of the application, from 'own', weir's structure of own_bytes.
 * Each structure begins with a size_t, which holds the size of the structure in bytes, and which
 * this function does not change. Nothing is written after the end of the application's structure.
 * Members that only the application's structure has become 0. */
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

/* Does the same for the element 'index' of an array of the application, whose elements have the
 * size 'bytes'. Sets the size of the element first. */
static inline void sized_fill_element(void *array, size_t bytes, size_t index, const void *own,
				      size_t own_bytes)
{
	char *element = (char *)array + index * bytes;

	if (bytes < sizeof(bytes))
		return;
	memcpy(element, &bytes, sizeof(bytes));
	sized_fill(element, own, own_bytes);
}

#endif
