/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the CPUs of a runtime's threads, of helper threads, and of refused CPUs. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/runtime.h>

#include "engine.h"

static cpu_set_t allowed;	/* the CPUs that this process may use */
static uint32_t cpus[2], ncpus; /* the first of them */
static char error[512];

struct seen {
	cpu_set_t set;
	char name[16];
};

static struct seen seen[2];

/* The kernel's report that a CPU is offline is replaced by one of the test, because most machines
 * on which tests run cannot switch a CPU off. */
static char offline_path[64]; /* "": no report is replaced */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

static FILE *open_report(const char *path)
{
	static char report[] = "0\n";

	return strcmp(path, offline_path) == 0 ? fmemopen(report, strlen(report), "r") : NULL;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	FILE *file = open_report(path);

	return file ? file : __real_fopen(path, mode);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	FILE *file = open_report(path);

	return file ? file : __real_fopen64(path, mode);
}

static int on_init(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	(void)runtime;
	(void)arg;
	assert_int_equal(sched_getaffinity(0, sizeof(seen[thread].set), &seen[thread].set), 0);
	return pthread_getname_np(pthread_self(), seen[thread].name, sizeof(seen[thread].name));
}

static int create_with(const char *lcores, const char *engines, const char *name,
		       struct weir_runtime **runtime)
{
	struct weir_profile profile;
	struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.name = name,
		.init = on_init,
		.err = error,
		.err_bytes = sizeof(error),
	};

	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "%s", "shm");
	snprintf(profile.lcores, sizeof(profile.lcores), "%s", lcores);
	profile.send_buffers = profile.recv_buffers = 128;
	profile.long_buffers = profile.bulk_buffers = 1;
	profile.idle = WEIR_IDLE_EVENT;
	snprintf(profile.engines, sizeof(profile.engines), "%s", engines);
	error[0] = '\0';
	return weir_runtime_create(&profile, &options, runtime);
}

static int create(const char *lcores, const char *name, struct weir_runtime **runtime)
{
	return create_with(lcores, "", name, runtime);
}

static void expect_pinned(const struct weir_runtime *runtime, uint32_t thread, uint32_t cpu)
{
	char name[16];

	assert_int_equal(weir_runtime_cpu(runtime, thread), cpu);
	assert_int_equal(CPU_COUNT(&seen[thread].set), 1);
	assert_true(CPU_ISSET(cpu, &seen[thread].set));
	snprintf(name, sizeof(name), "two-%u", cpu);
	assert_string_equal(seen[thread].name, name);
}

static void cpus__are_those_of_the_profile(void **state)
{
	struct weir_runtime *runtime;
	char list[40];

	(void)state;
	snprintf(list, sizeof(list), "%u", cpus[0]);
	if (ncpus == 2) /* the order of the list is that of the threads */
		snprintf(list, sizeof(list), "%u,%u", cpus[1], cpus[0]);
	assert_int_equal(create(list, "two", &runtime), 0);
	assert_int_equal(weir_runtime_threads(runtime), ncpus);
	for (uint32_t i = 0; i < ncpus; i++)
		expect_pinned(runtime, i, cpus[ncpus - 1 - i]);
	weir_runtime_destroy(runtime);
}

/* Checks that a section [engine:CPUS] changes the engines of its CPUs, and no others. */
static void cpus__have_the_engines_of_their_sections(void **state)
{
	const struct weir_engine *plain, *own;
	struct weir_runtime *runtime;
	char list[40], engines[100];

	(void)state;
	if (ncpus < 2)
		skip();
	snprintf(list, sizeof(list), "%u,%u", cpus[0], cpus[1]);
	snprintf(engines, sizeof(engines), "[engine:%u]\nsend_buffers = 256\nidle = yield\n",
		 cpus[1]);
	assert_int_equal(create_with(list, engines, "two", &runtime), 0);
	plain = weir_runtime_engine(runtime, 0);
	own = weir_runtime_engine(runtime, 1);
	assert_int_equal(plain->profile.send_buffers, 128);
	assert_int_equal(plain->profile.idle, WEIR_IDLE_EVENT);
	assert_int_equal(own->profile.send_buffers, 256);
	assert_int_equal(own->profile.idle, WEIR_IDLE_YIELD);
	assert_true(own->send_pool->region->len_bytes > plain->send_pool->region->len_bytes);
	assert_int_equal(own->recv_pool->region->len_bytes, plain->recv_pool->region->len_bytes);
	weir_runtime_destroy(runtime);
	snprintf(engines, sizeof(engines), "[engine:%u]\nidle = nap\n", cpus[1]);
	assert_int_equal(create_with(list, engines, "two", &runtime), -EINVAL);
	assert_non_null(strstr(error, "idle: 'nap' is none of the choices"));
}

