/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of a profile's keys: parses them, checks them against the table, and describes them.
 */
#include "profile_keys.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler.h"

/* Appends to 'text', which has 'bytes' bytes, and truncates what does not fit. */
static printf_like(3, 4) void append(char *text, size_t bytes, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, bytes - used, format, args);
	va_end(args);
}

/* Appends a number of bytes with the largest suffix that divides it. */
static void append_bytes(char *text, size_t bytes, uint64_t value)
{
	if (value >= GIB && value % GIB == 0)
		append(text, bytes, "%" PRIu64 "g", value / GIB);
	else if (value >= MIB && value % MIB == 0)
		append(text, bytes, "%" PRIu64 "m", value / MIB);
	else if (value >= KIB && value % KIB == 0)
		append(text, bytes, "%" PRIu64 "k", value / KIB);
	else
		append(text, bytes, "%" PRIu64, value);
}

void profile_key_allowed(const struct profile_key *key, char *text, size_t bytes)
{
	text[0] = '\0';
	switch (key->type) {
	case PROFILE_NUMBER:
		append(text, bytes, "%" PRIu64 " to %" PRIu64 " %s", key->min, key->max, key->unit);
		break;
	case PROFILE_BYTES:
		append_bytes(text, bytes, key->min);
		append(text, bytes, " to ");
		append_bytes(text, bytes, key->max);
		append(text, bytes, " bytes");
		if (key->step > 1)
			append(text, bytes, ", a multiple of %" PRIu64, key->step);
		break;
	case PROFILE_CHOICE:
		for (const struct profile_choice *c = key->choices; c->word; c++)
			append(text, bytes, "%s%s",
			       c == key->choices ? ""
			       : c[1].word	 ? ", "
						 : " or ",
			       c->word);
		break;
	case PROFILE_TEXT:
		append(text, bytes, "%s", key->allowed);
		break;
	}
}

const char *profile_key_unit(const struct profile_key *key)
{
	switch (key->type) {
	case PROFILE_NUMBER:
		return key->unit;
	case PROFILE_BYTES:
		return "bytes";
	case PROFILE_CHOICE:
	case PROFILE_TEXT:
		break;
	}
	return "none";
}

