/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NUMBER_H
#define NUMBER_H

/*
 * Numbers on a command line. Each function option_...() returns 0 with the value set, or -1 after
 * it has printed the error on standard error. Its 'option' is the name of the option without "--".
 */

#include <stdbool.h>
#include <stdint.h>

/* Prints "PROGRAM: --OPTION 'VALUE': EXPECTED. See --help" on standard error. If 'option' or
 * 'value' is NULL, the message has no such part. Returns -1. */
int option_bad(const char *option, const char *value, const char *expected);

/* Sets a place, such as "my.ini:7", that option_bad() prints before the option. NULL: none. The
 * string must stay valid until the next call. */
void option_set_place(const char *place);

/*
 * Parses a number from 'low' to 'high', with an optional suffix k, m or g, which multiplies by
 * 1024, 1024^2 or 1024^3.
 */
int option_u64(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int option_u32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *value);

/*
 * Parses a number with an optional suffix k, m or g, which multiplies by 'kilo', its square or its
 * cube. 'kilo' is 1000 or 1024. Returns true with *value set, and with *end at the first character
 * after the number and its suffix. Returns false if 'text' does not start with a digit, or if the
 * number is too large.
 */
bool number_scaled(const char *text, const char **end, uint64_t kilo, uint64_t *value);

/*
 * Parses a time with the unit ns, us, ms or s. '*ns' receives the time in nanoseconds. Fractions
 * are allowed. The time must be from 1 ns to a day.
 */
int option_time(const char *option, const char *text, uint64_t *ns);

/*
 * Returns the number of nanoseconds in a unit of time ("ns", "us", "ms" or "s"), or 0 for an
 * unknown unit.
 */
double number_time_unit(const char *unit);

/* Parses a number of seconds, from 'low' to 86400 (a day). Fractions are allowed. */
int option_seconds(const char *option, const char *text, double low, double *value);

#endif
