/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts helper threads, and keeps them off the CPUs of pinned threads. */
#include "helper.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <rte_lcore.h>

/* A running helper thread. */
struct helper {
	void *(*fn)(void *); /* NULL: the thread is one of EAL's */
	void *arg;
	pid_t tid;
	cpu_set_t allowed; /* the CPUs that the thread is allowed to use if none is reserved */
	TAILQ_ENTRY(helper) entry;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The variables below are guarded by 'lock'. */
static TAILQ_HEAD(, helper) helpers = TAILQ_HEAD_INITIALIZER(helpers);
static pid_t owner; /* the process whose threads are in the list */
static uint32_t reserved[CPU_SETSIZE];

/* Removes the reserved CPUs from a set. Returns false if none are left. Then the set is unchanged.
 */
static bool subtract(cpu_set_t *set)
{
	cpu_set_t left = *set;

	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (reserved[cpu] > 0)
			CPU_CLR(cpu, &left);
	if (CPU_COUNT(&left) == 0)
		return false;
	*set = left;
	return true;
}

static void place(const struct helper *helper)
{
	cpu_set_t set = helper->allowed;

	(void)subtract(&set);
	/* The call fails only if the cpuset of the process has changed. The kernel then has chosen
	 * other CPUs. */
	(void)sched_setaffinity(helper->tid, sizeof(set), &set);
}

/* Forgets the threads of the parent after fork(2), because a child does not have them. */
static void forget_parent(void)
{
	struct helper *helper;

	if (owner == getpid())
		return;
	owner = getpid();
	while ((helper = TAILQ_FIRST(&helpers))) {
		TAILQ_REMOVE(&helpers, helper, entry);
		free(helper);
	}
	memset(reserved, 0, sizeof(reserved));
}

static void add(struct helper *helper)
{
	TAILQ_INSERT_TAIL(&helpers, helper, entry);
	if (sched_getaffinity(helper->tid, sizeof(helper->allowed), &helper->allowed) == 0)
		place(helper);
}

static void *run(void *arg)
{
	struct helper *helper = arg;
	void *result;

	helper->tid = gettid();
	pthread_mutex_lock(&lock);
	forget_parent();
	add(helper);
	pthread_mutex_unlock(&lock);
	result = helper->fn(helper->arg);
	pthread_mutex_lock(&lock);
	TAILQ_REMOVE(&helpers, helper, entry);
	pthread_mutex_unlock(&lock);
	free(helper);
	return result;
}

static void lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* Holds the lock at a fork(2). Otherwise another thread might hold it, and the child could never
 * take it. */
static void watch_forks(void)
{
	(void)pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

int helper_create(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct helper *helper = calloc(1, sizeof(*helper));
	sigset_t all, old;
	int rc;

	if (!helper)
		return -ENOMEM;
	pthread_once(&once, watch_forks);
	helper->fn = fn;
	helper->arg = arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = rte_ctrl_thread_create(thread, name, NULL, run, helper);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0)
		free(helper);
	return rc;
}

/* Returns whether a name is that of a helper thread of EAL. The threads of EAL's lcores have other
 * names. */
static bool is_eal_helper(const char *name)
{
	static const char *const names[] = {"eal-intr-thread", "rte_mp_handle", "telemetry-v",
					    "dpdk-intr",       "dpdk-mp-msg",	"dpdk-telemet"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_known(pid_t tid)
{
	const struct helper *helper;

	TAILQ_FOREACH(helper, &helpers, entry)
	if (helper->tid == tid)
		return true;
	return false;
}

/* Returns whether a thread of this process exists and is a helper thread of EAL. */
static bool is_eal_thread(pid_t tid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return is_eal_helper(name);
}

/* Removes the helper threads of EAL that have ended: telemetry has one for each client. The kernel
 * gives their numbers to other threads, also to those of other processes. */
static void forget_ended(void)
{
	struct helper *helper = TAILQ_FIRST(&helpers);

	while (helper) {
		struct helper *next = TAILQ_NEXT(helper, entry);

		if (!helper->fn && !is_eal_thread(helper->tid)) {
			TAILQ_REMOVE(&helpers, helper, entry);
			free(helper);
		}
		helper = next;
	}
}

/* Adds a thread of this process to the list if it is a helper thread of EAL. */
static void adopt_if_eals(pid_t tid)
{
	struct helper *helper;

	if (!is_eal_thread(tid) || is_known(tid))
		return;
	helper = calloc(1, sizeof(*helper));
	if (!helper)
		return;
	helper->tid = tid;
	add(helper);
}

/* Adds the helper threads of EAL to the list, if /proc is mounted. */
static void adopt_eals(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			adopt_if_eals((pid_t)atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

static void change(const cpu_set_t *pinned, int by)
{
	const struct helper *helper;

	pthread_mutex_lock(&lock);
	forget_parent();
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, pinned) && (by > 0 || reserved[cpu] > 0))
			reserved[cpu] += (uint32_t)by;
	forget_ended();
	adopt_eals();
	TAILQ_FOREACH(helper, &helpers, entry)
	place(helper);
	pthread_mutex_unlock(&lock);
}

void helper_keep_off(const cpu_set_t *pinned)
{
	change(pinned, 1);
}

void helper_allow(const cpu_set_t *pinned)
{
	change(pinned, -1);
}

bool helper_subtract_reserved(cpu_set_t *set)
{
	bool ok;

	pthread_mutex_lock(&lock);
	forget_parent();
	ok = subtract(set);
	pthread_mutex_unlock(&lock);
	return ok;
}
