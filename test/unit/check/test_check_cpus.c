/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the findings of weir-check about CPUs: those that cannot be used, and what disturbs the
 * threads on the others. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

#include "judge.h"

#define CPU  "/sys/devices/system/cpu"
#define PEER "[engine]\nlcores = %s\nidle = %s\n"

/* Returns a profile with these keys. */
static const char *profile_of(const char *lcores, const char *idle)
{
	static char text[128];

	snprintf(text, sizeof(text), PEER, lcores, idle);
	return text;
}

/* A step writes the list, so that it must not be truncated. */
static void list__of_every_length(void **state)
{
	char text[CPUS_TEXT_BYTES], named[CPUS_TEXT_BYTES];

	(void)state;
	/* Every period-th CPU is not in the set. */
	for (uint32_t period = 2; period < 5; period++) {
		cpu_set_t set, read;

		CPU_ZERO(&set);
		for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
			if (cpu % period != 0)
				CPU_SET(cpu, &set);
		assert_true(cpus_parse(cpus_list(&set, text), &read));
		assert_true(CPU_EQUAL(&set, &read));
		assert_string_equal(cpus_named(&set, named) + strlen("CPUs "), text);
	}
}

static void lcores__absent(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_expect_nothing(profile_of("1-3", "spin"));
	finding = machine_expect(profile_of("1-5", "spin"), SEVERITY_ERROR, "lcores",
				 "does not have CPUs 4-5");
	assert_non_null(strstr(finding->remedy, "some of CPUs 0-3"));
}

static void lcores__offline(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(CPU "/online", "0-2\n");
	machine_put("/proc/self/status", "Cpus_allowed_list:\t0-2\n");
	finding = machine_expect(profile_of("1-3", "spin"), SEVERITY_ERROR, "lcores",
				 "offline: CPU 3");
	machine_expect_write(finding, CPU "/cpu3/online", "1");
}

static void lcores__not_allowed(void **state)
{
	(void)state;
	machine_put("/proc/self/status", "Cpus_allowed_list:\t0,2-3\n");
	machine_expect(profile_of("1-3", "spin"), SEVERITY_ERROR, "lcores",
		       "may not use CPU 1, which");
}

static void lcores__without_sys(void **state)
{
	(void)state;
	machine_remove("/sys/devices/system/cpu");
	machine_expect(profile_of("1-3", "spin"), SEVERITY_ERROR, "lcores", "can't be read");
	machine_expect_nothing(profile_of("any", "adaptive"));
}

static void lcores__too_many(void **state)
{
	(void)state;
	machine_put(CPU "/present", "0-127\n");
	machine_put(CPU "/online", "0-127\n");
	machine_put(CPU "/isolated", "1-127\n");
	machine_put(CPU "/nohz_full", "1-127\n");
	machine_put("/proc/self/status", "Cpus_allowed_list:\t0-127\n");
	machine_expect_nothing(profile_of("1-64", "spin"));
	machine_expect(profile_of("1-65", "spin"), SEVERITY_ERROR, "lcores", "65 engines");
}

static void cpu_quota__of_a_cgroup(void **state)
{
	(void)state;
	machine_put("/proc/self/cgroup", "0::/box\n");
	machine_put("/sys/fs/cgroup/box/cpu.max", "300000 100000\n");
	machine_expect_nothing(profile_of("1-3", "spin"));
	machine_put("/sys/fs/cgroup/box/cpu.max", "250000 100000\n");
	machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "cgroup cpu",
		       "3 threads poll all the time, and the cgroup allows 2.50 CPUs");
	machine_expect_nothing(profile_of("1-3", "adaptive"));
	/* Only two of the engines spin. */
	machine_expect_nothing(MACHINE_PROFILE "[engine:2]\nidle = adaptive\n");
	machine_put("/sys/fs/cgroup/box/cpu.max", "max 100000\n");
	machine_expect_nothing(profile_of("1-3", "spin"));
	machine_put("/proc/self/cgroup", "3:cpu,cpuacct:/\n");
	machine_put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	machine_put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	machine_expect_nothing(profile_of("1-3", "spin"));
	machine_put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
	machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "cgroup cpu", "1.00 CPUs");
}

static void isolcpus__missing(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(CPU "/isolated", "3\n");
	finding = machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "isolcpus",
				 "other programs on CPUs 1-2");
	assert_non_null(strstr(finding->remedy, "isolcpus=1-3"));
	assert_int_equal(finding->nfixes, 0);
	machine_put(CPU "/isolated", "\n");
	machine_expect(profile_of("1-3", "auto"), SEVERITY_WARNING, "isolcpus", "CPUs 1-3");
	/* A thread that sleeps does not need the CPU alone. */
	machine_expect_nothing(profile_of("1-3", "adaptive"));
	machine_note("isolcpus");
	machine_expect_nothing(profile_of("any", "spin"));
	/* There is no other CPU for other programs. */
	machine_expect_nothing(profile_of("0-3", "spin"));
	machine_note("isolcpus");
}

static void nohz_full__missing(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(CPU "/nohz_full", "(null)\n");
	machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "nohz_full",
		       "tick interrupts CPUs 1-3");
	/* The width is the number of CPUs. */
	machine_put(CPU "/nohz_full", "  (null)\n");
	finding = machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "nohz_full",
				 "tick interrupts CPUs 1-3");
	assert_null(strstr(finding->cause, "CONFIG_NO_HZ_FULL"));
	assert_non_null(strstr(finding->remedy, "nohz_full=1-3 rcu_nocbs=1-3"));
	machine_remove(CPU "/nohz_full");
	machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "nohz_full",
		       "CONFIG_NO_HZ_FULL");
	machine_expect_nothing(profile_of("0-3", "spin"));
	machine_note("nohz_full");
}

