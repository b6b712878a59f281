/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the findings of weir-check about memory and locked memory. The three engines of the profile
 * take 177 MiB. */
#include "machine.h"

#include <string.h>

#define LIMITS(soft, hard)                                                                         \
	machine_put("/proc/self/limits", "Max locked memory         " soft "    " hard " bytes\n")
#define CONF "/etc/security/limits.d/60-weir-alice.conf"

static void memory__too_little(void **state)
{
	const struct finding *finding;

	(void)state;
	machine_expect_nothing(MACHINE_PROFILE);
	assert_int_equal(machine_load.bytes >> 20, 177);
	machine_put("/proc/self/cgroup", "0::/box\n");
	/* The hugepages that are free are added. */
	machine_put("/proc/meminfo", "MemAvailable: 8388608 kB\nHugePages_Free: 50\n"
				     "Hugepagesize: 2048 kB\n");
	machine_put("/sys/fs/cgroup/box/memory.max", "83886080\n");
	machine_expect_nothing(MACHINE_PROFILE);
	machine_put("/sys/fs/cgroup/box/memory.current", "4194304\n");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memory",
				 "take 177 MiB, and 176 MiB are available");
	assert_non_null(strstr(finding->remedy, "raise the limit in"));
	assert_non_null(strstr(finding->remedy, "box/memory.max"));
}

static void memory__dev_shm(void **state)
{
	(void)state;
	machine_remove("/dev/shm");
	machine_expect_nothing(MACHINE_PROFILE);
	assert_non_null(strstr(machine_note("/dev/shm")->cause, "not mounted"));
}

static void memlock__too_low(void **state)
{
	const struct finding *finding;

	(void)state;
	LIMITS("268435456", "268435456");
	machine_expect_nothing(MACHINE_PROFILE);
	LIMITS("8388608", "8388608");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock",
				 "register 177 MiB with the device, and the limit of locked memory "
				 "is 8 MiB");
	assert_non_null(strstr(finding->remedy, "prlimit --pid $$ --memlock=unlimited"));
	assert_int_equal(finding->nfixes, 0);
	LIMITS("8388608", "unlimited");
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "8 MiB");
	assert_non_null(strstr(finding->remedy, "ulimit -l unlimited"));
	/* Nothing is registered over shm. */
	machine_expect_nothing("[engine]\ndriver = shm\n");
}

static void memlock__of_root(void **state)
{
	(void)state;
	LIMITS("8388608", "8388608");
	machine_put("/proc/self/status", "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-3\n");
	machine_expect_nothing(MACHINE_PROFILE);
	assert_non_null(strstr(machine_note("memlock")->effect, "CAP_IPC_LOCK"));
	machine_user = "root";
	machine_expect_nothing(MACHINE_PROFILE);
	/* Another user does not have the capability. */
	machine_user = "alice";
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "of user alice is 8 MiB");
}

static void memlock__unknown(void **state)
{
	(void)state;
	machine_remove("/proc/self/limits");
	machine_expect_nothing(MACHINE_PROFILE);
	machine_note("memlock");
}

static void memlock__of_a_user(void **state)
{
	const struct finding *finding;

	(void)state;
	LIMITS("8388608", "8388608");
	machine_user = "alice";
	finding = machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "alice is 8 MiB");
	machine_expect_write(finding, CONF, "alice - memlock unlimited\n");
	assert_true(finding->fixes[0].creates);
	machine_put(CONF, "alice - memlock unlimited\n");
	machine_expect_nothing(MACHINE_PROFILE);
	/* A later file, with a limit in KiB. */
	machine_put("/etc/security/limits.d/70.conf", "# limits\nalice soft memlock 65536\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "alice is 64 MiB");
	/* A line about the user has precedence over a line about all users. */
	machine_put("/etc/security/limits.d/80.conf", "* - memlock unlimited\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "alice is 64 MiB");
	machine_user = "bob";
	machine_expect_nothing(MACHINE_PROFILE);
	/* These lines say nothing about the limit of a program. */
	machine_put("/etc/security/limits.d/80.conf",
		    "* hard memlock unlimited\n* - nofile 1000000\n#* - memlock unlimited\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "bob is 8 MiB");
	machine_put("/etc/security/limits.conf", "* - memlock 262144\n");
	machine_expect_nothing(MACHINE_PROFILE);
}

/* A soft limit above the hard one is lowered to it. */
static void memlock__of_a_user_below_the_hard_limit(void **state)
{
	(void)state;
	LIMITS("8388608", "16777216");
	machine_user = "alice";
	machine_put(CONF, "alice soft memlock unlimited\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "alice is 16 MiB");
	machine_put(CONF, "alice soft memlock unlimited\nalice hard memlock 65536\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "alice is 64 MiB");
	machine_put(CONF, "alice - memlock unlimited\n* hard memlock 65536\n");
	machine_expect_nothing(MACHINE_PROFILE);
	/* The limit of this process is higher than the hard limit of the user. */
	LIMITS("unlimited", "unlimited");
	machine_put(CONF, "alice hard memlock 65536\n");
	machine_expect(MACHINE_PROFILE, SEVERITY_ERROR, "memlock", "alice is 64 MiB");
}

static void memlock__of_each_domain(void **state)
{
	(void)state;
	LIMITS("268435456", "268435456");
	machine_attr.max_mr = 1 << 20;
	machine_expect(MACHINE_PROFILE "[exposure]\npolicy = pool\nprotection = connection\n",
		       SEVERITY_ERROR, "memlock", "register 11329 MiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MACHINE_TEST(memory__too_little),
		MACHINE_TEST(memory__dev_shm),
		MACHINE_TEST(memlock__too_low),
		MACHINE_TEST(memlock__of_root),
		MACHINE_TEST(memlock__unknown),
		MACHINE_TEST(memlock__of_a_user),
		MACHINE_TEST(memlock__of_a_user_below_the_hard_limit),
		MACHINE_TEST(memlock__of_each_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
