/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks what else runs on the CPUs of the profile. It matters if threads are pinned and poll all
 * the time. If the machine has no other CPU, nothing can be moved away, and the findings are notes.
 */
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "sysfile.h"

#define NAMES_MAX 6u /* interrupts that a text names */

/* The CPUs that findings are about. */
struct place {
	const struct facts *facts;
	const struct load *load;
	cpu_set_t own;	  /* CPUs of the profile that are online */
	cpu_set_t others; /* all other CPUs that are online */
	char list[CPUS_TEXT_BYTES];
	char name[CPUS_TEXT_BYTES]; /* the list, with the word CPU or CPUs */
	char other_list[CPUS_TEXT_BYTES];
};

/* Returns the severity of something that disturbs the threads. */
static enum severity severity_of(const struct place *place)
{
	if (cpus_is_empty(&place->others) || place->load->nspinning == 0)
		return SEVERITY_NOTE;
	return SEVERITY_WARNING;
}

/* Adds the remedy for a machine without another CPU, and returns whether it is one. */
static bool has_no_other(const struct place *place, struct finding *finding)
{
	if (!cpus_is_empty(&place->others))
		return false;
	finding_remedy(finding, "nothing can be done here, because the profile uses all CPUs: "
				"for less disturbance, name fewer of them in lcores");
	return true;
}

static void judge_isolcpus(const struct place *place, struct findings *findings)
{
	cpu_set_t shared = cpus_and(&place->own, &place->facts->isolated, false);
	char list[CPUS_TEXT_BYTES];
	struct finding *finding;

	if (cpus_is_empty(&shared))
		return;
	finding = findings_add(findings, severity_of(place), "isolcpus");
	finding_cause(finding, "The scheduler may run other programs on %s%s",
		      cpus_named(&shared, list),
		      place->facts->has_isolated ? "" : " (/sys does not say that it may not)");
	finding_effect(finding, "A thread of weir waits while another program runs on its CPU");
	if (has_no_other(place, finding))
		return;
	finding_remedy(
		finding,
		"on the kernel's command line: isolcpus=%s (in Debian: "
		"GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub, then boot again)",
		place->list);
}

static void judge_nohz_full(const struct place *place, struct findings *findings)
{
	cpu_set_t ticking = cpus_and(&place->own, &place->facts->nohz_full, false);
	char list[CPUS_TEXT_BYTES];
	struct finding *finding;

	if (cpus_is_empty(&ticking))
		return;
	finding = findings_add(findings, severity_of(place), "nohz_full");
	finding_cause(finding, "The timer tick interrupts %s%s", cpus_named(&ticking, list),
		      place->facts->has_nohz_full ? ""
						  : ", and this kernel can't stop it "
						    "(CONFIG_NO_HZ_FULL)");
	finding_effect(finding, "A thread of weir is interrupted up to 1000 times per second, for "
				"some microseconds each");
	if (has_no_other(place, finding))
		return;
	finding_remedy(finding, "on the kernel's command line: nohz_full=%s rcu_nocbs=%s%s",
		       place->list, place->list,
		       place->facts->has_nohz_full ? "" : ", with another kernel");
}

/* Adds the step that moves an interrupt away from the CPUs of the profile. */
static void move_irq(const struct place *place, const struct irq_facts *irq,
		     struct finding *finding)
{
	cpu_set_t rest = cpus_and(&irq->cpus, &place->others, true);
	char list[CPUS_TEXT_BYTES], path[SYSFILE_PATH_BYTES];

	sysfile_path(path, place->facts->root, "/proc/irq/%u/smp_affinity_list", irq->number);
	finding_write(finding, path,
		      cpus_list(cpus_is_empty(&rest) ? &place->others : &rest, list));
}

