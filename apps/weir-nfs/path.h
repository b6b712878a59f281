/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PATH_H
#define PATH_H

/*
 * Paths on the server, as lists of names below the export's root. '..' is resolved lexically, and
 * the server never gets it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_BYTES_MAX 255u
#define PATH_NAMES_MAX 256u
#define PATH_BYTES_MAX 4096u /* includes the NUL */

struct path {
	uint32_t nnames;
	uint16_t starts[PATH_NAMES_MAX]; /* offsets in 'bytes'; each name has 1 to NAME_BYTES_MAX
					    bytes, no '/', and is neither "." nor ".." */
	char bytes[PATH_BYTES_MAX];
};

static inline const char *path_name(const struct path *path, uint32_t i)
{
	return path->bytes + path->starts[i];
}

/*
 * Splits 'text' into names. '.' and empty names are dropped. '..' removes the preceding name, and
 * is dropped at the root. Returns 0 or -ENAMETOOLONG.
 */
int path_parse(const char *text, struct path *path);

/*
 * Resolves the symbolic link that is name number 'at' of 'path': its target replaces the names up
 * to and including that one. An absolute target starts at the export's root. Returns 0, or
 * -ENAMETOOLONG if the result is too long.
 */
int path_splice(const struct path *path, uint32_t at, const char *target, struct path *out);

/*
 * Writes the first 'nnames' names as "a/b/c", or "/" if there are none. The text is truncated if it
 * does not fit.
 */
void path_text(const struct path *path, uint32_t nnames, char *text, size_t text_bytes);

/* Returns whether a name from a server may be used as the name of a local file. */
bool name_is_safe(const char *name, size_t len);

#endif
