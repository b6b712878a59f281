/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts DPDK's environment abstraction layer (EAL), if the process has not started it. The file
 * also marks the descriptors that EAL opens as closed by exec, because EAL does not do that itself.
 */
#include "eal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "eal_telemetry.h"
#include "log.h"

/* of EAL, as address space; the kernel allocates a page when it is first touched */
#define MEMORY_MB	256u
#define LCORES_BYTES	4096u
#define EAL_DESCRIPTORS 8u /* that must be free; EAL opens five at the start */

/* A list of the descriptors that were open before EAL was started. */
struct descriptors {
	int *fds;
	uint32_t n, room;
};

/* Writes EAL's option for the lcores into 'arg', which has 'size' bytes. The option is a list such
 * as "0@(2-5,7)". With this list, EAL has one lcore, whose thread may run on all CPUs that the
 * calling thread may use. EAL then pins no thread to a single CPU. Returns 0, -errno if the CPUs
 * cannot be read, or -E2BIG if the list does not fit. */
static int lcore_unpinned(char *arg, size_t size)
{
	cpu_set_t set;
	size_t used;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return -errno;
	used = (size_t)snprintf(arg, size, "0@(");
	while (cpu < CPU_SETSIZE && used < size) {
		size_t first = cpu;

		while (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set))
			cpu++;
		if (cpu > first)
			used += (size_t)snprintf(arg + used, size - used, "%s%zu-%zu",
						 arg[used - 1] == '(' ? "" : ",", first, cpu - 1);
		cpu++;
	}
	if (used < size)
		used += (size_t)snprintf(arg + used, size - used, ")");
	return used < size ? 0 : -E2BIG;
}

/* Returns whether EAL opens descriptors of the kind that 'target' names. 'target' is the text to
 * which a link in /proc/self/fd points. */
static bool is_eals(const char *target)
{
	static const char *const kinds[] = {"pipe:[", "anon_inode:[eventpoll]",
					    "anon_inode:[timerfd]", "anon_inode:[eventfd]",
					    "/memfd:"};

	for (size_t i = 0; i < RTE_DIM(kinds); i++)
		if (strncmp(target, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

/*
 * Calls 'look' for each open descriptor of this process, and passes 'before' to it. /proc lists all
 * descriptors, whatever their number. If /proc is not mounted, 'look' is not called.
 */
static void each_descriptor(void (*look)(int fd, struct descriptors *before),
			    struct descriptors *before)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(dir))
			look(fd, before);
	}
	if (dir)
		closedir(dir);
}

/* Adds a descriptor to the list of the descriptors that were open before EAL was started. */
static void note_descriptor(int fd, struct descriptors *open_before)
{
	int *fds;

	if (open_before->n == open_before->room) {
		fds = realloc(open_before->fds,
			      (2 * (size_t)open_before->room + 64) * sizeof(*fds));
		if (!fds)
			/* close_on_exec() then treats this descriptor as one of EAL, if it is of a
			 * kind that EAL opens */
			return;
		open_before->fds = fds;
		open_before->room = 2 * open_before->room + 64;
	}
	open_before->fds[open_before->n++] = fd;
}

static bool was_open(int fd, const struct descriptors *before)
{
	for (uint32_t i = 0; i < before->n; i++)
		if (before->fds[i] == fd)
			return true;
	return false;
}

/* Sets FD_CLOEXEC for 'fd', if EAL opened it: 'fd' is of a kind that EAL opens, and is not in the
 * list of the descriptors that were open before. EAL opens its descriptors without this flag. A
 * program that this process executes would then keep EAL's memory. */