static void cpus__are_free_without_lcores(void **state)
{
	struct weir_runtime *runtime;

	(void)state;
	assert_int_equal(create("any", NULL, &runtime), 0);
	assert_int_equal(weir_runtime_threads(runtime), 1);
	assert_int_equal(weir_runtime_cpu(runtime, 0), -1);
	assert_true(CPU_EQUAL(&seen[0].set, &allowed));
	assert_string_equal(seen[0].name, "weir-0");
	weir_runtime_destroy(runtime);
}

/* Calls 'look' for each helper thread of this process. Returns the number of helper threads. */
static uint32_t each_helper(void (*look)(const cpu_set_t *set))
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	uint32_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char path[300], name[32] = "";
		cpu_set_t set;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!file)
			continue;
		assert_non_null(fgets(name, sizeof(name), file));
		fclose(file);
		if (strncmp(name, "weir-shm", 8) != 0 && strncmp(name, "eal-", 4) != 0)
			continue;
		if (sched_getaffinity(atoi(entry->d_name), sizeof(set), &set) != 0)
			continue; /* the thread has ended */
		look(&set);
		n++;
	}
	closedir(dir);
	return n;
}

static void expect_off(const cpu_set_t *set)
{
	/* If the process may use no other CPU, its threads share the one. */
	assert_int_equal(CPU_ISSET(cpus[0], set) != 0, ncpus < 2);
}

static void expect_free(const cpu_set_t *set)
{
	assert_true(CPU_EQUAL(set, &allowed));
}

static void cpus__helpers_keep_off(void **state)
{
	struct weir_runtime *first, *second;
	cpu_set_t set;
	char list[16];

	(void)state;
	/* The helpers of this one start before a CPU is pinned. */
	assert_int_equal(create("any", NULL, &first), 0);
	assert_true(each_helper(expect_free) >= 3);
	snprintf(list, sizeof(list), "%u", cpus[0]);
	assert_int_equal(create(list, NULL, &second), 0);
	assert_true(each_helper(expect_off) >= 4);
	assert_int_equal(weir_runtime_keep_off(), ncpus < 2 ? -ENODEV : 0);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	expect_off(&set);
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	weir_runtime_destroy(second);
	assert_true(each_helper(expect_free) >= 3);
	assert_int_equal(weir_runtime_keep_off(), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	expect_free(&set);
	weir_runtime_destroy(first);
}

static void expect_refused(const char *lcores, int rc, const char *reason)
{
	struct weir_runtime *runtime = NULL;

	assert_int_equal(create(lcores, NULL, &runtime), rc);
	assert_null(runtime);
	assert_non_null(strstr(error, "[engine] lcores"));
	assert_non_null(strstr(error, lcores));
	if (!strstr(error, reason))
		fail_msg("%s", error);
}

static void cpus__that_are_absent(void **state)
{
	(void)state;
	expect_refused("1000", -ENODEV, "this machine has no CPU 1000; name some of ");
}

static void cpus__that_are_named_twice(void **state)
{
	(void)state;
	expect_refused("0,0", -EINVAL, "each once");
}

static void cpus__that_are_too_many(void **state)
{
	(void)state;
	expect_refused("0-64", sysconf(_SC_NPROCESSORS_CONF) > 64 ? -E2BIG : -ENODEV, "name ");
}

/* Lets this thread use only the first CPU, and names both to a runtime, which refuses the second
 * one. */
static void expect_second_refused(const char *reason)
{
	cpu_set_t one;
	char list[32];

	CPU_ZERO(&one);
	CPU_SET(cpus[0], &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	snprintf(list, sizeof(list), "%u,%u", cpus[0], cpus[1]);
	expect_refused(list, -ENODEV, reason);
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

static void cpus__that_are_not_allowed(void **state)
{
	(void)state;
	if (ncpus < 2)
		skip();
	expect_second_refused("this process may not use CPU ");
}

/* The kernel takes a CPU that is offline from the CPUs that a thread may use, and reports it. */
static void cpus__that_are_offline(void **state)
{
	char reason[200];

	(void)state;
	if (ncpus < 2)
		skip();
	snprintf(offline_path, sizeof(offline_path), "/sys/devices/system/cpu/cpu%u/online",
		 cpus[1]);
	snprintf(reason, sizeof(reason),
		 "CPU %u is offline; name some of %u, or any, or as root: echo 1 > "
		 "/sys/devices/system/cpu/cpu%u/online",
		 cpus[1], cpus[0], cpus[1]);
	expect_second_refused(reason);
	offline_path[0] = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus__are_those_of_the_profile),
		cmocka_unit_test(cpus__have_the_engines_of_their_sections),
		cmocka_unit_test(cpus__are_free_without_lcores),
		cmocka_unit_test(cpus__helpers_keep_off),
		cmocka_unit_test(cpus__that_are_absent),
		cmocka_unit_test(cpus__that_are_named_twice),
		cmocka_unit_test(cpus__that_are_too_many),
		cmocka_unit_test(cpus__that_are_not_allowed),
		cmocka_unit_test(cpus__that_are_offline),
	};

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 1;
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && ncpus < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[ncpus++] = cpu;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
