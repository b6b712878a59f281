/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that threads can be pinned to the CPUs of the profile, and that the cgroup gives them
 * enough CPU time. */
#include <stdio.h>

#include <weir/runtime.h>

#include "judge.h"
#include "sysfile.h"

#define CHECK "lcores"

static void judge_absent(const struct facts *facts, const struct load *load,
			 struct findings *findings)
{
	cpu_set_t absent = cpus_and(&load->pinned, &facts->present, false);
	char list[CPUS_TEXT_BYTES], others[CPUS_TEXT_BYTES];
	struct finding *finding;

	if (cpus_is_empty(&absent))
		return;
	finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	finding_cause(finding, "This machine does not have %s, which the profile names",
		      cpus_named(&absent, list));
	finding_effect(finding, "Programs with this profile do not start");
	finding_remedy(finding, "in section [engine] of the profile, name some of %s in lcores",
		       cpus_named(&facts->present, others));
}

static void judge_offline(const struct facts *facts, const struct load *load,
			  struct findings *findings)
{
	cpu_set_t offline = cpus_and(&load->pinned, &facts->present, true);
	char list[CPUS_TEXT_BYTES], path[SYSFILE_PATH_BYTES];
	struct finding *finding;

	offline = cpus_and(&offline, &facts->online, false);
	if (cpus_is_empty(&offline))
		return;
	finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	finding_cause(finding, "Some CPUs of the profile are offline: %s",
		      cpus_named(&offline, list));
	finding_effect(finding, "Programs with this profile do not start");
	finding_remedy(finding, "as root, for each of them: echo 1 > "
				"/sys/devices/system/cpu/cpuN/online");
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!CPU_ISSET(cpu, &offline))
			continue;
		sysfile_path(path, facts->root, "/sys/devices/system/cpu/cpu%u/online", cpu);
		finding_write(finding, path, "1");
	}
}

static void judge_allowed(const struct facts *facts, const struct load *load,
			  struct findings *findings)
{
	cpu_set_t denied = cpus_and(&load->pinned, &facts->online, true);
	char list[CPUS_TEXT_BYTES], others[CPUS_TEXT_BYTES];
	struct finding *finding;

	denied = cpus_and(&denied, &facts->allowed, false);
	if (cpus_is_empty(&denied))
		return;
	finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	finding_cause(finding, "This process may not use %s, which the profile names",
		      cpus_named(&denied, list));
	finding_effect(finding,
		       "Programs that are started in the same place do not start with this "
		       "profile");
	finding_remedy(finding, "name some of %s in lcores", cpus_named(&facts->allowed, others));
	finding_remedy(finding,
		       "or allow them: taskset -c %s PROGRAM, AllowedCPUs= of a systemd "
		       "unit, or the cpuset of the container",
		       cpus_list(&load->pinned, list));
}

static void judge_count(const struct load *load, struct findings *findings)
{
	struct finding *finding;

	if (load->nengines <= WEIR_RUNTIME_THREADS_MAX)
		return;
	finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	finding_cause(finding, "There are %u engines, and a process has at most %u", load->nengines,
		      WEIR_RUNTIME_THREADS_MAX);
	finding_effect(finding, "Programs with this profile do not start");
	finding_remedy(finding, "name fewer CPUs in lcores, or divide them among several profiles");
}

static void judge_quota(const struct facts *facts, const struct load *load,
			struct findings *findings)
{
	const struct limit_facts *quota = &facts->cpu_quota;
	struct finding *finding;

	if (!quota->exists || quota->value >= load->nspinning)
		return;
	finding = findings_add(findings, SEVERITY_WARNING, "cgroup cpu");
	finding_cause(finding, "%u threads poll all the time, and the cgroup allows %.2f CPUs (%s)",
		      load->nspinning, quota->value, quota->file);
	finding_effect(finding, "The kernel stops the threads for the rest of each period, often "
				"for tens of milliseconds");
	finding_remedy(finding, "raise the quota: CPUQuota= of a systemd unit, or --cpus of the "
				"container");
	finding_remedy(finding, "or set 'idle = adaptive' in section [engine], as container.ini "
				"does");
}

void judge_cpus(const struct facts *facts, const struct load *load, struct findings *findings)
{
	struct finding *finding;

	judge_count(load, findings);
	judge_quota(facts, load, findings);
	if (!load->is_pinned)
		return;
	if (facts->has_online) {
		judge_absent(facts, load, findings);
		judge_offline(facts, load, findings);
		judge_allowed(facts, load, findings);
		return;
	}
	finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	finding_cause(finding, "The CPUs can't be read from /sys/devices/system/cpu");
	finding_effect(finding, "Programs with this profile do not start, because DPDK finds CPUs "
				"there");
	finding_remedy(finding, "as root: mount -t sysfs -o ro sysfs /sys");
}
