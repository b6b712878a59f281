/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the files of a machine. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "judge.h"
#include "put_file.h"

#define GIB (UINT64_C(1) << 30)

char machine_root[64];
struct facts *machine_facts;
struct load machine_load;
struct findings machine_findings;
struct ibv_device_attr machine_attr;
int machine_open_error;
const char *machine_user;
uint32_t machine_engines;

void machine_put(const char *path, const char *text)
{
	put_file(machine_root, path, text);
}

void machine_remove(const char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r '%s%s'", machine_root, path);
	assert_int_equal(system(command), 0);
}

static void put_cpus(void)
{
	char path[128], text[16];

	machine_put("/sys/devices/system/cpu/present", "0-3\n");
	machine_put("/sys/devices/system/cpu/online", "0-3\n");
	machine_put("/sys/devices/system/cpu/isolated", "1-3\n");
	machine_put("/sys/devices/system/cpu/nohz_full", "1-3\n");
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/node0/x", cpu);
		machine_put(path, "");
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
		snprintf(text, sizeof(text), "%u\n", cpu);
		machine_put(path, text);
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu);
		machine_put(path, "performance\n");
	}
	machine_put("/proc/irq/0/smp_affinity_list", "0-3\n"); /* without a handler */
	machine_put("/proc/irq/10/smp_affinity_list", "0\n");
	machine_put("/proc/irq/10/eth0/x", "");
}

static void put_memory(void)
{
	machine_put("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"
				     "HugePages_Free: 1000\nHugepagesize: 2048 kB\n");
	machine_put("/proc/self/limits",
		    "Limit                     Soft Limit           Hard Limit           Units\n"
		    "Max locked memory         unlimited            unlimited            bytes\n");
	machine_put("/proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n");
	machine_put("/proc/self/cgroup", "0::/\n");
	machine_put("/sys/devices/system/node/node0/cpulist", "0-3\n");
	machine_put("/sys/devices/system/node/node0/distance", "10\n");
	machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1000\n");
	machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1000\n");
	machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "0\n");
	machine_put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	machine_put("/dev/shm/x", "");
}

static void put_device(void)
{
	machine_put("/sys/class/infiniband/mlx5_0/device/numa_node", "0\n");
	machine_put("/sys/class/infiniband/mlx5_0/device/iommu_group/type", "identity\n");
	machine_put("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	machine_put("/dev/infiniband/rdma_cm", "");
	machine_attr = (struct ibv_device_attr){
		.max_mr_size = GIB,
		.max_qp = 10000,
		.max_qp_wr = 16384,
		.device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = 30,
		.max_cqe = 65536,
		.max_mr = 10000,
		.max_qp_init_rd_atom = 16,
		.max_mw = 10000,
		.max_srq = 100,
		.max_srq_wr = 16384,
	};
}

int machine_setup(void **state)
{
	(void)state;
	snprintf(machine_root, sizeof(machine_root), "/tmp/weir-check-XXXXXX");
	if (!mkdtemp(machine_root))
		return -1;
	machine_open_error = 0;
	machine_user = "";
	machine_engines = 0;
	put_cpus();
	put_memory();
	put_device();
	return 0;
}

static void forget(void)
{
	findings_free(&machine_findings);
	free(machine_facts);
	machine_facts = NULL;
}

int machine_teardown(void **state)
{
	(void)state;
	forget();
	machine_remove("");
	return 0;
}

static void load_text(const char *text, struct weir_profile *profile)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[32], err[400] = "";

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	weir_profile_defaults(profile);
	if (weir_profile_load(path, profile, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	close(fd);
}

void machine_examine(const char *text)
{
	static struct weir_profile profile;

	forget();
	load_text(text, &profile);
	machine_facts = facts_read(machine_root, machine_user);
	assert_non_null(machine_facts);
	for (uint32_t i = 0; i < machine_facts->ndevices; i++) {
		machine_facts->devices[i].open_error = machine_open_error;
		machine_facts->devices[i].has_attr = machine_open_error == 0;
		machine_facts->devices[i].attr = machine_attr;
	}
	load_compute(&profile, machine_engines, machine_facts, &machine_load);
	judge(machine_facts, &machine_load, &machine_findings);
	assert_false(machine_findings.has_lost);
	for (uint32_t i = 1; i < machine_findings.n; i++)
		assert_true(machine_findings.list[i - 1].severity >=
			    machine_findings.list[i].severity);
}

static void print_all(void)
{
	for (uint32_t i = 0; i < machine_findings.n; i++)
		print_message("%s: %s: %s\n", severity_name(machine_findings.list[i].severity),
			      machine_findings.list[i].check, machine_findings.list[i].cause);
}

const struct finding *machine_expect(const char *profile, enum severity severity, const char *check,
				     const char *cause)
{
	const struct finding *finding;
	uint32_t count = 0;

	machine_examine(profile);
	for (uint32_t i = severity; i <= SEVERITY_ERROR; i++)
		count += findings_count(&machine_findings, (enum severity)i);
	if (count != 1)
		print_all();
	assert_int_equal(count, 1);
	finding = &machine_findings.list[0];
	assert_int_equal(finding->severity, severity);
	assert_string_equal(finding->check, check);
	if (!strstr(finding->cause, cause))
		fail_msg("the cause is: %s", finding->cause);
	return finding;
}

void machine_expect_nothing(const char *profile)
{
	machine_examine(profile);
	if (machine_findings.n > 0 && machine_findings.list[0].severity > SEVERITY_NOTE) {
		print_all();
		fail();
	}
	assert_int_equal(findings_fixes(&machine_findings), 0);
}

const struct finding *machine_note(const char *check)
{
	for (uint32_t i = 0; i < machine_findings.n; i++)
		if (machine_findings.list[i].severity == SEVERITY_NOTE &&
		    strcmp(machine_findings.list[i].check, check) == 0)
			return &machine_findings.list[i];
	print_all();
	fail();
	return NULL;
}

void machine_expect_write(const struct finding *finding, const char *path, const char *text)
{
	assert_int_equal(finding->nfixes, 1);
	assert_int_equal(strncmp(finding->fixes[0].path, machine_root, strlen(machine_root)), 0);
	assert_string_equal(finding->fixes[0].path + strlen(machine_root), path);
	assert_string_equal(finding->fixes[0].text, text);
}
