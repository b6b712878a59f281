/* SPDX-License-Identifier: BSD-3-Clause */
#include "eal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "mem_log.h"

#define MEMORY_MB    256u /* of address space; taken page by page as it is used */
#define LCORES_BYTES 4096u

/* "0@(2-5,7)": lcore 0 on the CPUs that this thread may use, so that EAL pins nobody to one of them. */
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

static int eal_start(const struct mem_eal_options *options)
{
	/* EAL permutes its arguments and may keep pointers to them: writable, and never freed. */
	static char fixed[][32] = {"weir",     "--no-huge",	 "--no-shconf",
				   "--no-pci", "--no-telemetry", "--log-level=lib.*:warning"};
	static char memory[16], lcores_option[] = "--lcores", lcores[LCORES_BYTES];
	uint32_t memory_mb = options && options->memory_mb ? options->memory_mb : MEMORY_MB;
	char *argv[RTE_DIM(fixed) + 4];
	int argc = 0;
	int rc = 0;

	snprintf(memory, sizeof(memory), "-m%u", memory_mb);
	if (!options || !options->lcores)
		rc = lcore_unpinned(lcores, sizeof(lcores));
	else if ((size_t)snprintf(lcores, sizeof(lcores), "%s", options->lcores) >= sizeof(lcores))
		rc = -E2BIG;
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < RTE_DIM(fixed); i++)
		argv[argc++] = fixed[i];
	argv[argc++] = memory;
	argv[argc++] = lcores_option;
	argv[argc++] = lcores;
	argv[argc] = NULL;
	if (rte_eal_init(argc, argv) < 0) {
		rc = rte_errno ? -rte_errno : -EIO;
		MEM_LOG(ERR, "EAL did not start: %s", rte_strerror(-rc));
	}
	return rc;
}

int mem_eal_start(const struct mem_eal_options *options)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	static int result;

	pthread_mutex_lock(&lock);
	if (!done) {
		/* EAL has no 'is it there?'; until it is initialised it counts no lcore. */
		if (rte_lcore_count() == 0)
			result = eal_start(options);
		done = true;
	}
	pthread_mutex_unlock(&lock);
	return result;
}
