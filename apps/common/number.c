/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses numbers and times on a command line. */
#include "number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *option_place;

void option_set_place(const char *place)
{
	option_place = place;
}

int option_bad(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	if (option_place)
		fprintf(stderr, "%s: ", option_place);
	if (option)
		fprintf(stderr, value ? "--%s " : "--%s: ", option);
	if (value)
		fprintf(stderr, "'%s': ", value);
	fprintf(stderr, "%s. See --help\n", expected);
	return -1;
}

bool number_scaled(const char *text, const char **end, uint64_t kilo, uint64_t *value)
{
	static const char suffixes[] = "kmg";
	unsigned long long number;
	char *rest;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	number = strtoull(text, &rest, 10);
	if (errno != 0)
		return false;
	for (uint32_t i = 0; suffixes[i] != '\0'; i++) {
		if ((*rest | 0x20) != suffixes[i])
			continue;
		for (uint32_t times = 0; times <= i; times++)
			if (__builtin_mul_overflow(number, kilo, &number))
				return false;
		rest++;
		break;
	}
	*end = rest;
	*value = number;
	return true;
}

int option_u64(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char expected[96];
	const char *end;
	uint64_t number;

	if (!number_scaled(text, &end, 1024, &number) || *end != '\0' || number < low ||
	    number > high) {
		snprintf(expected, sizeof(expected), "expected a number from %llu to %llu",
			 (unsigned long long)low, (unsigned long long)high);
		return option_bad(option, text, expected);
	}
	*value = number;
	return 0;
}

int option_u32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *value)
{
	uint64_t wide = 0;

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

double number_time_unit(const char *unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

int option_time(const char *option, const char *text, uint64_t *ns)
{
	char *unit;
	double value = strtod(text, &unit);

	value *= number_time_unit(unit);
	if (unit == text || !(value >= 1 && value <= 86400e9))
		return option_bad(option, text,
				  "expected a time with its unit, such as 500ns, 2.5us, 1ms or 1s");
	*ns = (uint64_t)value;
	return 0;
}
