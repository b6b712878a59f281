/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads members of JSON objects: watch_json.h describes this. */
#include "watch_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "terminal.h"

bool watch_number(const json_t *dict, const char *name, uint64_t *number)
{
	const json_t *value = json_object_get(dict, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*number = (uint64_t)json_integer_value(value);
	return true;
}

bool watch_number_u32(const json_t *dict, const char *name, uint32_t *number)
{
	uint64_t value;

	if (!watch_number(dict, name, &value) || value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

bool watch_text(const json_t *dict, const char *name, char *text, size_t bytes)
{
	const char *value = json_string_value(json_object_get(dict, name));

	if (!value)
		return false;
	terminal_text(value, text, bytes);
	return true;
}

bool watch_decimal(const char *text, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}
