/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CPUS_H
#define CPUS_H

/* Sets of CPUs, and the lists by which the kernel writes them, such as "0-3,8". */

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX 1024u
/* Every list fits, because an entry such as "1000-1001," takes 10 bytes for 3 CPUs. */
#define CPUS_TEXT_BYTES (4u * CPUS_MAX)

/* Parses a list. Returns false, with an empty set, if it is no list. "" is the empty list. */
bool cpus_parse(const char *text, cpu_set_t *set);

/* Writes the list of a set to 'text', which has CPUS_TEXT_BYTES. Returns 'text'. */
const char *cpus_list(const cpu_set_t *set, char *text);

/* Writes the list like cpus_list(), after "CPU " or "CPUs ". */
const char *cpus_named(const cpu_set_t *set, char *text);

/* Returns the CPUs that are in 'a' and, if 'in_both' is true, also in 'b', otherwise not in 'b'. */
cpu_set_t cpus_and(const cpu_set_t *a, const cpu_set_t *b, bool in_both);

static inline bool cpus_is_empty(const cpu_set_t *set)
{
	return CPU_COUNT(set) == 0;
}

#endif
