/* SPDX-License-Identifier: BSD-3-Clause */
#include "export.h"

#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs.h"
#include "ram/ram.h"

#define ANONYMOUS 65534u

static int bad(const char *where, const char *what, const char *value, const char *expected)
{
	fprintf(stderr, "weir-nfsd: %s: %s '%s': %s\n", where, what, value, expected);
	return -1;
}

/* strtoull() takes blanks and signs, too. */
static bool starts_with_digit(const char *text)
{
	return *text >= '0' && *text <= '9';
}

static int set_size(struct export *export, const char *text, const char *where)
{
	unsigned long long number;
	unsigned shift = 0;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'm' || *end == 'M')
		shift = 20;
	else if (*end == 'g' || *end == 'G')
		shift = 30;
	if (!starts_with_digit(text) || errno != 0 || end[shift != 0] != '\0' ||
	    number > RAM_SIZE_MAX >> shift || number << shift < RAM_SIZE_MIN)
		return bad(where, "size", text,
			   "expected bytes from 4m to 1024g; k, m or g may follow");
	export->size_bytes = number << shift;
	return 0;
}

static int set_backend(struct export *export, const char *text, const char *where)
{
	if (strcmp(text, "ram") == 0 || strncmp(text, "ram:", 4) == 0) {
		export->ops = &ram_ops;
		return text[3] == ':' ? set_size(export, text + 4, where) : 0;
	}
	if (strncmp(text, "dir:", 4) == 0 && text[4] != '\0') {
		if (strlen(text + 4) >= sizeof(export->path))
			return bad(where, "directory", text + 4, "too long");
		export->ops = &dir_ops;
		snprintf(export->path, sizeof(export->path), "%s", text + 4);
		return 0;
	}
	return bad(where, "back end", text, "expected ram, ram:SIZE or dir:PATH");
}

static int set_bool(const char *key, const char *value, const char *where, struct export *export,
		    enum export_rule rule)
{
	if (strcmp(value, "yes") == 0)
		export_set_flag(&export->rules, rule, true);
	else if (strcmp(value, "no") == 0)
		export_set_flag(&export->rules, rule, false);
	else
		return bad(where, key, value, "expected yes or no");
	return 0;
}

int export_parse_id(const char *key, const char *value, const char *where, uint32_t *to)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (!starts_with_digit(value) || *end != '\0' || errno != 0 || number >= UINT32_MAX)
		return bad(where, key, value, "expected a number from 0 to 4294967294");
	*to = (uint32_t)number;
	return 0;
}

int export_set(struct export *export, const char *key, const char *value, const char *where)
{
	if (strcmp(key, "backend") == 0)
		return set_backend(export, value, where);
	if (strcmp(key, "size") == 0)
		return set_size(export, value, where);
	if (strcmp(key, "root_squash") == 0)
		return set_bool(key, value, where, export, EXPORT_SQUASH_ROOT);
	if (strcmp(key, "all_squash") == 0)
		return set_bool(key, value, where, export, EXPORT_SQUASH_ALL);
	if (strcmp(key, "secure_port") == 0)
		return set_bool(key, value, where, export, EXPORT_SECURE_PORT);
	if (strcmp(key, "clients") == 0)
		return export_set_clients(export, value, where);
	if (strcmp(key, "anonuid") == 0)
		return export_parse_id(key, value, where, &export->rules.anon_uid);
	if (strcmp(key, "anongid") == 0)
		return export_parse_id(key, value, where, &export->rules.anon_gid);
	if (strcmp(key, "access") == 0) {
		export->rules.is_read_only = strcmp(value, "ro") == 0;
		if (!export->rules.is_read_only && strcmp(value, "rw") != 0)
			return bad(where, key, value, "expected ro or rw");
		return 0;
	}
	return bad(where, "key", key,
		   "expected backend, size, clients, access, root_squash, all_squash, anonuid, "
		   "anongid or "
		   "secure_port");
}

/* What a client can ask for, and a file of exports can say: no control characters, and no blank at
 * the end. */
static bool is_name(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	return n > 0 && text[n - 1] != ' ';
}

/* 32 bits of a SipHash without a secret: the same at each start. */
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
		bad(where, "export", name, "there are 32 already");
		return NULL;
	}
	*export = (struct export){
		.rules = {.squashes_root = true, .anon_uid = ANONYMOUS, .anon_gid = ANONYMOUS}};
	/* MOUNT's paths have one slash in front and none behind. */
	while (n > 0 && inner[n - 1] == '/')
		n--;
	if (n + 2 > sizeof(export->name) || !is_name(inner, n)) {
		bad(where, "export", name,
		    "expected a name of 1 to 254 bytes, no control characters, no blank at the "
		    "end");
		return NULL;
	}
	snprintf(export->name, sizeof(export->name), "/%.*s", (int)n, inner);
	export->id = id_of(export->name);
	export->size_bytes = RAM_SIZE_USUAL;
	if (export_by_id(exports, export->id)) {
		bad(where, "export", name, "that name was used before, or one much like it");
		return NULL;
	}
	exports->n++;
	return export;
}

int export_add(struct exports *exports, const char *text)
{
	const char *equals = strchr(text, '=');
	char name[EXPORT_NAME_BYTES];
	struct export *export;

	if (!equals || (size_t)(equals - text) >= sizeof(name))
		return bad("--export", "export", text, "expected NAME=ram[:SIZE] or NAME=dir:PATH");
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	export = export_make(exports, name, "--export");
	return export ? set_backend(export, equals + 1, "--export") : -1;
}

struct export *export_by_id(struct exports *exports, uint32_t id)
{
	for (uint32_t i = 0; i < exports->n; i++)
		if (exports->all[i].id == id)
			return &exports->all[i];
	return NULL;
}
