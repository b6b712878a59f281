/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the findings of weir-check about hugepages. An engine of the profile takes 30 hugepages of
 * 2 MiB: 5 for sends, 4 for receives, 4 for long messages and 17 for bulk data. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

#define NR    "/nr_hugepages"
#define FREE  "/free_hugepages"
#define KIND  "/sys/kernel/mm/hugepages/hugepages-2048kB"
#define KIND1 "/sys/kernel/mm/hugepages/hugepages-1048576kB"
#define NODE  "/sys/devices/system/node/node"
/* the line that asks for hugepages of 2 MiB, and for buffers of 1 GiB */
#define AUTO "[engine]\nlcores = 1\nidle = spin\n"
#define HUGE_POOL                                                                                  \
	"[engine]\nlcores = 1\nidle = spin\n[memory]\nbulk_buffers = 1024\n"                       \
	"bulk_buffer_bytes = 1m\n"

static void hugepages__enough(void **state)
{
	(void)state;
	machine_expect_nothing(MACHINE_PROFILE);
	assert_int_equal(machine_load.pages[PAGES_2M], 90);
	machine_put(KIND FREE, "90\n");
	machine_expect_nothing(MACHINE_PROFILE);
}

static void hugepages__too_few(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(KIND FREE, "89\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages",
				 "take 90 hugepages of 2 MiB, and 89 of 1000 are free");
	assert_non_null(strstr(finding->remedy, "hugeadm --pool-pages-min 2MB:1001"));
	assert_non_null(strstr(finding->remedy, "dpdk-hugepages.py -p 2M -r 2002M"));
	assert_non_null(strstr(finding->remedy, "sysctl vm.nr_hugepages=1001"));
	machine_expect_write(finding, KIND NR, "1001");
}

static void hugepages__reserved_by_another(void **state)
{
	(void)state;
	machine_put(KIND FREE, "100\n");
	machine_put(KIND "/resv_hugepages", "11\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages", "89 of 1000 are free");
}

static void hugepages__not_the_default_size(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put("/proc/meminfo", "MemAvailable: 8388608 kB\nHugepagesize: 1048576 kB\n");
	machine_put(KIND FREE, "0\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages", "0 of 1000");
	assert_null(strstr(finding->remedy, "sysctl"));
	assert_non_null(strstr(finding->remedy, "echo 1090 > " KIND NR));
}

static void hugepages__auto_is_a_note(void **state)
{
	(void)state;
	machine_put(KIND FREE, "0\n");
	machine_expect_nothing(AUTO);
	assert_non_null(strstr(machine_note("hugepages")->remedy, "2MB:1030"));
}

static void hugepages__more_than_memory(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(KIND FREE, "0\n");
	machine_put("/proc/meminfo", "MemAvailable: 184319 kB\nHugePages_Free: 1000\n"
				     "Hugepagesize: 2048 kB\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages", "0 of 1000");
	assert_non_null(strstr(finding->remedy, "90 more hugepages take 180 MiB, and 179 MiB"));
	assert_int_equal(finding->nfixes, 0);
	machine_put("/proc/meminfo", "MemAvailable: 184320 kB\nHugePages_Free: 1000\n"
				     "Hugepagesize: 2048 kB\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages", "0 of 1000");
	assert_int_equal(findings_fixes(&machine_findings), 1);
}

static void hugepages__a_kernel_without(void **state)
{
	(void)state;
	machine_remove(KIND);
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages",
		       "this kernel has no hugepages of 2 MiB");
	machine_expect_nothing(AUTO);
}

/* Makes a machine with two nodes, of which the second has CPUs 2 and 3. */
static void put_two_nodes(void)
{
	static const char *const far[] = {"2", "3"};
	char path[128];

	machine_put(NODE "0/cpulist", "0-1\n");
	machine_put(NODE "0/distance", "10 21\n");
	machine_put(NODE "1/cpulist", "2-3\n");
	machine_put(NODE "1/distance", "21 10\n");
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%s/node0", far[i]);
		machine_remove(path);
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%s/node1/x", far[i]);
		machine_put(path, "");
	}
	machine_put(NODE "0/hugepages/hugepages-2048kB" NR, "500\n");
	machine_put(NODE "0/hugepages/hugepages-2048kB" FREE, "500\n");
	machine_put(NODE "1/hugepages/hugepages-2048kB" NR, "500\n");
	machine_put(NODE "1/hugepages/hugepages-2048kB" FREE, "60\n");
	/* The device is on no node, so that its distance is a note. */
	machine_put("/sys/class/infiniband/mlx5_0/device/numa_node", "-1\n");
}

