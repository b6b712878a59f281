/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the facts about CPUs and interrupts. */
#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "facts.h"
#include "sysfile.h"

#define CPU "/sys/devices/system/cpu"

/* Reads a list of CPUs. Returns false, with an empty set, if the file does not exist or is no
 * list. */
printf_like(3, 4) static bool read_list(const char *root, cpu_set_t *set, const char *format, ...)
{
	char path[SYSFILE_PATH_BYTES], text[SYSFILE_BYTES];
	const char *list;
	va_list args;

	CPU_ZERO(set);
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (!sysfile_line(root, text, sizeof(text), "%s", path))
		return false;
	/* The kernel writes "" or "(null)" for an empty list. It puts blanks before "(null)" if the
	 * machine has more CPUs than the word has letters. */
	list = text + strspn(text, " ");
	return strcmp(list, "(null)") == 0 || cpus_parse(list, set);
}

/* Returns the NUMA node of a CPU, whose folder has a link such as "node0". */
static int node_of_cpu(const char *root, uint32_t cpu)
{
	char path[SYSFILE_PATH_BYTES];
	const struct dirent *entry;
	int node = -1;
	DIR *dir;

	sysfile_path(path, root, CPU "/cpu%u", cpu);
	dir = opendir(path);
	while (dir && node < 0 && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, "node", 4) == 0 &&
		    isdigit((unsigned char)entry->d_name[4]))
			node = atoi(entry->d_name + 4);
	if (dir)
		closedir(dir);
	return node < (int)FACTS_NODES_MAX ? node : -1;
}

static void read_cpu(struct facts *facts, uint32_t cpu)
{
	struct cpu_facts *own = &facts->cpus[cpu];

	own->node = node_of_cpu(facts->root, cpu);
	(void)read_list(facts->root, &own->siblings, CPU "/cpu%u/topology/thread_siblings_list",
			cpu);
	(void)sysfile_line(facts->root, own->governor, sizeof(own->governor),
			   CPU "/cpu%u/cpufreq/scaling_governor", cpu);
}

/* Finds the name of an interrupt's handler, which is that of a folder. Returns false if nothing
 * handles the interrupt. */
static bool find_handler(const char *root, uint32_t number, char *name, size_t bytes)
{
	char path[SYSFILE_PATH_BYTES];
	const struct dirent *entry;
	bool is_found = false;
	DIR *dir;

	sysfile_path(path, root, "/proc/irq/%u", number);
	dir = opendir(path);
	while (dir && !is_found && (entry = readdir(dir)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(name, bytes, "%.47s", entry->d_name);
		is_found = true;
	}
	if (dir)
		closedir(dir);
	return is_found;
}

static int compare_irqs(const void *a, const void *b)
{
	const struct irq_facts *first = a, *second = b;

	return (first->number > second->number) - (first->number < second->number);
}

static void read_irqs(struct facts *facts)
{
	char path[SYSFILE_PATH_BYTES];
	const struct dirent *entry;
	DIR *dir;

	sysfile_path(path, facts->root, "/proc/irq");
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		struct irq_facts *irq = &facts->irqs[facts->nirqs];

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		facts->has_more_irqs = facts->nirqs == FACTS_IRQS_MAX;
		if (facts->has_more_irqs)
			break;
		irq->number = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (find_handler(facts->root, irq->number, irq->name, sizeof(irq->name)) &&
		    read_list(facts->root, &irq->cpus, "/proc/irq/%u/smp_affinity_list",
			      irq->number))
			facts->nirqs++;
	}
	if (dir)
		closedir(dir);
	qsort(facts->irqs, facts->nirqs, sizeof(facts->irqs[0]), compare_irqs);
}

/* Lowers the quota of CPU time, in CPUs, to that of the cgroup at 'folder'. */
static void look_at_quota(const char *folder, bool is_v2, void *arg)
{
	struct limit_facts *limit = arg;
	double quota, period = 0;
	const char *name = is_v2 ? "cpu.max" : "cpu.cfs_quota_us";
	uint64_t number;
	char line[64];

	if (is_v2) {
		if (!sysfile_line("", line, sizeof(line), "%s/%s", folder, name) ||
		    sscanf(line, "%lf %lf", &quota, &period) != 2)
			return;
	} else {
		/* The quota is -1 if there is none. */
		if (!sysfile_number("", &number, "%s/%s", folder, name))
			return;
		quota = (double)number;
		period = (double)cgroup_number(folder, "cpu.cfs_period_us", 0);
	}
	if (period <= 0 || (limit->exists && quota / period >= limit->value))
		return;
	limit->exists = true;
	limit->value = quota / period;
	snprintf(limit->file, sizeof(limit->file), "%s/%s", folder, name);
}

void facts_read_cpus(struct facts *facts)
{
	const char *root = facts->root;
	char text[SYSFILE_BYTES];

	facts->has_online = read_list(root, &facts->online, CPU "/online");
	if (!read_list(root, &facts->present, CPU "/present"))
		facts->present = facts->online;
	facts->has_isolated = read_list(root, &facts->isolated, CPU "/isolated");
	facts->has_nohz_full = read_list(root, &facts->nohz_full, CPU "/nohz_full");
	if (!sysfile_find(root, "/proc/self/status", "Cpus_allowed_list:", text, sizeof(text)) ||
	    !cpus_parse(text, &facts->allowed))
		facts->allowed = facts->online;
	facts->is_virtual = sysfile_find(root, "/proc/cpuinfo", "flags", text, sizeof(text)) &&
			    strstr(text, " hypervisor") != NULL;
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		facts->cpus[cpu].node = -1;
		if (CPU_ISSET(cpu, &facts->online))
			read_cpu(facts, cpu);
	}
	read_irqs(facts);
	cgroup_each(root, "cpu", look_at_quota, &facts->cpu_quota);
}