/* Reports that some interrupts were not examined. */
static void judge_more_irqs(const struct place *place, struct findings *findings)
{
	struct finding *finding;

	if (!place->facts->has_more_irqs)
		return;
	finding = findings_add(findings, severity_of(place), "interrupts");
	finding_cause(finding, "This machine has more than %u interrupts", FACTS_IRQS_MAX);
	finding_effect(finding, "The others can be handled by the CPUs of the profile");
	finding_remedy(finding, "look at /proc/irq/*/smp_affinity_list");
}

static void judge_irqs(const struct place *place, struct findings *findings)
{
	struct finding *finding = NULL;
	uint32_t count = 0;
	char text[512] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < place->facts->nirqs; i++) {
		const struct irq_facts *irq = &place->facts->irqs[i];
		cpu_set_t both = cpus_and(&irq->cpus, &place->own, true);

		if (cpus_is_empty(&both))
			continue;
		if (count == 0)
			finding = findings_add(findings, severity_of(place), "interrupts");
		if (count++ < NAMES_MAX && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u (%s)",
						 used ? ", " : "", irq->number, irq->name);
		if (!cpus_is_empty(&place->others))
			move_irq(place, irq, finding);
	}
	if (count == 0)
		return;
	finding_cause(finding, "%s may handle %u interrupt%s: %s%s", place->name, count,
		      count == 1 ? "" : "s", text, count > NAMES_MAX ? " and others" : "");
	finding_effect(finding, "A thread of weir waits while its CPU handles an interrupt");
	if (has_no_other(place, finding))
		return;
	finding_remedy(finding,
		       "as root, for each of them: echo %s > "
		       "/proc/irq/NUMBER/smp_affinity_list",
		       place->other_list);
	finding_remedy(finding,
		       "and, if irqbalance runs, in /etc/default/irqbalance: "
		       "IRQBALANCE_BANNED_CPULIST=%s",
		       place->list);
	finding_remedy(finding,
		       "for interrupts that the kernel refuses to move, on its command "
		       "line: isolcpus=managed_irq,domain,%s",
		       place->list);
}

static void judge_governor(const struct place *place, struct findings *findings)
{
	cpu_set_t slow, unknown;
	char list[CPUS_TEXT_BYTES], path[SYSFILE_PATH_BYTES];
	struct finding *finding;

	CPU_ZERO(&slow);
	CPU_ZERO(&unknown);
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		const char *governor = place->facts->cpus[cpu].governor;

		if (!CPU_ISSET(cpu, &place->own))
			continue;
		if (governor[0] == '\0')
			CPU_SET(cpu, &unknown);
		else if (strcmp(governor, "performance") != 0)
			CPU_SET(cpu, &slow);
	}
	if (!cpus_is_empty(&unknown)) {
		finding = findings_add(findings, SEVERITY_NOTE, "governor");
		finding_cause(finding, "The kernel does not set the frequency of %s%s",
			      cpus_named(&unknown, list),
			      place->facts->is_virtual ? " in this virtual machine" : "");
		finding_effect(finding, "The frequency can't be examined");
		finding_remedy(finding, "look at the settings of the %s",
			       place->facts->is_virtual ? "hypervisor" : "firmware");
	}
	if (cpus_is_empty(&slow))
		return;
	finding = findings_add(findings,
			       place->load->nspinning > 0 ? SEVERITY_WARNING : SEVERITY_NOTE,
			       "governor");
	finding_cause(finding, "The frequency governor of %s is not 'performance'",
		      cpus_named(&slow, list));
	finding_effect(finding, "The CPUs run at lower frequencies, and take time to raise them");
	finding_remedy(finding, "as root: cpupower --cpu %s frequency-set --governor performance",
		       cpus_list(&slow, list));
	finding_remedy(finding, "or, for each of them: echo performance > "
				"/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor");
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!CPU_ISSET(cpu, &slow))
			continue;
		sysfile_path(path, place->facts->root,
			     "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu);
		finding_write(finding, path, "performance");
	}
}

