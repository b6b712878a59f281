/* SPDX-License-Identifier: BSD-3-Clause */
#include "sized_why.h"

#include <errno.h>
#include <stdio.h>

int sized_check_why(const struct sized_type *type, const void *theirs, char *why)
{
	int rc = sized_check(type, theirs);
	size_t bytes;

	memcpy(&bytes, theirs, sizeof(bytes));
	if (rc == -EINVAL)
		snprintf(why, SIZED_WHY_BYTES,
			 "%s.struct_bytes is %zu, which is no size of this structure in any "
			 "version: set struct_bytes to sizeof(struct %s)",
			 type->name, bytes, type->name);
	else if (rc != 0)
		snprintf(why, SIZED_WHY_BYTES,
			 "%s.struct_bytes is %zu, this version of libweir knows the first %zu "
			 "bytes, and the others are not 0: set them to 0, or install the version "
			 "of libweir with whose headers the program was built",
			 type->name, bytes, type->own_bytes);
	return rc;
}

int sized_read_why(const struct sized_type *type, void *own, const void *theirs, char *why)
{
	int rc = sized_check_why(type, theirs, why);

	return rc == 0 ? sized_read(type, own, theirs) : rc;
}
