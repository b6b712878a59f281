/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses values that both the keys of an export and the options of its clients use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "export.h"

int export_bad(const char *where, const char *what, const char *value, const char *expected)
{
	fprintf(stderr, "weir-nfsd: %s: %s '%s': %s\n", where, what, value, expected);
	return -1;
}

int export_parse_id(const char *key, const char *value, const char *where, uint32_t *to)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || number >= UINT32_MAX)
		return export_bad(where, key, value, "expected a number from 0 to 4294967294");
	*to = (uint32_t)number;
	return 0;
}

void export_set_flag(struct export_rules *rules, enum export_rule rule, bool value)
{
	if (rule == EXPORT_READ_ONLY)
		rules->is_read_only = value;
	else if (rule == EXPORT_SQUASH_ROOT)
		rules->squashes_root = value;
	else if (rule == EXPORT_SQUASH_ALL)
		rules->squashes_all = value;
	else if (rule == EXPORT_SECURE_PORT)
		rules->needs_secure_port = value;
	rules->own |= 1u << rule;
}