static void hugepages__by_node(void **state)
{
	const struct finding *finding;

	(void)state;
	put_two_nodes();
	machine_expect_nothing(MACHINE_PROFILE);
	assert_int_equal(machine_load.node_pages[0][PAGES_2M], 30);
	assert_int_equal(machine_load.node_pages[1][PAGES_2M], 60);
	machine_put(NODE "1/hugepages/hugepages-2048kB" FREE, "50\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages",
				 "60 hugepages of 2 MiB on NUMA node 1, and 50 of 500 are free");
	assert_non_null(strstr(finding->remedy, "dpdk-hugepages.py -p 2M -n 1 -r 1020M"));
	assert_non_null(strstr(finding->remedy, "echo 510 > " NODE "1/hugepages"));
	machine_expect_write(finding, NODE "1/hugepages/hugepages-2048kB" NR, "510");
}

/* Checks that sections change the hugepages of the nodes of their CPUs. */
static void hugepages__of_sections(void **state)
{
	(void)state;
	put_two_nodes();
	machine_expect(MACHINE_PROFILE "[engine:2,3]\nbulk_buffers = 64\n", SEVERITY_WARNING,
		       "hugepages", "94 hugepages of 2 MiB on NUMA node 1, and 60 of 500 are free");
	assert_int_equal(machine_load.node_pages[0][PAGES_2M], 30);
	assert_int_equal(machine_load.node_pages[1][PAGES_2M], 94);
	machine_expect_nothing(MACHINE_PROFILE "[engine:2]\nbulk_buffers = 16\n");
	assert_int_equal(machine_load.node_pages[1][PAGES_2M], 52);
	machine_expect_nothing(MACHINE_PROFILE "[engine:2-3]\npages = 4k\n");
	assert_int_equal(machine_load.pages[PAGES_2M], 30);
	/* All engines have a section. */
	machine_expect_nothing(MACHINE_PROFILE "[engine:1-3]\npages = 4k\n");
	assert_int_equal(machine_load.pages[PAGES_2M], 0);
	assert_int_equal(machine_load.nengines, 3);
	machine_expect(MACHINE_PROFILE "[engine:3]\npages = 1g\n", SEVERITY_WARNING, "hugepages",
		       "'pages = 1g', and this kernel has no hugepages of 1 GiB");
}

static void hugepages__engines_on_any_node(void **state)
{
	(void)state;
	put_two_nodes();
	machine_engines = 20;
	machine_expect_nothing("[engine]\nlcores = any\n[memory]\npages = 2m\n");
	assert_int_equal(machine_load.pages[PAGES_2M], 600);
	machine_put(KIND FREE, "599\n");
	machine_expect("[engine]\nlcores = any\n[memory]\npages = 2m\n", SEVERITY_WARNING,
		       "hugepages", "600 hugepages of 2 MiB, and 599 of 1000 are free");
}

/* The node of CPU 3 is not known. The hugepages of its engine must not be those of another one. */
static void hugepages__of_an_engine_on_any_node(void **state)
{
	(void)state;
	put_two_nodes();
	machine_remove("/sys/devices/system/cpu/cpu3/node1");
	machine_put(KIND FREE, "90\n");
	machine_expect_nothing(MACHINE_PROFILE);
	machine_put(KIND FREE, "89\n");
	machine_expect_write(machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages",
					    "90 hugepages of 2 MiB, and 89 of 1000 are free"),
			     KIND NR, "1001");
	/* The step for the machine must not undo that for a node. */
	machine_put(KIND FREE, "88\n");
	machine_put(NODE "0/hugepages/hugepages-2048kB" FREE, "28\n");
	machine_expect_write(machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "hugepages",
					    "30 hugepages of 2 MiB on NUMA node 0"),
			     NODE "0/hugepages/hugepages-2048kB" NR, "502");
}

/* Each node lacks few enough hugepages, but the memory is not enough for both. */
static void hugepages__more_than_memory_on_two_nodes(void **state)
{
	(void)state;
	put_two_nodes();
	machine_put(NODE "0/hugepages/hugepages-2048kB" FREE, "0\n");
	machine_put(NODE "1/hugepages/hugepages-2048kB" FREE, "0\n");
	machine_put("/proc/meminfo", "MemAvailable: 184320 kB\nHugePages_Free: 1000\n"
				     "Hugepagesize: 2048 kB\n");
	machine_examine(MACHINE_PROFILE);
	assert_int_equal(findings_fixes(&machine_findings), 2);
	machine_put("/proc/meminfo", "MemAvailable: 184319 kB\nHugePages_Free: 1000\n"
				     "Hugepagesize: 2048 kB\n");
	machine_examine(MACHINE_PROFILE);
	assert_int_equal(findings_fixes(&machine_findings), 1);
	assert_non_null(strstr(machine_findings.list[1].remedy,
			       "60 more hugepages take 120 MiB, and 119 MiB"));
}

