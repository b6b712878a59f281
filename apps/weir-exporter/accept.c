/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the format of the page by the header Accept. */
#include "accept.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether a name at 'text' is 'wanted', without regard to case. */
static bool is_name(const char *text, size_t len, const char *wanted)
{
	return len == strlen(wanted) && strncasecmp(text, wanted, len) == 0;
}

/* Returns the value of a parameter among those of a range, which end at 'end', or NULL. */
static const char *parameter(const char *range, const char *end, const char *name)
{
	const char *at = range;

	while ((at = memchr(at, ';', (size_t)(end - at)))) {
		at++;
		at += strspn(at, " \t");
		if (at + strlen(name) < end && strncasecmp(at, name, strlen(name)) == 0 &&
		    at[strlen(name)] == '=')
			return at + strlen(name) + 1;
	}
	return NULL;
}

/* Returns the weight of a range, from 0 to 1. */
static double weight(const char *range, const char *end)
{
	const char *value = parameter(range, end, "q");
	double q = 1;

	/* The header is in the locale "C". */
	if (value)
		q = strtod(value, NULL);
	return q >= 0 && q <= 1 ? q : 0;
}

/* Returns whether a range names another version of its type than the one that is offered. */
static bool is_other_version(const char *range, const char *end, const char *version)
{
	const char *value = parameter(range, end, "version");

	return value && strncmp(value, version, strlen(version)) != 0;
}

/* Returns the weight that the header gives to a type. A range that names it counts more than one
 * with a wildcard. */
static double weight_of(const char *header, const char *type, const char *wildcard,
			const char *version)
{
	double best = 0, any = 0;
	bool is_named = false;

	while (*header != '\0') {
		const char *end = header + strcspn(header, ",");
		size_t len;

		header += strspn(header, " \t");
		len = header < end ? strcspn(header, ",; \t") : 0;
		if (is_name(header, len, type) && !is_other_version(header, end, version)) {
			is_named = true;
			if (weight(header, end) > best)
				best = weight(header, end);
		} else if ((is_name(header, len, "*/*") || is_name(header, len, wildcard)) &&
			   weight(header, end) > any) {
			any = weight(header, end);
		}
		header = *end == ',' ? end + 1 : end;
	}
	return is_named ? best : any;
}

enum page_format accept_format(const char *header)
{
	if (!header)
		return PAGE_OPENMETRICS;
	return weight_of(header, "text/plain", "text/*", "0.0.4") >
			       weight_of(header, "application/openmetrics-text", "application/*",
					 "1.0.0")
		       ? PAGE_PROMETHEUS
		       : PAGE_OPENMETRICS;
}

const char *accept_content_type(enum page_format format)
{
	return format == PAGE_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
