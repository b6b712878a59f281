/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the calculation of available memory. Folders contain the files of machines with memory
 * cgroups of either version.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory_room.h"
#include "put_file.h"

#define MIB (UINT64_C(1) << 20)

static char root[64];

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/weir-room-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text)
{
	put_file(root, path, text);
}

static void expect(uint64_t bytes, const char *limited_by)
{
	struct memory_room room;

	memory_room(root, &room);
	assert_int_equal(room.bytes, bytes);
	if (limited_by)
		assert_non_null(strstr(room.limited_by, limited_by));
	else
		assert_string_equal(room.limited_by, "");
}

static void room__nothing_says(void **state)
{
	(void)state;
	expect(UINT64_MAX, NULL);
}

static void room__of_the_machine(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable: 1048576 kB\nHugePages_Free: "
			     "3\nHugepagesize: 2048 kB\n");
	expect(1030 * MIB, "/proc/meminfo");
}

static void room__version_1(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
	put("/proc/self/cgroup", "5:cpu,cpuacct:/\n4:hugetlb,memory:/box/inner\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "134217728\n");
	put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "50331648\n");
	put("/sys/fs/cgroup/memory/box/memory.stat",
	    "inactive_file 1\ntotal_inactive_file 8388608\ntotal_active_file 8388608\n");
	put("/sys/fs/cgroup/memory/box/inner/memory.limit_in_bytes", "268435456\n");
	expect((128 - 48 + 16) * MIB, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes");
}

static void room__version_2(void **state)
{
	(void)state;
	put("/proc/meminfo",
	    "MemAvailable: 1048576 kB\nHugePages_Free: 1\nHugepagesize: 2048 kB\n");
	put("/proc/self/cgroup", "0::/system.slice/weir.service\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "max\n");
	put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "268435456\n");
	put("/sys/fs/cgroup/system.slice/weir.service/memory.high", "134217728\n");
	put("/sys/fs/cgroup/system.slice/weir.service/memory.current", "4194304\n");
	put("/sys/fs/cgroup/system.slice/weir.service/memory.stat",
	    "anon 5\ninactive_file 1048576\nactive_file 0\n");
	expect((128 - 4 + 1 + 2) * MIB, "weir.service/memory.high");
	/* The limit of the parent cgroup is lower. */
	put("/sys/fs/cgroup/system.slice/memory.max", "67108864\n");
	expect(66 * MIB, "system.slice/memory.max");
}

/*
 * In a container, the root of the cgroup files is not the host's root. The path in
 * /proc/self/cgroup is relative to the host's root.
 */
static void room__the_path_is_not_there(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
	put("/proc/self/cgroup", "0::/../../docker/0123\n");
	put("/sys/fs/cgroup/memory.max", "33554432\n");
	expect(32 * MIB, "/sys/fs/cgroup/memory.max");
	put("/proc/self/cgroup", "4:memory:/docker/0123\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "16777216\n");
	expect(16 * MIB, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

static void room__used_up(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/unified/a/memory.max", "1000\n");
	put("/sys/fs/cgroup/unified/a/memory.current", "2000\n");
	expect(0, "unified/a/memory.max");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(room__nothing_says, setup, teardown),
		cmocka_unit_test_setup_teardown(room__of_the_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(room__version_1, setup, teardown),
		cmocka_unit_test_setup_teardown(room__version_2, setup, teardown),
		cmocka_unit_test_setup_teardown(room__the_path_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(room__used_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
