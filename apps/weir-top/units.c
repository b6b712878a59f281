/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes numbers in few columns. */
#include "units.h"

#include <stdio.h>

/* Writes a number of at least 0 with three digits, or with all digits before the point. */
static void put(double number, const char *unit, char text[UNIT_BYTES])
{
	int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

	snprintf(text, UNIT_BYTES, "%.*f%s", digits, number, unit);
}

const char *unit_number(double number, char text[UNIT_BYTES])
{
	static const char *const suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
	uint32_t i = 0;

	while (number >= 999.5 && i + 1 < sizeof(suffixes) / sizeof(suffixes[0])) {
		number /= 1000;
		i++;
	}
	if (i == 0 && number == (double)(uint32_t)number)
		snprintf(text, UNIT_BYTES, "%u", (uint32_t)number);
	else
		put(number, suffixes[i], text);
	return text;
}

const char *unit_time(uint64_t ns, char text[UNIT_BYTES])
{
	double number = (double)ns;

	if (ns < 1000)
		snprintf(text, UNIT_BYTES, "%uns", (uint32_t)ns);
	else if (number < 999.5e3)
		put(number / 1e3, "us", text);
	else if (number < 999.5e6)
		put(number / 1e6, "ms", text);
	else if (number < 9999.5e9)
		put(number / 1e9, "s", text);
	else
		put(number / 3600e9, "h", text);
	return text;
}
