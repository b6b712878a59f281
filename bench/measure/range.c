/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the values of an option that can have several. */
#include "range.h"

#include <stdbool.h>
#include <stdio.h>

#include "number.h"

struct limits {
	uint64_t low, high;
};

static bool add(struct bench_range *range, uint64_t value, const struct limits *limits)
{
	if (range->n == BENCH_RANGE_MAX || value < limits->low || value > limits->high)
		return false;
	range->values[range->n++] = value;
	return true;
}

/*
 * Parses "A,B,C" or a single value. Returns false if the text has another form or a value is not
 * within the limits.
 */
static bool parse_list(const char *text, uint64_t kilo, const struct limits *limits,
		       struct bench_range *range)
{
	uint64_t value;

	for (;; text++) {
		if (!number_scaled(text, &text, kilo, &value) || !add(range, value, limits))
			return false;
		if (*text != ',')
			return *text == '\0';
	}
}

/* Parses ":B:xF" or ":B:+N", which follows the value 'from'. Returns false as parse_list() does. */
static bool parse_steps(uint64_t from, const char *text, uint64_t kilo, const struct limits *limits,
			struct bench_range *range)
{
	uint64_t last, step;
	bool multiplies;

	if (!number_scaled(text + 1, &text, kilo, &last) || last < from || last > limits->high ||
	    text[0] != ':' || (text[1] != 'x' && text[1] != '+'))
		return false;
	multiplies = text[1] == 'x';
	if (!number_scaled(text + 2, &text, kilo, &step) || *text != '\0' ||
	    step < 1u + multiplies || (multiplies && from == 0))
		return false;
	for (uint64_t value = from; value <= last;) {
		if (!add(range, value, limits))
			return false;
		if (multiplies ? __builtin_mul_overflow(value, step, &value)
			       : __builtin_add_overflow(value, step, &value))
			break;
	}
	return true;
}

int option_range(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t kilo,
		 struct bench_range *range)
{
	const struct limits limits = {low, high};
	char expected[192];
	const char *end;
	uint64_t first;
	bool good;

	range->n = 0;
	if (number_scaled(text, &end, kilo, &first) && *end == ':')
		good = parse_steps(first, end, kilo, &limits, range);
	else
		good = parse_list(text, kilo, &limits, range);
	if (good)
		return 0;
	snprintf(expected, sizeof(expected),
		 "expected a number from %llu to %llu, or up to %u of them as A,B,C, A:B:xFACTOR "
		 "or A:B:+STEP",
		 (unsigned long long)low, (unsigned long long)high, BENCH_RANGE_MAX);
	return option_bad(option, text, expected);
}
