/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins and registers the threads that poll engines, and lets them idle. */
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_errno.h>

static int run_on(uint32_t cpu)
{
	cpu_set_t set;
	int rc;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (rc != 0)
		fprintf(stderr,
			"weir-bench: can't run on core %u: %s. Name cores that this process may "
			"use with --lcores, or --lcores any\n",
			cpu, strerror(rc));
	return -rc;
}

int bench_worker_check(const struct bench_options *options)
{
	for (uint32_t i = 0; i < options->nlcores; i++) {
		char cpu[16], error[400];

		snprintf(cpu, sizeof(cpu), "%u", options->lcores[i]);
		if (weir_profile_lcores_check(cpu, error, sizeof(error)) != 0) {
			fprintf(stderr, "weir-bench: --%s\n", error);
			return -ENODEV;
		}
	}
	return 0;
}

int bench_worker_start(uint32_t cpu)
{
	int rc = cpu != UINT32_MAX ? run_on(cpu) : 0;

	if (rc != 0)
		return rc;
	if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() != 0) {
		fprintf(stderr,
			"weir-bench: DPDK has no lcore id for another thread: %s. Name fewer cores "
			"with --lcores\n",
			rte_strerror(rte_errno));
		return -rte_errno;
	}
	return 0;
}

void bench_worker_stop(void)
{
	rte_thread_unregister();
}

void bench_idle_init(struct bench_idle *idle, const struct bench_options *options)
{
	long cpus;
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	cpus = CPU_COUNT(&set);
	idle->empty = 0;
	idle->sleeps = options->profile.idle == WEIR_IDLE_ADAPTIVE ||
		       options->profile.idle == WEIR_IDLE_EVENT;
	switch (options->profile.idle) {
	case WEIR_IDLE_SPIN:
		idle->yields = false;
		break;
	case WEIR_IDLE_AUTO:
		/*
		 * Nothing else competes for the core of a pinned thread, unless another thread of
		 * this program is pinned to the same core.
		 */
		if (options->nlcores > 0) {
			idle->yields = false;
			for (uint32_t i = 0; i < options->nlcores; i++)
				for (uint32_t j = 0; j < i; j++)
					idle->yields |= options->lcores[i] == options->lcores[j];
			idle->yields |= options->nlcores == 1 && options->side == SIDE_BOTH;
		} else {
			idle->yields = cpus < 3;
		}
		break;
	default:
		idle->yields = true;
	}
}
