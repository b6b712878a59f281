/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the keys of an export, from the command line or from a file of exports. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "fs.h"
#include "ram/ram.h"

static int keys_set_size(struct export *export, const char *text, const char *where)
{
	unsigned long long number;
	unsigned shift = 0;
	char *end;

	errno = 0;
	number = strtoull(text, &end,
			  /*
			   * strtoull() also accepts blanks and signs, which the check of *text
			   * below refuses
			   */
			  10);
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'm' || *end == 'M')
		shift = 20;
	else if (*end == 'g' || *end == 'G')
		shift = 30;
	if (*text < '0' || *text > '9' || errno != 0 || end[shift != 0] != '\0' ||
	    number > RAM_SIZE_MAX >> shift || number << shift < RAM_SIZE_MIN)
		return export_bad(where, "size", text,
				  "expected 4m to 1024g bytes, with an optional suffix k, m or g");
	export->size_bytes = number << shift;
	return 0;
}

static int set_backend(struct export *export, const char *text, const char *where)
{
	if (strcmp(text, "ram") == 0 || strncmp(text, "ram:", 4) == 0) {
		export->ops = &ram_ops;
		return text[3] == ':' ? keys_set_size(export, text + 4, where) : 0;
	}
	if (strncmp(text, "dir:", 4) == 0 && text[4] != '\0') {
		if (strlen(text + 4) >= sizeof(export->path))
			return export_bad(where, "directory", text + 4, "too long");
		export->ops = &dir_ops;
		snprintf(export->path, sizeof(export->path), "%s", text + 4);
		return 0;
	}
	return export_bad(where, "back end", text, "expected ram, ram:SIZE or dir:PATH");
}

static int set_bool(const char *key, const char *value, const char *where, struct export *export,
		    enum export_rule rule)
{
	if (strcmp(value, "yes") == 0)
		export_set_flag(&export->rules, rule, true);
	else if (strcmp(value, "no") == 0)
		export_set_flag(&export->rules, rule, false);
	else
		return export_bad(where, key, value, "expected yes or no");
	return 0;
}

int export_set(struct export *export, const char *key, const char *value, const char *where)
{
	if (strcmp(key, "backend") == 0)
		return set_backend(export, value, where);
	if (strcmp(key, "size") == 0)
		return keys_set_size(export, value, where);
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
			return export_bad(where, key, value, "expected ro or rw");
		return 0;
	}
	return export_bad(where, "key", key,
			  "expected backend, size, clients, access, root_squash, all_squash, "
			  "anonuid, anongid or secure_port");
}

int export_add(struct exports *exports, const char *text)
{
	const char *equals = strchr(text, '=');
	char name[EXPORT_NAME_BYTES];
	struct export *export;

	if (!equals || (size_t)(equals - text) >= sizeof(name))
		return export_bad("--export", "export", text,
				  "expected NAME=ram[:SIZE] or NAME=dir:PATH");
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	export = export_make(exports, name, "--export");
	return export ? set_backend(export, equals + 1, "--export") : -1;
}
