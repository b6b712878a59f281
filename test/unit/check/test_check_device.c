/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the findings of weir-check about the RDMA device. */
#include "machine.h"

#include <errno.h>
#include <string.h>

#define DEVICE "/sys/class/infiniband/mlx5_0"
#define NODE   "/sys/devices/system/node/node"

static void device__absent(void **state)
{
	const struct finding *finding;

	(void)state;
	finding = machine_expect(
		"[engine]\nlcores = 1-3\ndriver = verbs\ndriver_options = device=mlx5_1\n",
		SEVERITY_ERROR, "RDMA device",
		"no RDMA device mlx5_1; the devices of this machine: mlx5_0");
	assert_non_null(strstr(finding->remedy, "device=NAME"));
	machine_remove("/sys/class/infiniband");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA device", "machine: none");
	machine_note("RDMA device");
	/* Other drivers need none. */
	machine_expect_nothing("[engine]\nlcores = 1-3\ndriver = shm\n");
}

static void device__not_active(void **state)
{
	(void)state;
	machine_put(DEVICE "/ports/1/state", "1: DOWN\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA device", "No port of mlx5_0");
	/* The first active device is used. */
	machine_put("/sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
	machine_put("/sys/class/infiniband/mlx5_1/device/numa_node", "0\n");
	machine_expect_nothing(MACHINE_PROFILE);
	assert_string_equal(load_device(&machine_load.parts[0], machine_facts)->name, "mlx5_1");
}

static void device__without_rdma_cm(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_remove("/dev/infiniband/rdma_cm");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA device", "rdma_cm");
	assert_non_null(strstr(finding->remedy, "modprobe rdma_ucm"));
	/* No program is run because of files in another folder. */
	assert_int_equal(finding->nfixes, 0);
}

static void device__not_allowed(void **state)
{
	(void)state;
	machine_open_error = EACCES;
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA device",
		       "mlx5_0 can't be opened: Permission denied");
}

static void limits__queues(void **state)
{
	(void)state;
	/* 64 credits take 256 sends and 74 receives. */
	machine_attr.max_qp_wr = 256;
	machine_expect_nothing(MACHINE_PROFILE);
	machine_attr.max_qp_wr = 255;
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "RDMA limits",
		       "max_qp_wr of mlx5_0 is 255, and the sends of a connection take 256");
	machine_attr.max_qp_wr = 73;
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA limits",
		       "max_qp_wr of mlx5_0 is 73, and the receives of a connection take 74");
	machine_attr.max_qp_wr = 63;
	machine_expect(MACHINE_PROFILE "[connection]\ncredits = 8\n", SEVERITY_ERROR, "RDMA limits",
		       "sends of a connection take 64");
}

static void limits__completions(void **state)
{
	(void)state;
	machine_attr.max_cqe = 330;
	machine_expect_nothing(MACHINE_PROFILE);
	machine_attr.max_cqe = 329;
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA limits",
		       "max_cqe of mlx5_0 is 329, and the completions of a connection take 330");
}

static void limits__shared_receives(void **state)
{
	static const char shared[] = MACHINE_PROFILE "[connection]\nshared_receives = on\n";

	(void)state;
	machine_attr.max_srq_wr = 2048;
	machine_expect_nothing(shared);
	machine_attr.max_srq_wr = 2047;
	machine_expect(shared, SEVERITY_ERROR, "RDMA limits", "max_srq_wr of mlx5_0 is 2047");
	machine_expect_nothing(MACHINE_PROFILE);
	machine_attr.max_srq_wr = 4096;
	machine_attr.max_srq = 0;
	machine_expect(shared, SEVERITY_ERROR, "RDMA limits", "max_srq_wr of mlx5_0 is 0");
}

static void limits__elements(void **state)
{
	(void)state;
	machine_attr.max_sge = 15;
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "RDMA limits", "max_sge of mlx5_0 is 15");
	machine_attr.max_sge = 16;
	machine_expect_nothing(MACHINE_PROFILE);
	machine_attr.max_qp_init_rd_atom = 0;
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA limits", "max_qp_init_rd_atom");
}

static void limits__objects(void **state)
{
	(void)state;
	/* Three engines have 64 connections each, 5 pools and 512 windows. */
	machine_attr.max_qp = 191;
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "RDMA limits",
		       "max_qp of mlx5_0 is 191, and the connections of all engines take 192");
	machine_attr.max_qp = 192;
	machine_attr.max_mr = 15;
	machine_attr.max_mw = 1536;
	machine_expect_nothing(MACHINE_PROFILE);
	machine_attr.max_mr = 14;
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA limits",
		       "max_mr of mlx5_0 is 14, and the pools of all engines take 15");
	machine_attr.max_mr = 15;
	machine_attr.max_mr_size = 34 << 20;
	machine_expect_nothing(MACHINE_PROFILE);
	machine_attr.max_mr_size = (34 << 20) - 1;
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "RDMA limits", "max_mr_size");
}

static void limits__windows(void **state)
{
	(void)state;
	machine_attr.max_mw = 1535;
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "RDMA limits",
		       "max_mw of mlx5_0 is 1535, and the memory windows of engines that make "
		       "calls take 1536");
	machine_expect_nothing(MACHINE_PROFILE "[exposure]\npolicy = pool\n");
	machine_attr.max_mw = 2000;
	machine_attr.device_cap_flags = 0;
	machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "RDMA limits",
		       "no memory windows of type 2");
	machine_expect_nothing(MACHINE_PROFILE "[exposure]\npolicy = pool\n");
}

