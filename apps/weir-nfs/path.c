/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits paths into names, and checks names. */
#include "path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int path_parse(const char *text, struct path *path)
{
	size_t used = 0;

	path->nnames = 0;
	for (;;) {
		size_t len;

		text += strspn(text, "/");
		len = strcspn(text, "/");
		if (len == 0)
			return 0;
		if (len == 2 && memcmp(text, "..", 2) == 0) {
			path->nnames -= path->nnames > 0;
		} else if (len != 1 || text[0] != '.') {
			if (len > NAME_BYTES_MAX || path->nnames == PATH_NAMES_MAX ||
			    used + len + 1 > sizeof(path->bytes))
				return -ENAMETOOLONG;
			path->starts[path->nnames++] = (uint16_t)used;
			memcpy(path->bytes + used, text, len);
			path->bytes[used + len] = '\0';
			used += len + 1;
		}
		text += len;
	}
}

int path_splice(const struct path *path, uint32_t at, const char *target, struct path *out)
{
	char text[3 * PATH_BYTES_MAX];
	size_t used = 0;
	int n = 0;

	for (uint32_t i = 0; i < at && target[0] != '/'; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s/",
					 path_name(path, i));
	/*
	 * The names of 'path' always fit, because PATH_BYTES_MAX limits them. Only the target can
	 * be too long.
	 */
	n = snprintf(text + used, sizeof(text) - used, "%s", target);
	if (n < 0 || (size_t)n >= sizeof(text) - used - PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	used += (size_t)n;
	for (uint32_t i = at + 1; i < path->nnames; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "/%s",
					 path_name(path, i));
	return path_parse(text, out);
}

void path_text(const struct path *path, uint32_t nnames, char *text, size_t text_bytes)
{
	size_t used = 0;

	if (nnames == 0) {
		snprintf(text, text_bytes, "/");
		return;
	}
	for (uint32_t i = 0; i < nnames && used < text_bytes; i++)
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i ? "/" : "",
					 path_name(path, i));
}

bool name_is_safe(const char *name, size_t len)
{
	if (len == 0 || len > NAME_BYTES_MAX || memchr(name, '/', len) || memchr(name, '\0', len))
		return false;
	return !(len == 1 && name[0] == '.') && !(len == 2 && name[0] == '.' && name[1] == '.');
}
