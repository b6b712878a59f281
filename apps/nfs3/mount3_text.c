/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts between strings of MOUNT messages and those of C. */
#include "mount3_text.h"

#include <string.h>

bool mount3_text(const struct weir_xdr_string *from, char *to, size_t size)
{
	if (from->len_bytes >= size || memchr(from->data, '\0', from->len_bytes))
		return false;
	memcpy(to, from->data, from->len_bytes);
	to[from->len_bytes] = '\0';
	return true;
}

struct weir_xdr_string mount3_string(const char *text)
{
	return (struct weir_xdr_string){.data = text, .len_bytes = (uint32_t)strlen(text)};
}
