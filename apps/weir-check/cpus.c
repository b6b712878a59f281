/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and writes lists of CPUs. */
#include "cpus.h"

#include <stdio.h>
#include <string.h>

#include <weir/profile.h>

_Static_assert(CPUS_MAX <= CPU_SETSIZE, "each CPU is in a set");

bool cpus_parse(const char *text, cpu_set_t *set)
{
	uint32_t cpus[CPUS_MAX];
	/* The kernel writes lists in the form of the key 'lcores'. */
	int n = weir_profile_lcores(text, cpus, CPUS_MAX);

	CPU_ZERO(set);
	for (int i = 0; i < n; i++)
		CPU_SET(cpus[i], set);
	return n >= 0;
}

/* Appends the list to 'text', of which 'start' bytes are used. */
static const char *append_list(const cpu_set_t *set, char *text, size_t start)
{
	size_t used = start;

	text[used] = '\0';
	for (uint32_t cpu = 0; cpu < CPUS_MAX && used < CPUS_TEXT_BYTES; cpu++) {
		uint32_t first = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (cpu + 1 < CPUS_MAX && CPU_ISSET(cpu + 1, set))
			cpu++;
		used += (size_t)snprintf(text + used, CPUS_TEXT_BYTES - used, "%s%u",
					 used > start ? "," : "", first);
		if (cpu > first && used < CPUS_TEXT_BYTES)
			used += (size_t)snprintf(text + used, CPUS_TEXT_BYTES - used, "-%u", cpu);
	}
	return text;
}

const char *cpus_list(const cpu_set_t *set, char *text)
{
	return append_list(set, text, 0);
}

const char *cpus_named(const cpu_set_t *set, char *text)
{
	const char *noun = CPU_COUNT(set) == 1 ? "CPU " : "CPUs ";

	snprintf(text, CPUS_TEXT_BYTES, "%s", noun);
	return append_list(set, text, strlen(noun));
}

cpu_set_t cpus_and(const cpu_set_t *a, const cpu_set_t *b, bool in_both)
{
	cpu_set_t set = *a;

	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (!!CPU_ISSET(cpu, b) != in_both)
			CPU_CLR(cpu, &set);
	return set;
}