static void distance__another_node(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(NODE "0/cpulist", "0-2\n");
	machine_put(NODE "0/distance", "10 21\n");
	machine_put(NODE "1/cpulist", "3\n");
	machine_put(NODE "1/distance", "21 10\n");
	machine_remove("/sys/devices/system/cpu/cpu3/node0");
	machine_put("/sys/devices/system/cpu/cpu3/node1/x", "");
	finding = machine_expect("[engine]\nlcores = 1-3\nidle = spin\ndriver = verbs\n",
				 SEVERITY_WARNING, "NUMA distance",
				 "CPU 3 of the profile and mlx5_0, which is on NUMA node 0");
	assert_non_null(strstr(finding->cause, "at a distance of 21"));
	assert_non_null(strstr(finding->remedy, "some of CPUs 0-2"));
	machine_expect("[engine]\nlcores = 1-3\nidle = spin\ndriver = mlx5\n", SEVERITY_WARNING,
		       "NUMA distance", "CPU 3 of the profile and mlx5_0");
	machine_expect_nothing("[engine]\nlcores = 1-2\nidle = spin\ndriver = verbs\n");
	machine_put(DEVICE "/device/numa_node", "-1\n");
	machine_expect_nothing("[engine]\nlcores = 1-3\nidle = spin\ndriver = verbs\n");
	machine_note("NUMA distance");
}

/* A second device, on the node of CPU 3. */
static void put_second_device(void)
{
	machine_put(NODE "0/cpulist", "0-2\n");
	machine_put(NODE "0/distance", "10 21\n");
	machine_put(NODE "1/cpulist", "3\n");
	machine_put(NODE "1/distance", "21 10\n");
	machine_remove("/sys/devices/system/cpu/cpu3/node0");
	machine_put("/sys/devices/system/cpu/cpu3/node1/x", "");
	machine_put("/sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
	machine_put("/sys/class/infiniband/mlx5_1/device/numa_node", "1\n");
	machine_put("/sys/class/infiniband/mlx5_1/device/iommu_group/type", "identity\n");
}

#define TWO                                                                                        \
	"[engine]\nlcores = 1-3\nidle = spin\ndriver = verbs\ndriver_options = device=mlx5_0\n"    \
	"[engine:3]\ndriver_options = device=mlx5_1\n"

static void sections__devices(void **state)
{
	const struct finding *finding;

	(void)state;
	put_second_device();
	machine_expect_nothing(TWO);
	machine_put("/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
	machine_expect(TWO, SEVERITY_ERROR, "RDMA device", "No port of mlx5_1");
	machine_remove("/sys/class/infiniband/mlx5_1");
	finding = machine_expect(TWO, SEVERITY_ERROR, "RDMA device", "no RDMA device mlx5_1");
	assert_non_null(strstr(finding->remedy, "in section [engine:3] to one of"));
	machine_put("/sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
	machine_put("/sys/class/infiniband/mlx5_1/device/numa_node", "1\n");
	/* The lack concerns all engines, and is reported once. */
	machine_remove("/dev/infiniband/rdma_cm");
	machine_expect(TWO "[engine:2]\ndriver_options = device=mlx5_0\n", SEVERITY_ERROR,
		       "RDMA device", "rdma_cm");
}

static void sections__distance(void **state)
{
	const struct finding *finding;

	(void)state;
	put_second_device();
	finding = machine_expect(TWO "[engine:2]\ndriver_options = device=mlx5_1\n",
				 SEVERITY_WARNING, "NUMA distance",
				 "CPU 2 of the profile and mlx5_1, which is on NUMA node 1");
	assert_non_null(strstr(finding->remedy, "in a section [engine:2]"));
}

static void sections__limits(void **state)
{
	(void)state;
	put_second_device();
	/* Two engines use mlx5_0, and one uses mlx5_1. */
	machine_attr.max_qp = 128;
	machine_expect_nothing(TWO);
	machine_attr.max_qp = 127;
	machine_expect(TWO, SEVERITY_WARNING, "RDMA limits",
		       "max_qp of mlx5_0 is 127, and the connections of all engines take 128");
	machine_attr.max_qp = 128;
	machine_attr.max_mr_size = 34 << 20;
	machine_expect_nothing(TWO);
	machine_expect(TWO "bulk_buffers = 64\n", SEVERITY_ERROR, "RDMA limits",
		       "max_mr_size of mlx5_1");
}

static void iommu__translates(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_put(DEVICE "/device/iommu_group/type", "DMA-FQ\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_WARNING, "IOMMU",
				 "translates the addresses that mlx5_0 uses (DMA-FQ)");
	assert_non_null(strstr(finding->remedy, "iommu=pt"));
	machine_remove(DEVICE "/device/iommu_group");
	machine_put("/sys/class/iommu/dmar0/x", "");
	machine_expect_nothing(MACHINE_PROFILE);
	machine_note("IOMMU");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MACHINE_TEST(device__absent),	       MACHINE_TEST(device__not_active),
		MACHINE_TEST(device__without_rdma_cm), MACHINE_TEST(device__not_allowed),
		MACHINE_TEST(limits__queues),	       MACHINE_TEST(limits__completions),
		MACHINE_TEST(limits__shared_receives), MACHINE_TEST(limits__elements),
		MACHINE_TEST(limits__objects),	       MACHINE_TEST(limits__windows),
		MACHINE_TEST(distance__another_node),  MACHINE_TEST(iommu__translates),
		MACHINE_TEST(sections__devices),       MACHINE_TEST(sections__distance),
		MACHINE_TEST(sections__limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