/* Returns whether a CPU is the first of 'set' in its core. */
static bool is_first_of_core(const struct facts *facts, uint32_t cpu, const cpu_set_t *set)
{
	for (uint32_t other = 0; other < cpu; other++)
		if (CPU_ISSET(other, set) && CPU_ISSET(other, &facts->cpus[cpu].siblings))
			return false;
	return true;
}

/* Returns one CPU of each core of 'set'. */
static cpu_set_t cores_of(const struct facts *facts, const cpu_set_t *set)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET(cpu, set) && is_first_of_core(facts, cpu, set))
			CPU_SET(cpu, &first);
	return first;
}

/* Reports engines that share a core with each other. */
static void judge_shared_cores(const struct place *place, struct findings *findings)
{
	cpu_set_t used = cores_of(place->facts, &place->own);
	cpu_set_t second = cpus_and(&place->own, &used, false);
	cpu_set_t there = cores_of(place->facts, &place->facts->online);
	bool has_more = CPU_COUNT(&there) >= CPU_COUNT(&place->own);
	char list[CPUS_TEXT_BYTES];
	struct finding *finding;

	if (cpus_is_empty(&second))
		return;
	finding = findings_add(
		findings, has_more && place->load->nspinning > 0 ? SEVERITY_WARNING : SEVERITY_NOTE,
		"SMT siblings");
	finding_cause(finding, "Other CPUs of the profile are in the same core as %s",
		      cpus_named(&second, list));
	finding_effect(finding, "Two threads of weir share the execution units and the caches of a "
				"core, and each is slower");
	if (has_more)
		finding_remedy(finding,
			       "name CPUs of different cores in lcores; these are CPUs of "
			       "different cores: %s",
			       cpus_list(&there, list));
	else
		finding_remedy(finding, "name fewer CPUs in lcores: the machine has %d cores",
			       CPU_COUNT(&there));
}

/* Reports siblings on which other programs may run. */
static void judge_siblings(const struct place *place, struct findings *findings)
{
	cpu_set_t siblings, rest;
	char list[CPUS_TEXT_BYTES];
	struct finding *finding;

	CPU_ZERO(&siblings);
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET(cpu, &place->own))
			CPU_OR(&siblings, &siblings, &place->facts->cpus[cpu].siblings);
	siblings = cpus_and(&siblings, &place->others, true);
	siblings = cpus_and(&siblings, &place->facts->isolated, false);
	if (cpus_is_empty(&siblings))
		return;
	/* If no CPU would be left for other programs, they have to run on siblings. */
	rest = cpus_and(&place->others, &siblings, false);
	finding = findings_add(findings, cpus_is_empty(&rest) ? SEVERITY_NOTE : severity_of(place),
			       "SMT siblings");
	finding_cause(finding, "Other programs may run on %s, in the cores that the profile uses",
		      cpus_named(&siblings, list));
	finding_effect(finding, "These programs slow down the threads of weir on the same cores");
	finding_remedy(finding, "add %s to isolcpus on the kernel's command line", list);
	finding_remedy(finding, "or, as root, for each of them: echo 0 > "
				"/sys/devices/system/cpu/cpuN/online");
}

void judge_isolation(const struct facts *facts, const struct load *load, struct findings *findings)
{
	struct place place = {.facts = facts, .load = load};

	place.own = cpus_and(&load->pinned, &facts->online, true);
	place.others = cpus_and(&facts->online, &load->pinned, false);
	if (cpus_is_empty(&place.own))
		return;
	cpus_list(&place.own, place.list);
	cpus_named(&place.own, place.name);
	cpus_list(&place.others, place.other_list);
	judge_isolcpus(&place, findings);
	judge_nohz_full(&place, findings);
	judge_irqs(&place, findings);
	judge_more_irqs(&place, findings);
	judge_governor(&place, findings);
	judge_shared_cores(&place, findings);
	judge_siblings(&place, findings);
}
