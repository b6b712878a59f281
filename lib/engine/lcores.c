/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and checks lists of CPUs, which are in profiles and on command lines. */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/profile.h>

#include "profile_engines.h"

#define CPU_MAX	     1023u
#define SET_WORDS    ((CPU_MAX + 1) / 64)
#define LIST_MAX     (CPU_MAX + 1)
#define ONLINE_BYTES 256u

/* Adds 'cpu' to the set. Returns whether it was not yet in the set. */
static bool set_add(uint64_t set[SET_WORDS], unsigned long cpu)
{
	uint64_t bit = 1ull << (cpu % 64);
	bool is_new = !(set[cpu / 64] & bit);

	set[cpu / 64] |= bit;
	return is_new;
}

int weir_profile_lcores(const char *list, uint32_t *cpus, uint32_t max)
{
	uint64_t named[SET_WORDS] = {0};
	const char *p = list;
	uint32_t n = 0;

	if (*list == '\0' || strcmp(list, "any") == 0)
		return 0;
	for (;;) {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		first = last = strtoul(p, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return -EINVAL;
			last = strtoul(end + 1, &end, 10);
		}
		if (first > last || last > CPU_MAX)
			return -EINVAL;
		for (; first <= last; first++) {
			if (!set_add(named, first))
				return -EEXIST;
			if (n == max)
				return -E2BIG;
			cpus[n++] = (uint32_t)first;
		}
		if (*end == '\0')
			return (int)n;
		if (*end != ',')
			return -EINVAL;
		p = end + 1;
	}
}

/* Returns false if /sys reports that the CPU is offline. Otherwise returns true. */
static bool is_online(uint32_t cpu)
{
	char path[64];
	int value = 1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	file = fopen(path, "re");
	if (!file)
		/* many kernels have no such file for CPU 0, and it is possible that /sys is not
		 * mounted */
		return true;
	if (fscanf(file, "%d", &value) != 1)
		value = 1;
	fclose(file);
	return value != 0;
}

bool profile_list_cpus(const cpu_set_t *set, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && used < bytes; cpu++) {
		uint32_t last = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		used += (size_t)snprintf(text + used, bytes - used, last > cpu ? "%s%u-%u" : "%s%u",
					 used ? "," : "", cpu, last);
		cpu = last;
	}
	return used < bytes;
}

int weir_profile_lcores_check(const char *list, char *err, size_t err_bytes)
{
	long there = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t cpus[LIST_MAX];
	char usable[ONLINE_BYTES];
	cpu_set_t set;
	int n = weir_profile_lcores(list, cpus, LIST_MAX);

	if (n == -EEXIST)
		snprintf(err, err_bytes,
			 "lcores %.64s: a CPU is named twice, and two threads would share it; name "
			 "each once",
			 list);
	else if (n < 0)
		snprintf(err, err_bytes,
			 "lcores %.64s: expected CPUs from 0 to %u such as 0,1 or 0-3, or any",
			 list, CPU_MAX);
	if (n < 0)
		return n;
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 0; /* the error will occur when a thread is pinned */
	(void)profile_list_cpus(&set, usable, sizeof(usable)); /* for a message */
	for (int i = 0; i < n; i++) {
		if (CPU_ISSET(cpus[i], &set))
			continue;
		if (there > 0 && cpus[i] >= (unsigned long)there)
			snprintf(err, err_bytes,
				 "lcores: this machine has no CPU %u; name some of %s, or any",
				 cpus[i], usable);
		else if (!is_online(cpus[i]))
			snprintf(err, err_bytes,
				 "lcores: CPU %u is offline; name some of %s, or any, or as root: "
				 "echo 1 > /sys/devices/system/cpu/cpu%u/online",
				 cpus[i], usable, cpus[i]);
		else
			snprintf(err, err_bytes,
				 "lcores: this process may not use CPU %u; name some of %s, or "
				 "any, or allow it by taskset, or by the cpuset of its cgroup or "
				 "container",
				 cpus[i], usable);
		return -ENODEV;
	}
	return 0;
}
