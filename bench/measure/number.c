/* SPDX-License-Identifier: BSD-3-Clause */
#include "number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int option_bad(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "%s: --%s '%s': %s. See --help\n", program_invocation_short_name, option, value,
		expected);
	return -1;
}

int option_u64(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	unsigned long long number;
	char expected[96], *end;
	unsigned shift = 0;

	snprintf(expected, sizeof(expected), "expected a number from %llu to %llu", (unsigned long long)low,
		 (unsigned long long)high);
	errno = 0;
	number = strtoull(text, &end, 10);
	if (end == text || errno != 0 || text[0] == '-')
		return option_bad(option, text, expected);
	if (*end == 'k' || *end == 'K')
		shift = 10;
	else if (*end == 'm' || *end == 'M')
		shift = 20;
	else if (*end == 'g' || *end == 'G')
		shift = 30;
	if (end[shift != 0] != '\0' || number > UINT64_MAX >> shift || number << shift < low ||
	    number << shift > high)
		return option_bad(option, text, expected);
	*value = number << shift;
	return 0;
}

int option_u32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *value)
{
	uint64_t wide;

	if (option_u64(option, text, low, high, &wide) != 0)
		return -1;
	*value = (uint32_t)wide;
	return 0;
}

int option_seconds(const char *option, const char *text, double low, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end == text || *end != '\0' || !(*value >= low && *value <= 86400))
		return option_bad(option, text, "expected seconds, up to 86400");
	return 0;
}
