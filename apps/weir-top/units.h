/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNITS_H
#define UNITS_H

/* Numbers in at most 7 columns, with three digits or a few more. */

#include <stdint.h>

#define UNIT_BYTES 16u

/* Writes a number with a suffix k, M, G or T, which multiplies by a power of 1000. Returns 'text'.
 */
const char *unit_number(double number, char text[UNIT_BYTES]);
/* Writes a time with its unit: ns, us, ms, s, or h. Returns 'text'. */
const char *unit_time(uint64_t ns, char text[UNIT_BYTES]);

#endif
