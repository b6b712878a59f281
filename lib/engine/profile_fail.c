/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes errors about profiles. profile_file.h describes the functions. */
#include "profile_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int profile_fail(const struct profile_load *load, struct profile_place place, const char *format,
		 ...)
{
	size_t used = 0;
	va_list args;

	if (load->err_bytes == 0)
		return -EINVAL;
	load->err[0] = '\0';
	if (place.path && place.line)
		snprintf(load->err, load->err_bytes, "%s:%u: ", place.path, place.line);
	else if (place.path)
		snprintf(load->err, load->err_bytes, "%s: ", place.path);
	used = strlen(load->err);
	va_start(args, format);
	vsnprintf(load->err + used, load->err_bytes - used, format, args);
	va_end(args);
	return -EINVAL;
}

int profile_fail_value(const struct profile_load *load, struct profile_place place,
		       const char *section, const struct profile_key *key, const char *why)
{
	char allowed[128];

	profile_key_allowed(key, allowed, sizeof(allowed));
	return profile_fail(load, place, "[%s] %s: %s; allowed: %s; example: %s = %s", section,
			    key->name, why, allowed, key->name,
			    key->example ? key->example : key->initial);
}

int profile_fail_twice(const struct profile_load *load, struct profile_place place,
		       const char *section)
{
	return profile_fail(load, place,
			    "[%s]: this section exists twice; put its keys into the first one",
			    section);
}