static void hugepages__of_1_gib(void **state)
{
	const struct finding *finding;

	(void)state;
	/* Without hugepages of 1 GiB, 'auto' is content with those of 2 MiB. */
	machine_put(KIND1 NR, "0\n");
	machine_put(KIND1 FREE, "0\n");
	machine_expect_nothing(HUGE_POOL);
	assert_int_equal(machine_load.pages[PAGES_1G], 0);
	assert_int_equal(machine_load.pages[PAGES_2M], 512 + 13);
	finding = machine_expect(HUGE_POOL "pages = 1g\n", SEVERITY_WARNING, "hugepages",
				 "take 1 hugepages of 1 GiB, and 0 of 0 are free");
	assert_non_null(strstr(finding->remedy, "hugeadm --pool-pages-min 1GB:1"));
	assert_non_null(strstr(finding->remedy, "hugepagesz=1G hugepages=1"));
	machine_expect_write(finding, KIND1 NR, "1");
	machine_put(KIND1 NR, "1\n");
	machine_put(KIND1 FREE, "1\n");
	machine_expect_nothing(HUGE_POOL "pages = 1g\n");
	assert_int_equal(machine_load.pages[PAGES_1G], 1);
	machine_expect_nothing(HUGE_POOL);
	assert_int_equal(machine_load.pages[PAGES_1G], 1);
	machine_remove(KIND1);
	machine_expect(HUGE_POOL "pages = 1g\n", SEVERITY_WARNING, "hugepages",
		       "this kernel has no hugepages of 1 GiB");
}

static void hugepages__limit_of_a_cgroup(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put("/proc/self/cgroup", "0::/box\n");
	machine_put("/sys/fs/cgroup/box/hugetlb.2MB.max", "188743680\n"); /* 180 MiB */
	machine_expect_nothing(MACHINE_PROFILE);
	machine_put("/sys/fs/cgroup/box/hugetlb.2MB.current", "2097152\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "cgroup hugetlb",
				 "take 180 MiB in hugepages of 2 MiB, and the cgroup allows 178");
	assert_non_null(strstr(finding->cause, "box/hugetlb.2MB.max"));
	/* 180 MiB for the buffers, and the 2 MiB that are in use */
	assert_non_null(strstr(finding->remedy, "echo 190840832 > "));
	machine_put("/sys/fs/cgroup/box/hugetlb.2MB.max", "max\n");
	machine_expect_nothing(MACHINE_PROFILE);
	machine_put("/proc/self/cgroup", "3:hugetlb:/\n");
	machine_put("/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes", "4194304\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "cgroup hugetlb", "allows 4 MiB");
}

static void hugepages__transparent(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_expect_nothing(AUTO "[memory]\npages = thp\n");
	machine_put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	finding = machine_expect(AUTO "[memory]\npages = thp\n", SEVERITY_WARNING,
				 "transparent hugepages", "turned off");
	machine_expect_write(finding, "/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	machine_remove("/sys/kernel/mm/transparent_hugepage");
	machine_expect_nothing(AUTO "[memory]\npages = thp\n");
	machine_note("transparent hugepages");
	machine_expect_nothing(MACHINE_PROFILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MACHINE_TEST(hugepages__enough),
		MACHINE_TEST(hugepages__too_few),
		MACHINE_TEST(hugepages__reserved_by_another),
		MACHINE_TEST(hugepages__not_the_default_size),
		MACHINE_TEST(hugepages__auto_is_a_note),
		MACHINE_TEST(hugepages__more_than_memory),
		MACHINE_TEST(hugepages__a_kernel_without),
		MACHINE_TEST(hugepages__by_node),
		MACHINE_TEST(hugepages__of_sections),
		MACHINE_TEST(hugepages__engines_on_any_node),
		MACHINE_TEST(hugepages__of_an_engine_on_any_node),
		MACHINE_TEST(hugepages__more_than_memory_on_two_nodes),
		MACHINE_TEST(hugepages__of_1_gib),
		MACHINE_TEST(hugepages__limit_of_a_cgroup),
		MACHINE_TEST(hugepages__transparent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
