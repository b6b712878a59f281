/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NUMBER_H
#define NUMBER_H

/*
 * Numbers on a command line. Each option function returns 0, or -1 after it has printed the error
 * on standard error.
 */

#include <stdbool.h>
#include <stdint.h>

/* Prints "PROGRAM: --OPTION 'VALUE': EXPECTED. See --help" on standard error. If 'option' or
 * 'value' is NULL, the message has no such part. Returns -1. */
int option_bad(const char *option, const char *value, const char *expected);

/* Parses a number from 'low' to 'high', with an optional suffix k, m or g. */
int option_u64(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int option_u32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *value);

/*
 * Parses a number with an optional suffix k, m or g, where 'kilo' is 1000 or 1024. '*end' is the
 * first character after the number. Returns false when there is no number or when it is too large.
 */
bool number_scaled(const char *text, const char **end, uint64_t kilo, uint64_t *value);

/*
 * Parses a time with the unit ns, us, ms or s, in nanoseconds. Fractions are allowed. The time is
 * from 1 ns to a day.
 */
int option_time(const char *option, const char *text, uint64_t *ns);

/* Returns the nanoseconds of a unit of time, or 0 for an unknown unit. */
double number_time_unit(const char *unit);

/* Parses a number of seconds, from 'low' to a day. Fractions are allowed. */
int option_seconds(const char *option, const char *text, double low, double *value);

#endif