static void interrupts__on_pinned_cpus(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put("/proc/irq/10/smp_affinity_list", "0,2\n");
	machine_put("/proc/irq/11/smp_affinity_list", "3\n");
	machine_put("/proc/irq/11/nvme0q1/x", "");
	finding = machine_expect(profile_of("2-3", "spin"), SEVERITY_WARNING, "interrupts",
				 "CPUs 2-3 may handle 2 interrupts: 10 (eth0), 11 (nvme0q1)");
	assert_non_null(strstr(finding->remedy, "IRQBALANCE_BANNED_CPULIST=2-3"));
	assert_int_equal(finding->nfixes, 2);
	assert_non_null(strstr(finding->fixes[0].path, "/proc/irq/10/smp_affinity_list"));
	assert_string_equal(finding->fixes[0].text, "0");
	assert_non_null(strstr(finding->fixes[1].path, "/proc/irq/11/smp_affinity_list"));
	assert_string_equal(finding->fixes[1].text, "0-1");
	machine_expect(profile_of("2", "spin"), SEVERITY_WARNING, "interrupts",
		       "CPU 2 may handle 1 interrupt: 10 (eth0)");
	/* They cannot be moved. */
	machine_expect_nothing(profile_of("0-3", "spin"));
	machine_note("interrupts");
}

static void interrupts__more_than_are_examined(void **state)
{
	(void)state;
	machine_expect_nothing(profile_of("1-3", "spin"));
	assert_false(machine_facts->has_more_irqs);
	machine_facts->has_more_irqs = true;
	findings_free(&machine_findings);
	judge_isolation(machine_facts, &machine_load, &machine_findings);
	assert_int_equal(machine_findings.n, 1);
	assert_int_equal(machine_findings.list[0].severity, SEVERITY_WARNING);
	assert_non_null(strstr(machine_findings.list[0].cause, "more than 4096 interrupts"));
}

static void governor__saves_power(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(CPU "/cpu2/cpufreq/scaling_governor", "powersave\n");
	finding = machine_expect(profile_of("1-3", "spin"), SEVERITY_WARNING, "governor",
				 "governor of CPU 2 is not");
	assert_non_null(strstr(finding->remedy, "cpupower --cpu 2 frequency-set"));
	machine_expect_write(finding, CPU "/cpu2/cpufreq/scaling_governor", "performance");
	machine_expect_nothing(profile_of("1-3", "adaptive"));
	machine_note("governor");
	machine_expect_nothing(profile_of("1,3", "spin"));
}

static void governor__none(void **state)
{
	(void)state;
	machine_remove(CPU "/cpu1/cpufreq");
	machine_put("/proc/cpuinfo", "processor : 0\nflags\t\t: fpu sse hypervisor avx\n");
	machine_expect_nothing(profile_of("1-3", "spin"));
	assert_non_null(strstr(machine_note("governor")->cause, "CPU 1 in this virtual machine"));
}

/* CPUs 0 and 2 are in one core, and CPUs 1 and 3 in another. */
static void put_siblings(void)
{
	machine_put(CPU "/cpu0/topology/thread_siblings_list", "0,2\n");
	machine_put(CPU "/cpu1/topology/thread_siblings_list", "1,3\n");
	machine_put(CPU "/cpu2/topology/thread_siblings_list", "0,2\n");
	machine_put(CPU "/cpu3/topology/thread_siblings_list", "1,3\n");
}

static void siblings__both_in_the_profile(void **state)
{
	const struct finding *finding;

	(void)state;
	put_siblings();
	finding = machine_expect(profile_of("1,3", "spin"), SEVERITY_WARNING, "SMT siblings",
				 "in the same core as CPU 3");
	assert_non_null(strstr(finding->remedy, "different cores: 0-1"));
	/* The machine does not have so many cores. */
	machine_expect_nothing(profile_of("1-3", "spin"));
	assert_non_null(strstr(machine_note("SMT siblings")->remedy, "has 2 cores"));
}

static void siblings__with_other_programs(void **state)
{
	const struct finding *finding;

	(void)state;
	put_siblings();
	machine_put(CPU "/isolated", "1\n");
	machine_put(CPU "/nohz_full", "1\n");
	finding = machine_expect(profile_of("1", "spin"), SEVERITY_WARNING, "SMT siblings",
				 "may run on CPU 3");
	assert_non_null(strstr(finding->remedy, "add CPU 3 to isolcpus"));
	machine_put(CPU "/isolated", "1,3\n");
	machine_expect_nothing(profile_of("1", "spin"));
	/* Other programs have no other place. */
	machine_put(CPU "/isolated", "0-1\n");
	machine_put(CPU "/nohz_full", "0-1\n");
	machine_put("/proc/irq/10/smp_affinity_list", "2\n");
	machine_expect_nothing(profile_of("0-1", "spin"));
	machine_note("SMT siblings");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list__of_every_length),
		MACHINE_TEST(lcores__absent),
		MACHINE_TEST(lcores__offline),
		MACHINE_TEST(lcores__not_allowed),
		MACHINE_TEST(lcores__without_sys),
		MACHINE_TEST(lcores__too_many),
		MACHINE_TEST(cpu_quota__of_a_cgroup),
		MACHINE_TEST(isolcpus__missing),
		MACHINE_TEST(nohz_full__missing),
		MACHINE_TEST(interrupts__on_pinned_cpus),
		MACHINE_TEST(interrupts__more_than_are_examined),
		MACHINE_TEST(governor__saves_power),
		MACHINE_TEST(governor__none),
		MACHINE_TEST(siblings__both_in_the_profile),
		MACHINE_TEST(siblings__with_other_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
