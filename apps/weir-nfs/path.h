/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PATH_H
#define PATH_H

/* Paths on the server, as lists of names below the export's root. '..' is lexical: the server never
 * sees it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_BYTES_MAX 255u
#define PATH_NAMES_MAX 256u
#define PATH_BYTES_MAX 4096u /* with the NUL */

struct path {
	uint32_t nnames;
	uint16_t starts[PATH_NAMES_MAX]; /* in 'bytes'; each 1 to NAME_BYTES_MAX bytes, no '/', not
					    "." or ".." */
	char bytes[PATH_BYTES_MAX];
};

static inline const char *path_name(const struct path *path, uint32_t i)
{
	return path->bytes + path->starts[i];
}

/* Take 'text' apart. '.' and empty names vanish, '..' takes one name back and stays at the root. 0;
 * -ENAMETOOLONG. */
int path_parse(const char *text, struct path *path);

/* Resolve the symbolic link that name number 'at' of 'path' is: its target replaces the names up to
 * and including that one. An absolute target starts at the export's root. Returns 0, or
 * -ENAMETOOLONG if the result is too long. */
int path_splice(const struct path *path, uint32_t at, const char *target, struct path *out);

/* "a/b/c" of the first 'nnames' names, or "/" of none; cut off when it does not fit. */
void path_text(const struct path *path, uint32_t nnames, char *text, size_t text_bytes);

/* Whether a name that a server sent may be used as the name of a file here. */
bool name_is_safe(const char *name, size_t len);

#endif
