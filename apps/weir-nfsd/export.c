/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes exports, and finds them by the ids that handles contain. */
#include "export.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "ram/ram.h"

#define ANONYMOUS 65534u

/*
 * Returns true for a name that both a client and a file of exports can express. Such a name has no
 * control characters, and no blank at the end.
 */
static bool export_is_name(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	return n > 0 && text[n - 1] != ' ';
}

/*
 * Returns the id of an export: 32 bits of a SipHash of its name, without a secret, so that the id
 * is the same after each start.
 */
static uint32_t id_of(const char *name)
{
	static const uint8_t key[crypto_shorthash_KEYBYTES];
	uint8_t hash[crypto_shorthash_BYTES];
	uint32_t id;

	crypto_shorthash(hash, (const uint8_t *)name, strlen(name), key);
	memcpy(&id, hash, sizeof(id));
	return id;
}

struct export *export_make(struct exports *exports, const char *name, const char *where)
{
	struct export *export = &exports->all[exports->n];
	const char *inner = name + strspn(name, "/");
	size_t n = strlen(inner);

	if (exports->n == EXPORTS_MAX) {
		export_bad(where, "export", name, "there are 32 exports already");
		return NULL;
	}
	*export = (struct export){
		.rules = {.squashes_root = true, .anon_uid = ANONYMOUS, .anon_gid = ANONYMOUS}};
	/* In MOUNT, the path of an export has one slash at the start and none at the end. */
	while (n > 0 && inner[n - 1] == '/')
		n--;
	if (n + 2 > sizeof(export->name) || !export_is_name(inner, n)) {
		export_bad(where, "export", name,
			   "expected a name of 1 to 254 bytes, without control characters and "
			   "without a blank at the end");
		return NULL;
	}
	snprintf(export->name, sizeof(export->name), "/%.*s", (int)n, inner);
	export->id = id_of(export->name);
	export->size_bytes = RAM_SIZE_USUAL;
	if (export_by_id(exports, export->id)) {
		export_bad(where, "export", name,
			   "another export has this name, or a name with the same id: choose "
			   "another name");
		return NULL;
	}
	exports->n++;
	return export;
}

struct export *export_by_id(struct exports *exports, uint32_t id)
{
	for (uint32_t i = 0; i < exports->n; i++)
		if (exports->all[i].id == id)
			return &exports->all[i];
	return NULL;
}
