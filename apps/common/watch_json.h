/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCH_JSON_H
#define WATCH_JSON_H

/* Reads members of JSON objects that other processes have sent. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Reads a member that is an integer of at least 0. Returns false if the value is not an object with
 * such a member. */
bool watch_number(const json_t *dict, const char *name, uint64_t *number);
bool watch_number_u32(const json_t *dict, const char *name, uint32_t *number);

/* Copies a member that is a string. Characters that could control a terminal become '?', and a text
 * that does not fit is cut off. Returns false if the value is not an object with such a member. */
bool watch_text(const json_t *dict, const char *name, char *text, size_t bytes);

/* Parses a decimal number without a sign, such as the name of a member. Returns whether it is one.
 */
bool watch_decimal(const char *text, uint64_t *number);

#endif