static uint64_t field_get(const struct profile_key *key, const struct weir_profile *profile)
{
	const char *field = (const char *)profile + key->offset;
	uint64_t wide;
	uint32_t narrow;

	if (key->size == sizeof(wide)) {
		memcpy(&wide, field, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, field, sizeof(narrow));
	return narrow;
}

static void field_set(const struct profile_key *key, struct weir_profile *profile, uint64_t value)
{
	char *field = (char *)profile + key->offset;
	uint32_t narrow = (uint32_t)value;

	if (key->size == sizeof(value))
		memcpy(field, &value, sizeof(value));
	else
		memcpy(field, &narrow, sizeof(narrow));
}

/* Returns whether 'value' is in the range of the key and a multiple of its step. If the result is
 * false, 'why' contains the reason. */
static bool number_check(const struct profile_key *key, uint64_t value, char *why, size_t why_bytes)
{
	if (value < key->min || value > key->max) {
		snprintf(why, why_bytes, "%" PRIu64 " is out of range", value);
		return false;
	}
	if (value % key->step != 0) {
		snprintf(why, why_bytes, "%" PRIu64 " is not a multiple of %" PRIu64, value,
			 key->step);
		return false;
	}
	return true;
}

/* Parses a number of decimal digits and, for sizes, a suffix. Signs, blanks, fractions and other
 * bases are refused. Returns true and sets *value. Returns false if the text is not such a number
 * or the number is too large. In this case 'why' contains the reason. */
static bool number_parse(const struct profile_key *key, const char *text, uint64_t *value,
			 char *why, size_t why_bytes)
{
	static const char suffixes[] = "kmg";
	unsigned shift = 0;
	char *end = NULL;

	errno = 0;
	*value = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
	if (end && errno == 0 && *end != '\0' && key->type == PROFILE_BYTES) {
		const char *suffix = strchr(suffixes, tolower((unsigned char)*end));

		if (suffix) {
			shift = 10u * (unsigned)(suffix - suffixes + 1);
			end++;
		}
	}
	if (!end || *end != '\0') {
		snprintf(why, why_bytes, "'%.64s' is not a number%s", text,
			 key->type == PROFILE_BYTES ? " of bytes" : "");
		return false;
	}
	if (errno != 0 || *value > UINT64_MAX >> shift) {
		snprintf(why, why_bytes, "'%.64s' is too large", text);
		return false;
	}
	*value <<= shift;
	return true;
}

static bool text_check(const struct profile_key *key, const char *text, char *why, size_t why_bytes)
{
	if (strnlen(text, key->size) == key->size) {
		snprintf(why, why_bytes, "longer than %zu characters", key->size - 1);
		return false;
	}
	if (!key->is_valid(text)) {
		snprintf(why, why_bytes, "'%.64s' is not valid", text);
		return false;
	}
	return true;
}

bool profile_key_set(const struct profile_key *key, const char *text, struct weir_profile *profile,
		     char *why, size_t why_bytes)
{
	uint64_t value;

	switch (key->type) {
	case PROFILE_NUMBER:
	case PROFILE_BYTES:
		if (!number_parse(key, text, &value, why, why_bytes) ||
		    !number_check(key, value, why, why_bytes))
			return false;
		field_set(key, profile, value);
		return true;
	case PROFILE_CHOICE:
		for (const struct profile_choice *c = key->choices; c->word; c++) {
			if (strcmp(c->word, text) == 0) {
				field_set(key, profile, c->value);
				return true;
			}
		}
		snprintf(why, why_bytes, "'%.64s' is none of the choices", text);
		return false;
	case PROFILE_TEXT:
		if (!text_check(key, text, why, why_bytes))
			return false;
		memset((char *)profile + key->offset, 0, key->size);
		memcpy((char *)profile + key->offset, text, strlen(text));
		return true;
	}
	return false;
}

bool profile_key_check(const struct profile_key *key, const struct weir_profile *profile, char *why,
		       size_t why_bytes)
{
	switch (key->type) {
	case PROFILE_NUMBER:
	case PROFILE_BYTES:
		return number_check(key, field_get(key, profile), why, why_bytes);
	case PROFILE_CHOICE:
		for (const struct profile_choice *c = key->choices; c->word; c++)
			if (c->value == field_get(key, profile))
				return true;
		snprintf(why, why_bytes, "%" PRIu64 " is none of the choices",
			 field_get(key, profile));
		return false;
	case PROFILE_TEXT:
		return text_check(key, (const char *)profile + key->offset, why, why_bytes);
	}
	return false;
}

void profile_key_format(const struct profile_key *key, const struct weir_profile *profile,
			char *text, size_t bytes)
{
	text[0] = '\0';
	switch (key->type) {
	case PROFILE_NUMBER:
		append(text, bytes, "%" PRIu64, field_get(key, profile));
		break;
	case PROFILE_BYTES:
		append_bytes(text, bytes, field_get(key, profile));
		break;
	case PROFILE_CHOICE:
		for (const struct profile_choice *c = key->choices; c->word; c++) {
			if (c->value == field_get(key, profile)) {
				append(text, bytes, "%s", c->word);
				break;
			}
		}
		break;
	case PROFILE_TEXT:
		append(text, bytes, "%s", (const char *)profile + key->offset);
		break;
	}
}

int weir_profile_key_help(uint32_t index, char *line, size_t line_bytes)
{
	char allowed[128];
	const struct profile_key *key;

	if (index >= profile_nkeys)
		return -ENOENT;
	key = &profile_keys[index];
	profile_key_allowed(key, allowed, sizeof(allowed));
	snprintf(line, line_bytes, "[%s] %s = %s (%s): %s. Memory: %s", key->section, key->name,
		 key->initial, allowed, key->help, key->memory);
	return 0;
}
