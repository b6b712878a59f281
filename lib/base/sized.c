/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads structures of the public API that the application fills in. */
#include "sized.h"

#include <errno.h>
#include <stdbool.h>

static bool is_zero(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

int sized_check(const struct sized_type *type, const void *theirs)
{
	size_t bytes;

	memcpy(&bytes, theirs, sizeof(bytes));
	if (bytes < type->first_bytes || bytes > SIZED_BYTES_MAX)
		return -EINVAL;
	if (bytes > type->own_bytes &&
	    !is_zero((const char *)theirs + type->own_bytes, bytes - type->own_bytes))
		return -E2BIG;
	return 0;
}

int sized_read(const struct sized_type *type, void *own, const void *theirs)
{
	int rc = sized_check(type, theirs);
	size_t bytes;

	if (rc != 0)
		return rc;
	memcpy(&bytes, theirs, sizeof(bytes));
	if (bytes > type->own_bytes)
		bytes = type->own_bytes;
	memcpy(own, theirs, bytes);
	memset((char *)own + bytes, 0, type->own_bytes - bytes);
	memcpy(own, &type->own_bytes, sizeof(type->own_bytes));
	return 0;
}
