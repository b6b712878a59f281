/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EAL_H
#define EAL_H

/*
 * DPDK's environment abstraction layer (EAL). If the process has started EAL, weir uses that.
 * Otherwise weir starts a small one. The memory for weir's data does not come from EAL. The
 * descriptors of buffers and the rings do come from EAL. They take a few MiB.
 */

#include <stdbool.h>
#include <stdint.h>

struct mem_eal_options {
	/* The lcores. NULL: one lcore, which is the calling thread. It runs on all CPUs that the
	 * thread is allowed to use when mem_eal_start() is called. Otherwise a list in the format
	 * of EAL's option --lcores, e.g. "0,1". EAL then has one pinned thread for each entry, and
	 * the calling thread is the first of these threads. */
	const char *lcores;
	uint32_t memory_mb; /* memory of EAL in MiB; 0: as much as weir needs */
	/* EAL creates the socket of rte_telemetry, which takes another thread. If it cannot be
	 * created, EAL starts without it, and the log says why. */
	bool has_telemetry;
};

/* Starts EAL if the process has not started it. A later call does nothing, and returns the result
 * of the first call. If 'options' is NULL, the defaults apply. EAL works without root, hugepages or
 * devices, and in any number of processes at the same time. Returns 0 if EAL runs, or -errno if it
 * could not be started. Any thread may call this function. If the call starts EAL, the calling
 * thread becomes EAL's main lcore. */
int mem_eal_start(const struct mem_eal_options *options);

#endif