static void close_on_exec(int fd, struct descriptors *before)
{
	char path[32], target[64];
	int flags = fcntl(fd, F_GETFD);
	ssize_t n;

	if (flags < 0 || flags & FD_CLOEXEC)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	if ((is_eals(target) || eal_telemetry_owns(fd)) && !was_open(fd, before))
		(void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

/* Returns whether EAL can find one of the CPUs that this thread may use. EAL looks for them in /sys
 * only. If EAL finds no CPU, it prints its usage to standard output, which this check prevents. */
static bool finds_cpus(void)
{
	cpu_set_t set;
	char path[80];

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return true;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/*
 * Checks that EAL_DESCRIPTORS more descriptors can be opened, because a thread of EAL ends the
 * process if EAL cannot open its descriptors. Returns 0, or -errno of the first descriptor that
 * could not be opened.
 */
static int check_descriptors(void)
{
	int fds[EAL_DESCRIPTORS], rc = 0;
	uint32_t n = 0;

	for (; n < EAL_DESCRIPTORS && rc == 0; n++) {
		fds[n] = eventfd(0, EFD_CLOEXEC);
		rc = fds[n] < 0 ? -errno : 0;
	}
	n -= rc != 0;
	while (n > 0)
		close(fds[--n]);
	return rc;
}

/* Blocks the signals that the application handles. The threads that EAL creates inherit this. A
 * signal that an instruction of a thread causes must not be blocked. */
static void block_signals(sigset_t *before)
{
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < RTE_DIM(own); i++)
		sigdelset(&set, own[i]);
	(void)pthread_sigmask(SIG_BLOCK, &set, before);
}

static bool lacks_telemetry; /* weir has started EAL, and not asked for telemetry */

/* Returns the descriptor that eal_telemetry_prepare() returned, or a negative number if EAL must
 * be started without telemetry. */
static int prepare_telemetry(const struct mem_eal_options *options)
{
	char why[EAL_TELEMETRY_WHY_BYTES];
	int fd;

	if (!options || !options->has_telemetry)
		return -1;
	fd = eal_telemetry_prepare(why);
	if (fd < 0)
		LOG(MEMORY, WARNING, "telemetry = on: there is no socket of telemetry. %s", why);
	return fd;
}

/* Logs once that an engine asks for telemetry too late. */
static void warn_late_telemetry(void)
{
	static bool done;

	if (!done)
		LOG(MEMORY, WARNING,
		    "telemetry = on: there is no socket of telemetry, because EAL was started "
		    "without it: set the key for the first engine of the process, too");
	done = true;
}

/* Starts EAL. Returns 0, -ENOENT if EAL would find no CPU, -E2BIG if the list of lcores is too
 * long, or another -errno. */
static int eal_start(const struct mem_eal_options *options)
{
	/* EAL permutes its arguments and might keep pointers to them. Therefore the arguments are
	 * writable and are never freed. */
	static char name[] = "weir";
	static char fixed[][32] = {"--no-huge", "--no-shconf", "--no-pci",
				   "--log-level=lib.*:warning"};
	/* The first of several levels for a library that is loaded later is the one that applies.
	 * At level 'warning', telemetry would say that it does not create a second socket. */
	static char telemetry[][32] = {"--no-telemetry", "--log-level=lib.telemetry:error"};
	static char memory[16], lcores_option[] = "--lcores", lcores[LCORES_BYTES];
	uint32_t memory_mb = options && options->memory_mb ? options->memory_mb : MEMORY_MB;
	char *argv[RTE_DIM(fixed) + 6];
	struct descriptors before = {NULL, 0, 0};
	sigset_t mask;
	int argc = 0;
	int rc = 0;
	int telemetry_fd;

	snprintf(memory, sizeof(memory), "-m%u", memory_mb);
	if (!finds_cpus()) {
		LOG(MEMORY, ERROR,
		    "DPDK finds the CPUs by /sys/devices/system/cpu, which does not "
		    "exist: mount /sys (as root: mount -t sysfs -o ro sysfs /sys), or let "
		    "the container engine do so");
		return -ENOENT;
	}
	if (!options || !options->lcores)
		rc = lcore_unpinned(lcores, sizeof(lcores));
	else if ((size_t)snprintf(lcores, sizeof(lcores), "%s", options->lcores) >= sizeof(lcores))
		rc = -E2BIG;
	if (rc == 0)
		rc = check_descriptors();
	if (rc != 0)
		return rc;
	telemetry_fd = prepare_telemetry(options);
	lacks_telemetry = !options || !options->has_telemetry;
	argv[argc++] = name;
	argv[argc++] = telemetry[telemetry_fd < 0 ? 0 : 1];
	for (size_t i = 0; i < RTE_DIM(fixed); i++)
		argv[argc++] = fixed[i];
	argv[argc++] = memory;
	argv[argc++] = lcores_option;
	argv[argc++] = lcores;
	argv[argc] = NULL;
	each_descriptor(note_descriptor, &before);
	block_signals(&mask);
	if (rte_eal_init(argc, argv) < 0) {
		rc = rte_errno ? -rte_errno : -EIO;
		LOG(MEMORY, ERROR, "EAL did not start: %s", rte_strerror(-rc));
	}
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	each_descriptor(close_on_exec, &before);
	free(before.fds);
	if (telemetry_fd >= 0)
		close(telemetry_fd);
	return rc;
}

int mem_eal_start(const struct mem_eal_options *options)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	static int result;

	pthread_mutex_lock(&lock);
	if (!done) {
		/* EAL has no function that returns whether EAL was initialized. Until it is, the
		 * number of lcores is 0. */
		if (rte_lcore_count() == 0)
			result = eal_start(options);
		done = true;
	} else if (options && options->has_telemetry && lacks_telemetry) {
		warn_late_telemetry();
	}
	pthread_mutex_unlock(&lock);
	return result;
}
