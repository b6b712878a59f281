/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PATH_H
#define PATH_H

/*
 * Paths on the server, as lists of names below the export's root. '..' removes the name that
 * precedes it, whatever that name is on the server. The server never receives '..'.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_BYTES_MAX 255u
#define PATH_NAMES_MAX 256u
#define PATH_BYTES_MAX 4096u /* includes the NUL */

struct path {
	uint32_t nnames;
	uint16_t starts[PATH_NAMES_MAX]; /* offset of each name in 'bytes'; each name has 1 to
					    NAME_BYTES_MAX bytes and no '/', and is neither "." nor
					    ".." */
	char bytes[PATH_BYTES_MAX];	 /* the names, each with a NUL */
};

static inline const char *path_name(const struct path *path, uint32_t i)
{
	return path->bytes + path->starts[i];
}

/*
 * Splits 'text' into names. '.' and empty names are left out. '..' removes the preceding name, and
 * has no effect at the root. Returns 0, or -ENAMETOOLONG if a name or the path is too long.
 */
int path_parse(const char *text, struct path *path);

/*
 * Resolves a symbolic link. The name number 'at' of 'path' is the link. Its target replaces this
 * name. The names before it stay if the target is relative, and are removed if the target is
 * absolute, because an absolute target starts at the export's root. *out is the new path. Returns
 * 0, or -ENAMETOOLONG if the new path is too long.
 */
int path_splice(const struct path *path, uint32_t at, const char *target, struct path *out);

/*
 * Writes the first 'nnames' names of 'path' as "a/b/c", or "/" if 'nnames' is 0. The text is
 * truncated if it does not fit.
 */
void path_text(const struct path *path, uint32_t nnames, char *text, size_t text_bytes);

/*
 * Returns true if a name from a server can safely be the name of a local file: it has 1 to
 * NAME_BYTES_MAX bytes without '/' and NUL, and is neither "." nor "..".
 */
bool name_is_safe(const char *name, size_t len);

#endif
