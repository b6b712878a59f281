/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how much threads that poll were disturbed. */
#include "disturbance.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STAT_BYTES 65536u /* the lines of the CPUs are the first ones of the file */

double disturbance_steal(const char *stat, int cpu, long ticks_per_second)
{
	char name[16];
	size_t len;
	const char *line = stat;
	unsigned long long steal;

	if (cpu < 0)
		snprintf(name, sizeof(name), "cpu ");
	else
		snprintf(name, sizeof(name), "cpu%d ", cpu);
	len = strlen(name);
	while (line && strncmp(line, name, len) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	/* user, nice, system, idle, iowait, irq, softirq, steal */
	if (!line || sscanf(line + len, "%*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
		return 0;
	return (double)steal / (double)ticks_per_second;
}

/* Returns the only CPU on which the calling thread may run, or -1 if there are several. */
static int own_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) != 1)
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &set))
			return cpu;
	return -1;
}

static double read_steal(int cpu)
{
	FILE *file = fopen("/proc/stat", "re");
	char *text = malloc(STAT_BYTES);
	double seconds = 0;
	size_t n = 0;

	if (file && text)
		n = fread(text, 1, STAT_BYTES - 1, file);
	if (n > 0) {
		text[n] = '\0';
		seconds = disturbance_steal(text, cpu, sysconf(_SC_CLK_TCK));
	}
	free(text);
	if (file)
		fclose(file);
	return seconds;
}

/* Returns how often the calling thread lost its CPU although it could have gone on. */
static uint64_t read_switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nivcsw : 0;
}

void disturbance_begin(struct disturbance_begin *begin)
{
	long ncpus = sysconf(_SC_NPROCESSORS_ONLN);

	begin->cpu = own_cpu();
	begin->ncpus = begin->cpu < 0 && ncpus > 0 ? (uint32_t)ncpus : 1;
	begin->steal_seconds = read_steal(begin->cpu);
	begin->switches = read_switches();
}

struct disturbance disturbance_end(const struct disturbance_begin *begin, double seconds,
				   uint64_t gap_ns, bool pauses)
{
	struct disturbance d = {0};
	uint64_t switches = read_switches() - begin->switches;

	if (seconds <= 0)
		return d;
	d.steal_ratio =
		(read_steal(begin->cpu) - begin->steal_seconds) / (seconds * (double)begin->ncpus);
	if (pauses)
		return d;
	d.has_pollers = true;
	d.switches = switches;
	d.switches_per_s = (double)switches / seconds;
	d.gap_ns = gap_ns;
	return d;
}

void disturbance_add(struct disturbance *into, const struct disturbance *from)
{
	if (from->steal_ratio > into->steal_ratio)
		into->steal_ratio = from->steal_ratio;
	into->switches += from->switches;
	if (from->switches_per_s > into->switches_per_s)
		into->switches_per_s = from->switches_per_s;
	if (from->gap_ns > into->gap_ns)
		into->gap_ns = from->gap_ns;
	into->has_pollers |= from->has_pollers;
}

bool disturbance_is_low(const struct disturbance *d, char *why, size_t why_bytes)
{
	if (d->steal_ratio > DISTURBANCE_STEAL_MAX)
		snprintf(why, why_bytes, "the hypervisor took %.1f %% of the time of a CPU",
			 100 * d->steal_ratio);
	else if (d->switches_per_s > DISTURBANCE_SWITCHES_MAX)
		snprintf(why, why_bytes, "others took the CPU of a thread %.0f times a second",
			 d->switches_per_s);
	else if (d->gap_ns > DISTURBANCE_GAP_MAX_NS)
		snprintf(why, why_bytes, "a thread could not poll for %.1f ms",
			 (double)d->gap_ns / 1e6);
	else
		return true;
	return false;
}
