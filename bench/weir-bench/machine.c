/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the machine, and what would make it faster. */
#include "machine.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "compiler.h"

#define CPU_DIR	      "/sys/devices/system/cpu"
#define HUGEPAGES_DIR "/sys/kernel/mm/hugepages/hugepages-2048kB"
/* free hugepages of 2 MiB below which a load of both sides may find too few */
#define HUGEPAGES_FEW 64

/* Reads the first line of a file, without its end. Returns false if there is none. */
static bool read_line(const char *path, char *line, size_t bytes)
{
	FILE *file = fopen(path, "re");
	bool has = file && fgets(line, (int)bytes, file);

	if (file)
		fclose(file);
	if (has)
		line[strcspn(line, "\n")] = '\0';
	return has;
}

/* Reads the model of the first CPU, and whether the CPUs are virtual. */
static void read_cpuinfo(char *model, size_t bytes, bool *is_virtual)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[4096];

	snprintf(model, bytes, "unknown CPU");
	*is_virtual = false;
	while (file && fgets(line, sizeof(line), file) && line[0] != '\n') {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		value[strcspn(value, "\n")] = '\0';
		if (strncmp(line, "model name", 10) == 0)
			snprintf(model, bytes, "%s", value + 2);
		if (strncmp(line, "flags", 5) == 0)
			*is_virtual = strstr(value, " hypervisor") != NULL;
	}
	if (file)
		fclose(file);
}

void bench_machine(char *text, size_t bytes)
{
	char model[128];
	struct utsname name;
	bool is_virtual;
	long ncpus = sysconf(_SC_NPROCESSORS_ONLN);

	read_cpuinfo(model, sizeof(model), &is_virtual);
	if (uname(&name) != 0)
		snprintf(name.release, sizeof(name.release), "unknown");
	snprintf(text, bytes, "%s, %ld CPU%s%s, Linux %s", model, ncpus, ncpus == 1 ? "" : "s",
		 is_virtual ? ", virtual machine" : "", name.release);
}

printf_like(3, 4) static void add(char *text, size_t bytes, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	if (used > 0 && used + 2 < bytes)
		used += (size_t)snprintf(text + used, bytes - used, "; ");
	va_start(args, format);
	if (used < bytes)
		vsnprintf(text + used, bytes - used, format, args);
	va_end(args);
}

/* Returns whether two CPUs are threads of one core. */
static bool are_siblings(uint32_t a, uint32_t b)
{
	char path[96], one[256], other[256];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/thread_siblings_list", a);
	if (!read_line(path, one, sizeof(one)))
		return false;
	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/thread_siblings_list", b);
	return read_line(path, other, sizeof(other)) && strcmp(one, other) == 0;
}

void bench_machine_advice(const struct bench_options *options, char *text, size_t bytes)
{
	char line[256], path[96];
	const uint32_t *cpus = options->lcores;
	uint32_t n = options->nlcores;

	text[0] = '\0';
	if (n == 0)
		add(text, bytes, "a CPU for each side");
	if (read_line(HUGEPAGES_DIR "/free_hugepages", line, sizeof(line)) &&
	    atoi(line) < HUGEPAGES_FEW)
		add(text, bytes, "hugepages (as root: echo 128 > /proc/sys/vm/nr_hugepages)");
	if (n > 1 && are_siblings(cpus[0], cpus[n / 2]))
		add(text, bytes,
		    "CPUs of different cores (--lcores): %u and %u are threads of one core",
		    cpus[0], cpus[n / 2]);
	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/cpufreq/scaling_governor",
		 n > 0 ? cpus[0] : 0);
	if (read_line(path, line, sizeof(line)) && strcmp(line, "performance") != 0)
		add(text, bytes, "the governor 'performance' instead of '%s'", line);
	if (n > 0 && (!read_line(CPU_DIR "/isolated", line, sizeof(line)) || line[0] == '\0'))
		add(text, bytes, "isolated CPUs (boot option isolcpus)");
}
