/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIZED_H
#define SIZED_H

/*
 * Structures of the public API to which later versions can add members, and which begin with their
 * size (weir/common.h). The structure of the application is shorter than that of weir if the
 * application was built with older headers. It is longer if the application was built with newer
 * headers. sized_fill() is for structures that weir fills in. sized_read() is
 * for structures that the application fills in.
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

/* A structure that the application fills in. */
struct sized_type {
	const char *name; /* name of the structure in messages */
	size_t own_bytes; /* size in this version of weir */
	/* size in the first version of weir that had the structure; no application has a shorter
	 * one */
	size_t first_bytes;
};

/*
 * Initialises a sized_type for 'struct tag'. 'last' is the last member that the structure had in
 * the first version. Do not change 'last' when you append a member to the structure.
 */
#define SIZED_TYPE(tag, last)                                                                      \
	{                                                                                          \
		.name = #tag, .own_bytes = sizeof(struct tag),                                     \
		.first_bytes = offsetof(struct tag, last) + sizeof(((struct tag *)0)->last)        \
	}

/* No structure is longer in any version. A larger struct_bytes is a value that was not set. */
#define SIZED_BYTES_MAX 65536u

/*
 * Copies 'theirs', the structure of the application, to 'own', weir's structure of the same type.
 * Members that the application's structure does not have become 0. own->struct_bytes becomes the
 * size of weir's structure. Returns 0, or one of these errors, which sized_why.h explains:
 * - -EINVAL: the structure of the application is shorter than the first version, or longer than
 *   SIZED_BYTES_MAX. In most cases, the application has not set struct_bytes.
 * - -E2BIG: the structure of the application is longer than that of weir, and the members that weir
 *   does not know are not 0. weir must not ignore what they ask for.
 */
int sized_read(const struct sized_type *type, void *own, const void *theirs);

/* Checks a structure of the application that is not copied. The results are those of
 * sized_read(). */
int sized_check(const struct sized_type *type, const void *theirs);

#endif
