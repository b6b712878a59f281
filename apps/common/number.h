/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NUMBER_H
#define NUMBER_H

/* Numbers on a command line. Each returns 0, or -1 with the mistake said on standard error. */

#include <stdbool.h>
#include <stdint.h>

/* "PROGRAM: --OPTION 'VALUE': EXPECTED. See --help". Returns -1. */
int option_bad(const char *option, const char *value, const char *expected);

/* A number with an optional k, m or g, between low and high. */
int option_u64(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int option_u32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *value);

/* A number up to the first character that is none of it, with an optional k, m or g, 'kilo' being
 * 1000 or 1024. False: none is there, or it is too large. */
bool number_scaled(const char *text, const char **end, uint64_t kilo, uint64_t *value);

/* A time with its unit, ns, us, ms or s, fractions too, in nanoseconds: from 1 ns to a day. */
int option_time(const char *option, const char *text, uint64_t *ns);

/* The nanoseconds of a unit of time; 0: no such unit. */
double number_time_unit(const char *unit);

/* Seconds, fractions too, from 'low' to a day. */
int option_seconds(const char *option, const char *text, double low, double *value);

#endif
